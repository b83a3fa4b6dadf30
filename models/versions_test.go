package models

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/bundle"
)

// TestDescribe: what people read of a version is read without the rest, and held against the manifest.
func TestDescribe(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	s := OpenDir(root)
	want := sample(1)
	version := save(t, s, want)
	folder := filepath.Join(root, want.Manifest.Name, version)
	for _, name := range []string{bundle.TensorsFile, bundle.VocabularyFile} {
		if err := os.Remove(filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Describe(t.Context(), want.Manifest.Name, version)
	if err != nil {
		t.Fatal(err)
	}
	want.Vocabulary, want.Tensors, want.Evaluation = nil, nil, nil
	if d := cmp.Diff(asJSON(t, want), asJSON(t, got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	m, err := s.Manifest(t.Context(), want.Manifest.Name, version)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(asJSON(t, &want.Manifest), asJSON(t, m)); d != "" {
		t.Errorf("the manifest (-want +got):\n%s", d)
	}
	if err := os.WriteFile(filepath.Join(folder, bundle.CardFile), []byte("# Another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = s.Describe(t.Context(), want.Manifest.Name, version)
	if damage, ok := errors.AsType[*FileError](err); !ok || damage.File != bundle.CardFile ||
		damage.Version != version {
		t.Errorf("a changed card: %v", err)
	}
	for _, name := range []string{"2026-11-20T02-00-02Z-000000", "../..", ""} {
		if _, err := s.Describe(t.Context(), want.Manifest.Name, name); !errors.Is(err, ErrNotFound) {
			t.Errorf("version %q: %v, want ErrNotFound", name, err)
		}
	}
}

// asJSON returns v as JSON, in which raw messages have one form.
func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
