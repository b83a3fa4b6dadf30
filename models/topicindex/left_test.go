package topicindex_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/wardcast/wardcast/internal/files"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/storetest"
	"github.com/wardcast/wardcast/models/topicindex"
)

// TestLeftFolders: what a killed process left is removed, what another one uses stays, as does what is no index. It is
// the same for an index that has a folder of its own.
func TestLeftFolders(t *testing.T) {
	for _, folder := range []string{"", filepath.Join(t.TempDir(), "cache")} {
		leftFolders(t, folder)
	}
}

func leftFolders(t *testing.T, folder string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	want := map[string]bool{
		"wardcast-topics-1": false, "wardcast-topics-2": true, "wardcast-topics-3": true, "other-1": true,
	}
	for name := range want {
		folder := filepath.Join(dir, name)
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if name == "wardcast-topics-2" {
			unlock, err := files.Lock(context.Background(), filepath.Join(folder, ".used"), 0o600)
			if err != nil {
				t.Fatal(err)
			}
			defer unlock()
		}
		if old := time.Now().Add(-time.Hour); name != "wardcast-topics-3" {
			if err := os.Chtimes(folder, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	store := models.OpenDir(filepath.Join(dir, "store"))
	storetest.Serve(t, store, storetest.Bundle("_other", 1))
	x := topicindex.New(topicindex.Config{Store: store, Folder: folder})
	_ = x.Refresh(t.Context()) // of models that have no topics
	for name, stays := range want {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
}
