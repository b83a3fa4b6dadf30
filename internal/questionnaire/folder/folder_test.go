package folder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/wardcast/wardcast/internal/files"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
	"github.com/wardcast/wardcast/internal/questionnaire/report"
	"github.com/wardcast/wardcast/internal/table"
)

// listed returns the names of the files in a folder, in ascending order.
func listed(t *testing.T, dir string) []string {
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

// ofVisits returns a fit of visits.
func ofVisits(t *testing.T) *model.Fitted {
	t.Helper()
	return questionnairetest.Fit(t, questionnairetest.Rows(1), func(o *fit.Options) {
		o.Columns.Confounds, o.Columns.Visits = nil, &questionnaire.Visits{Time: "age", Edges: []float64{0, 12, 99}}
	})
}

// secondStage returns a fit with a compact set and intervals, as meta makes it.
func secondStage(t *testing.T) *model.Fitted {
	t.Helper()
	f := questionnairetest.Fit(t, questionnairetest.Rows(2), func(o *fit.Options) { o.Columns.Confounds = nil })
	f.Summary.Settings.InputSHA256 = ""
	f.Summary.Compact = []model.CompactItem{
		{Questionnaire: "first", Item: f.Items[0], Explained: 0.5, Correlations: []float64{0.75, 0.5, 0.25}},
	}
	table := slices.Repeat([][]float64{make([]float64, questionnairetest.Factors)}, questionnairetest.Items)
	f.Summary.Bootstrap = &model.Bootstrap{
		Factors:   make([]model.Again, questionnairetest.Factors),
		Precision: model.Precision{Loadings: model.Intervals{Errors: table, Low: table, High: table}},
		Scores:    make([]float64, questionnairetest.Factors),
	}
	return f
}

// A folder that is used again holds what it would hold if it were new, and what is not of a fit stays.
func TestWriteInPlaceOfAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const other = "other.txt"
	if err := os.WriteFile(filepath.Join(dir, other), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		*model.Fitted
		without []string
	}{
		{ofVisits(t), []string{model.CompactFile, report.CompactPlot, model.IntervalsFile, model.CarelessFile}},
		{secondStage(t), []string{report.AgesFile, report.AgesPlot}},
		{
			questionnairetest.Fit(t, questionnairetest.Rows(1), nil),
			[]string{report.AgesFile, report.AgesPlot, model.CompactFile, report.CompactPlot, model.IntervalsFile},
		},
	} {
		if err := Write(t.Context(), dir, c.Fitted); err != nil {
			t.Fatal(err)
		}
		want := slices.Sorted(slices.Values(append(slices.DeleteFunc(names(),
			func(name string) bool { return slices.Contains(c.without, name) }), other, files.LockFile)))
		if diff := cmp.Diff(want, listed(t, dir)); diff != "" {
			t.Errorf("files differ from those wanted:\n%s", diff)
		}
	}
}

// Wherever writing ends, no result stands beside a part of a fit, and no file of one fit beside one of another.
func TestWriteInPart(t *testing.T) {
	t.Parallel()
	older, newer := t.TempDir(), secondStage(t)
	if err := Write(t.Context(), older, questionnairetest.Fit(t, questionnairetest.Rows(1), nil)); err != nil {
		t.Fatal(err)
	}
	for _, stuck := range slices.DeleteFunc(names(),
		func(name string) bool { return name == report.AgesFile || name == report.AgesPlot }) {
		t.Run(stuck, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(older)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, stuck)
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(path, "full"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := Write(t.Context(), dir, newer); err == nil {
				t.Fatal("a folder in the place of a file is replaced")
			}
			if info, err := os.Stat(filepath.Join(dir, model.ResultFile)); err == nil && info.Mode().IsRegular() {
				t.Error("a result stands beside files in part")
			}
			of := map[bool][]string{} // the older fit, or the newer one
			for _, name := range names() {
				data, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					continue
				}
				before, _ := os.ReadFile(filepath.Join(older, name))
				of[bytes.Equal(data, before)] = append(of[bytes.Equal(data, before)], name)
			}
			if len(of[true]) > 0 && len(of[false]) > 0 {
				t.Errorf("%v of the older fit beside %v of the newer", of[true], of[false])
			}
		})
	}
}

