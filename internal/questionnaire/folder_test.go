package questionnaire

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
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

// An error of writing names the file that was wanted, not the temporary one.
func TestWriteErrors(t *testing.T) {
	t.Parallel()
	s := Scores{IDs: []string{"a"}, Values: mat.NewDense(1, 1, []float64{1})}
	taken := filepath.Join(t.TempDir(), "taken.csv")
	if err := os.MkdirAll(filepath.Join(taken, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(t.TempDir(), "none", "x.csv"), taken} {
		err := s.Write(path)
		if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("writing %q: ", path)) || strings.Contains(err.Error(), "."+filepath.Base(path)) {
			t.Errorf("error %v, want one of writing %q", err, path)
		}
	}
}

// The path of the answers is told from the folder of the model, so that both may move, and nothing above them is told.
func TestWriteTellsThePathFromTheFolder(t *testing.T) {
	t.Parallel()
	study := filepath.Join(t.TempDir(), "study")
	var dirs []string
	for i, items := range [][]string{{"q1", "q2", "q3", "q4", "q5", "q6"}, {"q7", "q8", "q9"}} {
		dir := filepath.Join(study, "models", strconv.Itoa(i))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		o := plantedOptions(filepath.Join(study, "answers.csv"))
		o.Columns.Items = items
		if err := os.WriteFile(o.Input, []byte(csvText(t, planted(1))), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Fit(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Write(dir); err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join("..", "..", "answers.csv"); f.Summary.Settings.Input != want {
			t.Errorf("the summary tells of %q, want %q", f.Summary.Settings.Input, want)
		}
		for _, name := range names(t, dir) {
			if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || strings.Contains(string(data), filepath.Dir(study)) {
				t.Errorf("%s tells where the study is: %v", name, err)
			}
		}
		dirs = append(dirs, filepath.Join(study+"2", "models", strconv.Itoa(i)))
	}
	if err := os.Rename(study, study+"2"); err != nil {
		t.Fatal(err)
	}
	f, err := Meta(t.Context(), metaOptions(dirs))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Summary.Compact) == 0 || f.Summary.Settings.Input != "0, 1" {
		t.Errorf("compact set %v of %q", f.Summary.Compact, f.Summary.Settings.Input)
	}
}
