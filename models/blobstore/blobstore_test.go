package blobstore

import (
	"context"
	"strings"
	"sync"
	"testing"

	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/storetest"
)

// exclusive is a bucket in memory, which has no conditional writes: a lock stands in for them.
type exclusive struct {
	*bucket
	mu sync.Mutex
}

func (e *exclusive) Swap(ctx context.Context, name string, before, after []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.bucket.Swap(ctx, name, before, after)
}

func always(*blob.Reader) (func(func(any) bool) error, bool) { return nil, true }

func TestMemory(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) models.Bucket {
		blobs := blob.PrefixedBucket(memblob.OpenBucket(nil), "folder/")
		t.Cleanup(func() { _ = blobs.Close() })
		return &exclusive{bucket: &bucket{blobs, always}}
	})
}

// TestStoppedFolder: files of a version that was never completed are no version, and do not stand in its way.
func TestStoppedFolder(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := &exclusive{bucket: &bucket{memblob.OpenBucket(nil), always}}
	s := models.New(b)
	served := storetest.Serve(t, s, storetest.Bundle(bundle.Other, 1))
	next := storetest.Bundle(bundle.Other, 2)
	if _, err := models.OpenDir(t.TempDir()).Save(ctx, next); err != nil { // tells its version
		t.Fatal(err)
	}
	if err := b.blobs.WriteAll(ctx, bundle.Other+"/"+next.Version+"/card.md", []byte("half"), nil); err != nil {
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
		if g, err := s.Champion(t.Context()); err == nil || !strings.Contains(err.Error(), "champion: not found") {
			t.Errorf("%s: %v, %v", place, g, err)
		}
	}
	for place, want := range map[string]string{
		"ftp://host/x":        "must be a folder or a URL of s3, gs or file",
		"mem://":              "must be a folder or a URL of s3, gs or file",
		"file://host/x":       "a folder is file:///path",
		"file://":             "a folder is file:///path",
		"s3://b?regio=x":      "regio",
		"s3://b/%zz":          "invalid URL escape",
		"s3://b?fips=perhaps": "fips",
	} {
		if _, err := Open(t.Context(), place); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", place, err, want)
		}
	}
}
