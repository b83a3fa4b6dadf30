package app

import (
	"crypto/sha256"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/internal/service/config"
)

// TestTokenFiles: a token whose file is gone or empty is revoked, one whose file is half-written is not, and neither
// keeps another in use.
func TestTokenFiles(t *testing.T) {
	t.Parallel()
	dir, log := t.TempDir(), &ingesttest.Log{}
	h := config.HTTP{Listen: "127.0.0.1:0"}
	write := func(name, token string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		write(name, strings.Repeat(name, 30))
		h.Tokens = append(h.Tokens, config.Token{Name: name, Role: config.Viewer, TokenFile: filepath.Join(dir, name)})
	}
	l, err := newListening(&h, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	valid := func(want ...string) {
		t.Helper()
		got, all := l.access.Tokens(), ""
		for _, token := range got {
			all += token.Name
		}
		if all != strings.Join(want, "") {
			t.Errorf("%s are valid, want %v", all, want)
		}
	}
	valid("a", "b", "c")
	if err := os.Remove(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	valid("b", "c")
	write("b", "another "+strings.Repeat("b", 30)) // replaced, while a is still gone
	if valid("b", "c"); l.access.Tokens()[0].Sum != sha256.Sum256([]byte("another "+strings.Repeat("b", 30))) {
		t.Error("a token that was replaced is still valid")
	}
	write("c", "half")
	valid("b", "c")
	write("c", "")
	valid("b")
	write("c", "half")
	valid("b")
	write("c", "another "+strings.Repeat("b", 30)) // that of b
	valid("b")
	write("a", strings.Repeat("a", 30))
	write("c", strings.Repeat("c", 31))
	valid("a", "b", "c")
	if err := os.Remove(filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("b", filepath.Join(dir, "b")); err != nil { // cannot be read, and is not gone
		t.Fatal(err)
	}
	valid("a", "b", "c")
	if n := strings.Count(log.String(), "revoked"); n != 2 {
		t.Errorf("%d lines of 2:\n%s", n, log)
	}
}