// contents returns the files in a folder and what they hold, but the lock.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range listed(t, dir) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if name != files.LockFile {
			all[name] = string(data)
		}
	}
	return all
}

// A fit that cannot be written leaves the older one, and nothing of its own.
func TestWriteThatFailsLeavesTheOlder(t *testing.T) {
	t.Parallel()
	dir, newer := t.TempDir(), secondStage(t)
	if err := Write(t.Context(), dir, questionnairetest.Fit(t, questionnairetest.Rows(1), nil)); err != nil {
		t.Fatal(err)
	}
	want := contents(t, dir)
	newer.CreatedAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) // no JSON, which shows when the tables are written
	if err := Write(t.Context(), dir, newer); err == nil {
		t.Fatal("a time that JSON does not have is written")
	}
	if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
		t.Errorf("the folder differs from what it was:\n%s", diff)
	}
	if m, err := model.Load(dir); err != nil || m.Summary.Factors == 0 {
		t.Errorf("the older model: %v", err)
	}
}

// The next writer removes the files of a killed one, and keeps all other files.
func TestWriteClearsWhatAKilledOneLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const staging = stagingPrefix + "4711"
	if err := os.Mkdir(filepath.Join(dir, staging), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		filepath.Join(staging, ".scores.csv5236"), filepath.Join(staging, model.ScoresFile), ".scores.csv.swp",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("p1"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Write(t.Context(), dir, questionnairetest.Fit(t, questionnairetest.Rows(1), nil)); err != nil {
		t.Fatal(err)
	}
	got := contents(t, dir)
	if _, ok := got[".scores.csv.swp"]; !ok || len(got) != len(names())-5+1 { // without compact set, intervals and ages
		t.Errorf("the folder holds %v", listed(t, dir))
	}
}

// Of fits that are written at once one is there whole.
func TestWriteAtOnce(t *testing.T) {
	t.Parallel()
	fits := []*model.Fitted{questionnairetest.Fit(t, questionnairetest.Rows(1), nil), ofVisits(t), secondStage(t)}
	var alone []map[string]string
	for _, f := range fits {
		dir := t.TempDir()
		if err := Write(t.Context(), dir, f); err != nil {
			t.Fatal(err)
		}
		alone = append(alone, contents(t, dir))
	}
	dir := t.TempDir()
	for range 2 {
		var g errgroup.Group
		for _, f := range fits {
			g.Go(func() error { return Write(t.Context(), dir, f) })
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		got := contents(t, dir)
		if !slices.ContainsFunc(alone, func(want map[string]string) bool { return cmp.Equal(want, got) }) {
			t.Fatalf("%v are not those of one fit", listed(t, dir))
		}
	}
}

// Who waits for another writer may give up, and leaves the folder as it was.
func TestWriteWaits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other := flock.New(filepath.Join(dir, files.LockFile))
	if err := other.Lock(); err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := Write(ctx, dir, questionnairetest.Fit(t, questionnairetest.Rows(1), nil)); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if got := contents(t, dir); len(got) > 0 {
		t.Errorf("written beside another one: %v", listed(t, dir))
	}
}

// An error of writing names the file that was asked for, not the temporary one.
func TestWriteErrors(t *testing.T) {
	t.Parallel()
	taken := filepath.Join(t.TempDir(), "taken.csv")
	if err := os.MkdirAll(filepath.Join(taken, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(t.TempDir(), "none", "x.csv"), taken} {
		err := write(path, func(f *table.File) error { _, err := io.WriteString(f, "x"); return err })
		if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("writing %q: ", path)) ||
			strings.Contains(err.Error(), "."+filepath.Base(path)) {
			t.Errorf("error %v, want one of writing %q", err, path)
		}
	}
}
