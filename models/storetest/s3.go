package storetest

import (
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Bucket is the name of the bucket that S3 makes.
const Bucket = "models"

// S3 starts a server of the S3 protocol on a loopback port, with one empty bucket, and gives its keys to the environment of the
// process. It returns the folder that holds the bucket's objects as files, and what a URL of the bucket needs to find the server.
// Environment variable WARDCAST_S3 is the path of the server's program, versitygw; without it the test is skipped.
func S3(t *testing.T) (folder string, query url.Values) {
	t.Helper()
	program := os.Getenv("WARDCAST_S3")
	if program == "" {
		t.Skip("WARDCAST_S3 is not set: it is the path of versitygw (go install github.com/versity/versitygw/cmd/versitygw@latest)")
	}
	const key, secret = "wardcast", "wardcast-secret"
	t.Setenv("AWS_ACCESS_KEY_ID", key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	root := t.TempDir()
	folder = filepath.Join(root, Bucket)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	server := exec.CommandContext(t.Context(), program, "--access", key, "--secret", secret, "--port", address, "--quiet", "posix", root)
	server.Stderr = t.Output()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-tick.C {
		connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = connection.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server does not answer: %v", err)
		}
	}
	return folder, url.Values{"endpoint": {"http://" + address}, "region": {"us-east-1"}, "use_path_style": {"true"}}
}
