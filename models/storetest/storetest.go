// Package storetest helps tests of stores: Bundle, Add and Serve fill one, Stop stops its writer at each of its steps,
// S3 and Run start servers for buckets.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/models"
)

// Bundle returns a model without use; n distinguishes bundles of one model.
func Bundle(name string, n int) *bundle.Bundle {
	return &bundle.Bundle{
		Evaluation: []byte("{}"), Report: []byte("{}"),
		Manifest: bundle.Manifest{
			Name: name, Seed: uint64(n), Calibration: bundle.Calibration{Kind: bundle.Uncalibrated},
			CreatedAt: time.Date(2026, 11, 20, 2, 0, n, 0, time.UTC),
		},
		Vocabulary: []bundle.Term{{Text: "hip", DF: 1}},
		Tensors:    bundle.Tensors{"idf": {Shape: []int{1}, Data: []float64{float64(n)}}},
		Card:       fmt.Sprintf("# %s %d\n", name, n),
	}
}

// Add saves bundles and adds the generation of the champion with their versions in it. Nothing is served by it yet.
func Add(tb testing.TB, s *models.Store, bundles ...*bundle.Bundle) *models.Generation {
	tb.Helper()
	g, err := AddGeneration(tb.Context(), s, bundles...)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// AddGeneration does as Add, and returns what went wrong.
func AddGeneration(
	ctx context.Context, s *models.Store, bundles ...*bundle.Bundle,
) (*models.Generation, error) {
	g := &models.Generation{By: "test", Models: map[string]models.Member{}}
	if before, err := s.Champion(ctx); err == nil {
		g.Parent, g.Models = before.Name, maps.Clone(before.Models)
	}
	for _, b := range bundles {
		if _, err := s.Save(ctx, b); err != nil {
			return nil, err
		}
		g.Models[b.Manifest.Name] = models.Member{Version: b.Version, Reason: "it is a test"}
		if b.Manifest.CreatedAt.After(g.CreatedAt) {
			g.CreatedAt = b.Manifest.CreatedAt
		}
	}
	return g, s.AddGeneration(ctx, g)
}

// Serve adds a generation as Add does, and promotes it.
func Serve(tb testing.TB, s *models.Store, bundles ...*bundle.Bundle) *models.Generation {
	tb.Helper()
	g := Add(tb, s, bundles...)
	if err := s.Promote(tb.Context(), models.Change{To: g.Name, From: g.Parent, By: "test"}); err != nil {
		tb.Fatal(err)
	}
	return g
}

// Served returns the generation that is served, with its models. The test fails unless the store verifies and all of
// them load; when says when that was.
func Served(tb testing.TB, s *models.Store, when string) (*models.Generation, map[string]*bundle.Bundle) {
	tb.Helper()
	if found, err := s.Verify(tb.Context(), nil); err != nil || len(found) > 0 {
		tb.Fatalf("%s: verify found %v, %v", when, found, err)
	}
	g, err := s.Champion(tb.Context())
	if err != nil {
		tb.Fatalf("%s: %v", when, err)
	}
	all := map[string]*bundle.Bundle{}
	for name, version := range g.Versions() {
		if all[name], err = s.Load(tb.Context(), name, version); err != nil {
			tb.Fatalf("%s: %v", when, err)
		}
	}
	return g, all
}

var errStopped = errors.New("stopped") // what a writer meets that was stopped

// stopping is a bucket whose user is stopped at one of its writes, after or before it takes effect.
type stopping struct {
	models.Bucket
	writes  int // that still pass
	after   bool
	stopped bool
}

func (s *stopping) write(do func() error) error {
	if s.stopped {
		return errStopped
	}
	if s.writes > 0 {
		s.writes--
		return do()
	}
	s.stopped = true
	if s.after {
		if err := do(); err != nil {
			return err
		}
	}
	return errStopped
}

func (s *stopping) Swap(ctx context.Context, name string, before, after []byte) error {
	return s.write(func() error { return s.Bucket.Swap(ctx, name, before, after) })
}

func (s *stopping) AddFolder(ctx context.Context, folder string, files map[string][]byte, last string) error {
	return s.write(func() error { return s.Bucket.AddFolder(ctx, folder, files, last) })
}

func (s *stopping) Remove(ctx context.Context, name string) error {
	return s.write(func() error { return s.Bucket.Remove(ctx, name) })
}

// Stop calls act on stores whose writer is stopped at the first write, at the second, and so on, before and after the
// write takes effect. Each time check gets the bucket that is left. prepare returns a bucket to begin with. Stop ends
// when act ends before it is stopped, and returns how often it was.
func Stop(
	t *testing.T,
	prepare func() models.Bucket,
	act func(*models.Store) error,
	check func(when string, left models.Bucket),
) int {
	t.Helper()
	for i := 0; ; i++ {
		b := &stopping{Bucket: prepare(), writes: i / 2, after: i%2 == 1}
		err := act(models.New(b))
		if !b.stopped {
			if err != nil {
				t.Fatal(err)
			}
			return i
		}
		if !errors.Is(err, errStopped) {
			t.Fatalf("write %d failed, and the writer says %v", i/2+1, err)
		}
		check(fmt.Sprintf("stopped at write %d, in effect %v", i/2+1, b.after), b.Bucket)
	}
}

// Bucket is the name of the bucket that Run makes.
const Bucket = "models"

// S3 starts a server of the S3 protocol on a loopback port, with one empty bucket, and sets its keys in the
// environment. It returns the folder of the bucket's objects, and what a URL of the bucket needs to find the server.
// WARDCAST_S3 is the path of the program, versitygw; without it the test is skipped.
func S3(t *testing.T) (folder string, query url.Values) {
	t.Helper()
	const key, secret = "wardcast", "wardcast-secret"
	root, address := Run(t, "WARDCAST_S3", "github.com/versity/versitygw/cmd/versitygw",
		func(root, address string) []string {
			return []string{"--access", key, "--secret", secret, "--port", address, "--quiet", "posix", root}
		})
	t.Setenv("AWS_ACCESS_KEY_ID", key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	query = url.Values{"endpoint": {"http://" + address}, "region": {"us-east-1"}, "use_path_style": {"true"}}
	return filepath.Join(root, Bucket), query
}

// Run runs the program that an environment variable names until the test ends, on a folder with an empty bucket and a
// loopback address, and returns when it listens.
func Run(t *testing.T, variable, source string, args func(root, address string) []string) (root, address string) {
	t.Helper()
	program := os.Getenv(variable)
	if program == "" {
		t.Skipf("%s is not set: it is the path of the program of go install %s@latest", variable, source)
	}
	root = t.TempDir()
	if err := os.Mkdir(filepath.Join(root, Bucket), 0o700); err != nil {
		t.Fatal(err)
	}
	address = ingesttest.FreeAddress(t)
	s := exec.CommandContext(t.Context(), program, args(root, address)...)
	s.Stderr = t.Output()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Process.Kill()
		_ = s.Wait()
	})
	ingesttest.Await(t, program+" answers", func() bool {
		connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = connection.Close()
		}
		return err == nil
	})
	return root, address
}
