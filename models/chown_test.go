package models

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestRootKeepsTheOwner: a rollback by root leaves a store that its owner can read and write.
func TestRootKeepsTheOwner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	const owner = 4711
	dir := filepath.Join(t.TempDir(), "store")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, owner, owner); err != nil {
		t.Fatal(err)
	}
	s := OpenDir(dir)
	g := generations(t, s, 2)
	if err := s.Promote(t.Context(), Change{To: g[0]}); err != nil {
		t.Fatal(err)
	}
	champion := filepath.Join(dir, championFile)
	if err := os.Chmod(champion, 0o640); err != nil { // as an administrator shared it
		t.Fatal(err)
	}
	if err := s.Promote(t.Context(), Change{To: g[1], From: g[0]}); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if at := info.Sys().(*syscall.Stat_t); at.Uid != owner || at.Gid != owner {
			t.Errorf("%s belongs to %d:%d", path, at.Uid, at.Gid)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(champion); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("champion: %v, %v", info.Mode(), err)
	}
}
