package blobstore

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"gocloud.dev/blob"

	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/storetest"
)

// TestS3 runs the contract against a real server of the S3 protocol, on a loopback port, with its objects as files.
func TestS3(t *testing.T) {
	if os.Getenv("WARDCAST_S3") == "" {
		t.Skip("needs versitygw on the path (go install github.com/versity/versitygw/cmd/versitygw@latest): set WARDCAST_S3=1")
	}
	const key, secret = "wardcast", "wardcast-secret"
	t.Setenv("AWS_ACCESS_KEY_ID", key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	root := t.TempDir()
	const name = "models"
	if err := os.Mkdir(filepath.Join(root, name), 0o700); err != nil {
		t.Fatal(err)
	}
	address := freePort(t)
	server := exec.CommandContext(t.Context(), "versitygw", "--access", key, "--secret", secret, "--port", address, "--quiet", "posix", root)
	server.Stderr = t.Output()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	query := url.Values{"endpoint": {"http://" + address}, "region": {"us-east-1"}, "use_path_style": {"true"}}
	place := "s3://" + name
	b, err := blob.OpenBucket(t.Context(), place+"?"+query.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	for deadline := time.Now().Add(30 * time.Second); ; {
		if ok, _ := b.IsAccessible(t.Context()); ok {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the server does not answer")
		}
	}
	var folders atomic.Int32
	t.Run("contract", func(t *testing.T) {
		storetest.Run(t, func(*testing.T) models.Bucket {
			return &bucket{blob.PrefixedBucket(b, fmt.Sprintf("test%d/", folders.Add(1))), ifMatch}
		})
	})
	t.Run("by its URL", func(t *testing.T) {
		s, err := Open(t.Context(), place+"/some/folder?"+query.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Create(t.Context()); err != nil {
			t.Fatal(err)
		}
		g := storetest.Serve(t, s, storetest.Bundle(models.Other, 1))
		if _, err := os.Stat(filepath.Join(root, name, "some", "folder", "generations", g.Name+".json")); err != nil {
			t.Error(err)
		}
	})
	t.Run("another key", func(t *testing.T) {
		t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
		s, err := Open(t.Context(), place+"?"+query.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Create(t.Context()); err == nil {
			t.Error("written with a wrong key")
		}
	})
}

// freePort returns an address on which nobody listens.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}
