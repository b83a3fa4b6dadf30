package meta_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/folder"
	"github.com/wardcast/wardcast/internal/questionnaire/meta"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
	"github.com/wardcast/wardcast/internal/table"
)

// rewrite changes the lines of a file after the header.
func rewrite(t *testing.T, path string, change func(lines []string)) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(data), "\n")+"\n", "\n")
	lines = lines[:len(lines)-1]
	change(lines[1:])
	if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The order of participants, in scores and in answers, changes no bit of the second stage nor of the compact set.
func TestMetaJoinsInAnyOrder(t *testing.T) {
	t.Parallel()
	before, err := meta.Run(t.Context(), metaOptions(twoFits(t)))
	if err != nil {
		t.Fatal(err)
	}
	rows := questionnairetest.Rows(1)
	slices.Reverse(rows[1:11]) // whom the first fit alone has
	slices.Reverse(rows[11:])
	dirs := fitsOf(t, rows, func(o *fit.Options) { o.Columns.Confounds = nil })
	rewrite(t, filepath.Join(dirs[0], model.ScoresFile), slices.Reverse[[]string])
	after, err := meta.Run(t.Context(), metaOptions(dirs))
	if err != nil {
		t.Fatal(err)
	}
	if slices.Equal(before.Scores.IDs, after.Scores.IDs) {
		t.Fatal("the participants stand in the same order")
	}
	for i, id := range before.Scores.IDs {
		j := slices.Index(after.Scores.IDs, id)
		if j < 0 || !slices.Equal(before.Scores.Values.RawRowView(i), after.Scores.Values.RawRowView(j)) {
			t.Fatalf("row %d has other scores, or none, in another order", i)
		}
	}
	if diff := cmp.Diff(before.Summary.Compact, after.Summary.Compact); diff != "" {
		t.Errorf("the compact set differs in another order:\n%s", diff)
	}
}

// One item of each construct is a good estimate of it, and items of the others are none.
func TestCompactCorrelations(t *testing.T) {
	t.Parallel()
	f, err := meta.Run(t.Context(), metaOptions(twoFits(t)))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Summary.Compact) != questionnairetest.Factors {
		t.Fatalf("compact set %+v", f.Summary.Compact)
	}
	const good, chance = 0.75, 0.4
	for i, item := range f.Summary.Compact {
		well := 0
		for _, r := range item.Correlations {
			switch {
			case r > good:
				well++
			case r > chance:
				t.Errorf("%d items: correlations %v, want those above %v for as many factors, the others below %v", i+1,
					item.Correlations, good, chance)
			}
		}
		if well != i+1 || len(item.Correlations) != questionnairetest.Factors {
			t.Errorf("%d items: correlations %v, want %d above %v", i+1, item.Correlations, i+1, good)
		}
	}
}

func TestMetaRefusesStrangers(t *testing.T) {
	t.Parallel()
	dirs := twoFits(t)
	scores := filepath.Join(dirs[1], model.ScoresFile)
	rewrite(t, scores, func(lines []string) { lines[4] = lines[2] })
	_, err := meta.Run(t.Context(), metaOptions(dirs))
	if at, ok := errors.AsType[*table.Error](err); !ok || !errors.Is(err, questionnaire.ErrSameID) || at.Line != 6 ||
		at.File != scores || strings.Contains(err.Error(), "secret") {
		t.Errorf("an id twice: error %v, want one of line 6", err)
	}
	rewrite(t, scores, func(lines []string) {
		lines[4] = "x,0,0,0,9,0.1,0.1,0.1\n"
		for i := range lines {
			lines[i] = "other" + lines[i]
		}
	})
	_, err = meta.Run(t.Context(), metaOptions(dirs))
	if at, ok := errors.AsType[*table.Error](err); !ok || !errors.Is(err, questionnaire.ErrNotShared) ||
		at.File != "b" {
		t.Errorf("nobody answered both: error %v, want ErrNotShared of b", err)
	}
}

// TestMetaRefusesNumbers: the first row of one file is nobody of another.
func TestMetaRefusesNumbers(t *testing.T) {
	t.Parallel()
	dirs := twoFits(t)
	rows := questionnairetest.Rows(1)
	for _, row := range rows {
		row[0] = "x" // a column of anything
	}
	rows[0][0] = "site"
	f := questionnairetest.Fit(t, rows, func(o *fit.Options) { o.Columns.ID, o.Columns.Confounds = "", nil })
	numbered := filepath.Join(t.TempDir(), "numbered")
	if err := folder.Write(t.Context(), numbered, f); err != nil {
		t.Fatal(err)
	}
	if _, err := meta.Run(t.Context(), metaOptions([]string{dirs[0], numbered})); !errors.Is(err,
		questionnaire.ErrNumbered) {
		t.Errorf("participants without ids: error %v, want ErrNumbered", err)
	}
}
