package models

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
)

// TestReadWhatIsThere: a file may hold more than the file system says.
func TestReadWhatIsThere(t *testing.T) {
	t.Parallel()
	if data, err := Dir("/proc/self").Read(t.Context(), "maps", 100); err == nil {
		t.Errorf("%d bytes are read", len(data))
	}
	if data, err := Dir("/proc/self").Read(t.Context(), "maps", historyLimit); err != nil || len(data) == 0 {
		t.Errorf("%d bytes are read, %v", len(data), err)
	}
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Dir(dir).Read(t.Context(), "pipe", 100); !errors.Is(err, errIrregular) {
		t.Errorf("a pipe: %v", err)
	}
}

// TestFullDisk saves in a process whose files may not exceed a few bytes: the
// error comes through, and nothing is left behind.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	const variable = "WARDCAST_TEST_FULL_DISK"
	if dir := os.Getenv(variable); dir != "" {
		signal.Ignore(syscall.SIGXFSZ)
		var limit syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			t.Fatal(err)
		}
		// Taken back at the end, for what the test binary itself writes then.
		defer func() { _ = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit) }()
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 300, Max: limit.Max}); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenDir(dir).Save(t.Context(), sample(1)); !errors.Is(err, syscall.EFBIG) {
			t.Fatalf("got %v", err)
		}
		return
	}
	s, dir, folder := stored(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFullDisk$")
	cmd.Env = append(os.Environ(), variable+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(folder), tempPrefix+"*")); left != nil {
		t.Errorf("left %v", left)
	}
	if versions, err := s.Versions(t.Context(), "chest-pain"); err != nil || len(versions) != 1 {
		t.Errorf("versions %v, %v", versions, err)
	}
	if found, err := s.Verify(t.Context(), nil); err != nil || len(found) > 0 {
		t.Errorf("verify found %v, %v", found, err)
	}
}
