package files_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/files"
)

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := (files.Folder{Path: dir}).Write("key", []byte("12345")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "key")
	if data, err := files.Read(path, 5); string(data) != "12345" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	for name, at := range map[string]string{"key": path, "zero": "/dev/zero"} {
		if _, err := files.Read(at, 4); !errors.Is(err, files.ErrTooLarge) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
