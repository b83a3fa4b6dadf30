package blobstore

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/storetest"
)

// memory is a service that keeps objects by name, each with the number of the write it comes from.
type memory struct {
	mu      sync.Mutex
	objects map[string]object
	writes  int
}

type object struct {
	data []byte
	now  version
}

func (m *memory) list(_ context.Context, prefix string, recursive bool) (names []string, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.objects {
		below, ok := strings.CutPrefix(name, prefix)
		if folder, _, found := strings.Cut(below, "/"); found && !recursive {
			name = prefix + folder + "/"
		}
		if ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

func (m *memory) get(_ context.Context, name string, limit int64) ([]byte, version, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[name]
	if !ok {
		return nil, "", fs.ErrNotExist
	}
	data, err := readAll(strings.NewReader(string(o.data)), int64(len(o.data)), limit)
	return data, o.now, err
}

func (m *memory) put(_ context.Context, name string, data []byte, now version) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now != anyVersion && m.objects[name].now != now {
		return models.ErrConflict
	}
	m.writes++
	m.objects[name] = object{data: slices.Clone(data), now: version(strconv.Itoa(m.writes))}
	return nil
}

func (m *memory) remove(_ context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, name)
	return nil
}

func newMemory() *memory { return &memory{objects: map[string]object{}} }

func TestMemory(t *testing.T) {
	t.Parallel()
	keepsContract(t, func(*testing.T) models.Bucket { return &bucket{service: newMemory(), top: "folder/"} })
}

// TestStoppedFolder: files of a version that was never completed are no version, and do not stand in its way.
func TestStoppedFolder(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := &bucket{service: newMemory()}
	s := models.New(b)
	served := storetest.Serve(t, s, storetest.Bundle(bundle.Other, 1))
	next := storetest.Bundle(bundle.Other, 2)
	if _, err := models.OpenDir(t.TempDir()).Save(ctx, next); err != nil { // sets its version
		t.Fatal(err)
	}
	if err := b.put(ctx, bundle.Other+"/"+next.Version+"/card.md", []byte("half"), anyVersion); err != nil {
		t.Fatal(err)
	}
	if damaged, err := s.Verify(ctx, nil); err != nil || len(damaged) > 0 {
		t.Errorf("verified: %v, %v", damaged, err)
	}
	if versions, err := s.Versions(ctx, bundle.Other); err != nil || len(versions) != 1 {
		t.Errorf("versions %v, %v", versions, err)
	}
	if g := storetest.Serve(t, s, next); g.Parent != served.Name {
		t.Errorf("parent %q", g.Parent)
	}
	if b, err := s.Load(ctx, bundle.Other, next.Version); err != nil || !strings.HasPrefix(b.Card, "# _other") {
		t.Errorf("loaded %v, %v", b, err)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, place := range []string{dir, "file://" + dir} {
		s, err := Open(t.Context(), place)
		if err != nil {
			t.Fatal(err)
		}
		if g, err := s.Champion(t.Context()); err == nil || !strings.Contains(err.Error(), "no generation is served") {
			t.Errorf("%s: %v, %v", place, g, err)
		}
	}
	for place, want := range map[string]string{
		"ftp://host/x":                    "must be a folder, file:///path or a bucket (s3://…, gs://…)",
		"mem://":                          "must be a folder, file:///path or a bucket (s3://…, gs://…)",
		"file://host/x":                   "a folder is file:///path",
		"file://":                         "a folder is file:///path",
		"s3:///b":                         "the name of the bucket is missing",
		"s3://b?regio=x":                  `unknown parameter "regio"`,
		"s3://b/%zz":                      "invalid URL escape",
		"s3://b?fips=perhaps":             `parameter fips must be true or false, not "perhaps"`,
		"s3://b?endpoint=host:1":          `parameter endpoint must be http://host or https://host, not "host:1"`,
		"s3://b?ssetype=none":             `parameter ssetype must be AES256 or aws:kms, not "none"`,
		"gs://b?anonymous=true&grpc=true": `unknown parameter "grpc"`,
	} {
		if _, err := Open(t.Context(), place); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", place, err, want)
		}
	}
}

// TestPlaces holds the table of documents against the services.
func TestPlaces(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "commands", "models.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range services {
		if !strings.Contains(string(page), "| `"+s.scheme+"://bucket/folder") {
			t.Errorf("docs/commands/models.md lacks a place of %s", s.scheme)
		}
	}
}
