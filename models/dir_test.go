package models

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/wardcast/wardcast/internal/files"
)

// TestPermissions: models of patients are nobody else's business, unless the folder was shared with a group.
func TestPermissions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ top, folder, file fs.FileMode }{
		"private": {0o755, 0o700, 0o600},
		"group":   {0o750 | fs.ModeSetgid, 0o750, 0o640},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "store")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(dir, c.top); err != nil {
				t.Fatal(err)
			}
			s := OpenDir(dir)
			b := sample(0)
			save(t, s, b)
			serve(t, s, b)
			err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
				if err != nil || path == dir || e.Name() == files.LockFile {
					return err
				}
				info, err := e.Info()
				if err != nil {
					return err
				}
				want := c.file
				if e.IsDir() {
					want = c.folder
				}
				if got := info.Mode().Perm(); got != want {
					t.Errorf("%s has mode %v, want %v", path, got, want)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
	dir := filepath.Join(t.TempDir(), "new")
	if err := OpenDir(dir).Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("a new store: %v, %v", info, err)
	}
}
