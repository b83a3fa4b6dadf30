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

// Bucket is the name of the bucket that S3 and GCS make.
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
	root, address := t.TempDir(), freeAddress(t)
	folder = filepath.Join(root, Bucket)
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	server(t, address, program, "--access", key, "--secret", secret, "--port", address, "--quiet", "posix", root)
	return folder, url.Values{"endpoint": {"http://" + address}, "region": {"us-east-1"}, "use_path_style": {"true"}}
}

// GCS starts an imitation of Google Cloud Storage on a loopback port, with one empty bucket, and tells the environment of the
// process where it is. Environment variable WARDCAST_GCS is the path of the server's program, fake-gcs-server; without it the
// test is skipped.
func GCS(t *testing.T) {
	t.Helper()
	program := os.Getenv("WARDCAST_GCS")
	if program == "" {
		t.Skip("WARDCAST_GCS is not set: it is the path of fake-gcs-server (go install github.com/fsouza/fake-gcs-server@latest)")
	}
	root, address := t.TempDir(), freeAddress(t)
	if err := os.Mkdir(filepath.Join(root, Bucket), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("STORAGE_EMULATOR_HOST", address)
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	server(t, address, program, "-scheme", "http", "-host", host, "-port", port, "-public-host", address, "-filesystem-root", root, "-log-level", "error")
}

// freeAddress returns a loopback address on which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// server runs a program until the test ends, and returns when it listens.
func server(t *testing.T, address, program string, args ...string) {
	t.Helper()
	s := exec.CommandContext(t.Context(), program, args...)
	s.Stderr = t.Output()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Process.Kill()
		_ = s.Wait()
	})
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-tick.C {
		connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = connection.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not answer: %v", program, err)
		}
	}
}
