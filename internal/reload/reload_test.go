package reload_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/reload"
)

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestValue: the files are read once for each change, and contents that cannot be used leave the previous ones in use.
func TestValue(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "secret")
	var reads int
	var refused []string
	v, err := reload.New(func() (string, error) { reads++; return reload.Secret(name) },
		func(err error) { refused = append(refused, err.Error()) }, name)
	if err == nil || !strings.Contains(err.Error(), name) {
		t.Fatalf("New without a file returns %v, want an error that names it", err)
	}
	get := func(want string) {
		t.Helper()
		if got, err := v.Get(); err != nil || got != want {
			t.Errorf("Get returns %q and %v, want %q", got, err, want)
		}
	}
	write(t, name, "first\n")
	get("first")
	before := reads
	get("first")
	if reads != before {
		t.Error("a file that did not change is read again")
	}
	write(t, name, "")
	get("first")
	get("first")
	write(t, name, "the second\r\n")
	get("the second")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	get("the second")
	write(t, name, "third")
	get("third")
	if len(refused) != 2 || !strings.Contains(refused[0], "empty") || !strings.Contains(refused[1], "no such file") {
		t.Errorf("refused: %q, want one line for the empty file and one for the missing one", refused)
	}
}

// TestValueOfSeveralFiles: files that do not match yet are read again when the other one has changed too.
func TestValueOfSeveralFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	v, _ := reload.New(func() (string, error) { // they are not there yet
		var all []string
		for _, name := range files {
			s, err := reload.Secret(name)
			if err != nil {
				return "", err
			}
			all = append(all, s)
		}
		if len(slices.Compact(slices.Clone(all))) > 1 {
			return "", os.ErrInvalid
		}
		return all[0], nil
	}, nil, files...)
	for _, step := range []struct{ a, b, want string }{
		{"one", "one", "one"}, {"three", "one", "one"}, {"three", "three", "three"},
	} {
		write(t, files[0], step.a)
		write(t, files[1], step.b)
		if got, err := v.Get(); err != nil || got != step.want {
			t.Errorf("%+v: %q, %v", step, got, err)
		}
	}
}
