package questionnaire

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// names returns those of the files in a folder, in ascending order.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// kinds returns a fit, one of visits and a second stage with a compact set.
func kinds(t *testing.T) map[string]*Fitted {
	t.Helper()
	second, err := Meta(t.Context(), metaOptions(twoFits(t)))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*Fitted{
		"fit":  fit(t, planted(1), nil),
		"meta": second,
		"visits": fit(t, planted(1), func(o *Options) {
			o.Columns.Confounds, o.Columns.Visits = nil, &Visits{Time: "age", Edges: []float64{0, 12, 99}}
		}),
	}
}

// A folder that is used again holds what it would hold if it were new, and what is not of a fit stays.
func TestWriteInPlaceOfAnother(t *testing.T) {
	t.Parallel()
	all := kinds(t)
	want := map[string][]string{}
	for kind, f := range all {
		dir := t.TempDir()
		if err := f.Write(dir); err != nil {
			t.Fatal(err)
		}
		want[kind] = names(t, dir)
	}
	if has := func(kind, name string) bool { return slices.Contains(want[kind], name) }; !has("meta", CompactFile) || !has("visits", AgesFile) || !has("visits", AgesPlot) || len(want["fit"]) != len(files())-3 {
		t.Fatalf("files %q", want)
	}
	for first := range all {
		for then, f := range all {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "0.txt"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(all[first].Write(dir), f.Write(dir)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(append([]string{"0.txt"}, want[then]...), names(t, dir)); diff != "" {
				t.Errorf("%s after %s: files differ from those wanted:\n%s", then, first, diff)
			}
		}
	}
}

// Wherever writing ends, no result stands beside files of another fit, and no model beside scores of another.
func TestWriteInPart(t *testing.T) {
	t.Parallel()
	all := kinds(t)
	fresh := t.TempDir()
	if err := all["meta"].Write(fresh); err != nil {
		t.Fatal(err)
	}
	for _, stuck := range names(t, fresh) {
		t.Run(stuck, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := all["fit"].Write(dir); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, stuck)
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := all["meta"].Write(dir); err == nil {
				t.Fatal("a folder in the place of a file is replaced")
			}
			if info, err := os.Stat(filepath.Join(dir, ResultFile)); err == nil && info.Mode().IsRegular() {
				t.Error("a result stands beside files in part")
			}
			m, err := Load(dir)
			if err != nil {
				return
			}
			if s, err := readScores(filepath.Join(dir, ScoresFile), m.Summary.Factors); err != nil || len(s.IDs) != m.Summary.Participants {
				t.Errorf("a model stands beside scores that are not its own: %v", err)
			}
		})
	}
}
