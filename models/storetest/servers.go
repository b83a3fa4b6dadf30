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

// S3 starts a server of the S3 protocol on a loopback port, with one empty bucket, and sets its keys in the
// environment. It returns the folder of the bucket's objects, and what a URL of the bucket needs to find the server.
// WARDCAST_S3 is the path of the program, versitygw; without it the test is skipped.
func S3(t *testing.T) (folder string, query url.Values) {
	t.Helper()
	const key, secret = "wardcast", "wardcast-secret"
	root, address := serve(t, "WARDCAST_S3", "github.com/versity/versitygw/cmd/versitygw",
		func(root, address string) []string {
			return []string{"--access", key, "--secret", secret, "--port", address, "--quiet", "posix", root}
		})
	t.Setenv("AWS_ACCESS_KEY_ID", key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	query = url.Values{"endpoint": {"http://" + address}, "region": {"us-east-1"}, "use_path_style": {"true"}}
	return filepath.Join(root, Bucket), query
}

// GCS starts an imitation of Google Cloud Storage on a loopback port, with one empty bucket, and sets its address in
// the environment. WARDCAST_GCS is the path of the program, fake-gcs-server; without it the test is skipped.
func GCS(t *testing.T) {
	t.Helper()
	_, address := serve(t, "WARDCAST_GCS", "github.com/fsouza/fake-gcs-server",
		func(root, address string) []string {
			host, port, _ := net.SplitHostPort(address)
			return []string{
				"-scheme", "http", "-host", host, "-port", port, "-public-host", address, "-filesystem-root", root,
				"-log-level", "error",
			}
		})
	t.Setenv("STORAGE_EMULATOR_HOST", address)
}

// serve runs the program that an environment variable names until the test ends, on a folder with an empty bucket and a
// loopback address, and returns when it listens.
func serve(t *testing.T, variable, source string, args func(root, address string) []string) (root, address string) {
	t.Helper()
	program := os.Getenv(variable)
	if program == "" {
		t.Skipf("%s is not set: it is the path of the program of go install %s@latest", variable, source)
	}
	root = t.TempDir()
	if err := os.Mkdir(filepath.Join(root, Bucket), 0o700); err != nil {
		t.Fatal(err)
	}
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = free.Addr().String()
	_ = free.Close()
	s := exec.CommandContext(t.Context(), program, args(root, address)...)
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
			return root, address
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not answer: %v", program, err)
		}
	}
}
