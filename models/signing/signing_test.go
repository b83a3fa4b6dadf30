package signing_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/models/signing"
)

func keys(t *testing.T, names ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range names {
		if err := signing.NewKeyFile(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestKeyFiles: a key is for its owner alone, never overwritten, and not to be found in its public half.
func TestKeyFiles(t *testing.T) {
	t.Parallel()
	dir := keys(t, "a", "b")
	a := filepath.Join(dir, "a")
	info, err := os.Stat(a)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	before, _ := os.ReadFile(a)
	if err := signing.NewKeyFile(a); !errors.Is(err, os.ErrExist) {
		t.Error(err)
	}
	if err := os.Remove(a); err != nil {
		t.Fatal(err)
	}
	if err := signing.NewKeyFile(a); !errors.Is(err, os.ErrExist) {
		t.Errorf("beside a public half: %v", err)
	}
	if _, err := os.Lstat(a); err == nil {
		t.Error("a key was written whose public half was not")
	}
	if err := os.WriteFile(a, before, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"empty": "", "public": "ed25519 AAAA", "short": "ed25519-secret AAAA"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := signing.ReadKey(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := signing.Read("", []string{a}); err == nil || !strings.Contains(err.Error(), a) {
		t.Errorf("a secret key is trusted: %v", err)
	}
}

// TestCheck: a statement counts if one trusted key has signed just this.
func TestCheck(t *testing.T) {
	t.Parallel()
	dir := keys(t, "a", "b")
	a, err := signing.Read(filepath.Join(dir, "a"), []string{filepath.Join(dir, "a.pub")})
	if err != nil {
		t.Fatal(err)
	}
	b, err := signing.ReadKey(filepath.Join(dir, "b"))
	if err != nil {
		t.Fatal(err)
	}
	statement := []byte("this")
	ofA, ofB := a.Sign.Sign(statement), b.Sign(statement)
	for name, signatures := range map[string][]string{"of a": {ofA}, "of both": {ofB, ofA}} {
		if by, err := a.Trust.Check(statement, signatures); err != nil || by != "a.pub ("+a.Sign.ID()+")" {
			t.Errorf("%s: %q, %v", name, by, err)
		}
	}
	for name, c := range map[string]struct {
		signatures []string
		says       string
	}{
		"none":             {nil, "no signature"},
		"of b":             {[]string{ofB}, b.ID()},
		"of b, as if of a": {[]string{a.Sign.ID() + strings.TrimPrefix(ofB, b.ID())}, "changed"},
		"of another thing": {[]string{a.Sign.Sign([]byte("that"))}, "changed"},
		"nonsense":         {[]string{a.Sign.ID() + " !"}, "changed"},
		"empty":            {[]string{""}, "not trusted"},
	} {
		if _, err := a.Trust.Check(statement, c.signatures); !errors.Is(err, signing.ErrUntrusted) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
