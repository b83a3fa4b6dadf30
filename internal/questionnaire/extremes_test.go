package questionnaire

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// A penalty that leaves nothing of some or all factors, and a range that looks like no range, are told with the result.
func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*Options)
		empty  int
		words  []string
	}{
		{"nothing to warn of", func(*Options) {}, 0, nil},
		{"all empty", func(o *Options) { o.Betas = []float64{1e4} }, plantedFactors, []string{"all 3 factors are empty"}},
		{"some empty", func(o *Options) { o.Factors = []int{plantedItems}; o.Betas = []float64{0.5} }, -1, []string{"of 9 factors are empty"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := fit(t, planted(1), c.change)
			empty := f.Summary.EmptyFactors
			if empty != c.empty && (c.empty >= 0 || empty == 0 || empty == plantedItems) {
				t.Errorf("%d factors are empty", empty)
			}
			for i := range f.Summary.Factors { // the empty ones come last
				w, q := mat.Max(f.Scores.Values.ColView(i)), mat.Max(f.factors.Loadings.ColView(i))
				if (w == 0 || q == 0) != (i >= f.Summary.Factors-empty) {
					t.Errorf("factor %d of %d, %d of them empty, has scores up to %v and loadings up to %v", i+1, f.Summary.Factors, empty, w, q)
				}
			}
			checkWarnings(t, f, c.words)
		})
	}
	rows := planted(1)
	rows[4][1] = "999"
	checkWarnings(t, fit(t, rows, func(o *Options) { o.Columns.Range = nil }), []string{"all 3 factors are empty", "999"}) // the penalty of loadings grows with the range
}

// checkWarnings fails unless the warnings hold these words, one each, in the file and in the report.
func checkWarnings(t *testing.T, f *Fitted, words []string) {
	t.Helper()
	dir := t.TempDir()
	if err := f.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	var s struct{ Warnings []string }
	data, err := os.ReadFile(filepath.Join(dir, ResultFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, ReportFile))
	if err != nil {
		t.Fatal(err)
	}
	if s.Warnings == nil || len(s.Warnings) != len(words) {
		t.Fatalf("warnings %q, want %q", s.Warnings, words)
	}
	for i, w := range words {
		if !strings.Contains(s.Warnings[i], w) || !strings.Contains(string(page), s.Warnings[i]) {
			t.Errorf("warning %q, want %q in it and it in the report", s.Warnings[i], w)
		}
	}
}

// Answers and confounds of any size are fitted and stored, or refused: no number of a model is none.
func TestSizes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		factor float64 // of the answers
		err    error
	}{
		{"small", 1e-99, nil},
		{"large", 1e99, nil},
		{"too small", 1e-200, ErrScale},
		{"too large", 1e200, ErrScale},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rows := planted(1)
			for _, row := range rows[1:] {
				for j := range plantedItems {
					if row[1+j] != "" {
						row[1+j] = strconv.FormatFloat(atof(t, row[1+j])*c.factor, 'g', -1, 64)
					}
				}
			}
			checkSize(t, rows, c.err, func(o *Options) { o.Columns.Range, o.Factors = nil, []int{1, 2} })
		})
	}
	for _, tiny := range []string{"1e-200", "5e-324", "1e-160"} {
		rows := planted(1)
		for i, row := range rows[1:] {
			row[1] = []string{"0", tiny}[i%2]
		}
		checkSize(t, rows, nil, nil)
	}
	rows := planted(1)
	rows[1][1+plantedItems], rows[2][1+plantedItems] = "-1e308", "1e308"
	checkSize(t, rows, ErrScale, nil)
}

// checkSize fails unless the rows are refused so, or are fitted, stored and loaded.
func checkSize(t *testing.T, rows [][]string, want error, change func(*Options)) {
	t.Helper()
	o := plantedOptions(write(t, "x.csv", csvText(t, rows)))
	if change != nil {
		change(&o)
	}
	f, err := Fit(t.Context(), o)
	if !errors.Is(err, want) || err != nil && want == nil {
		t.Fatalf("error %v, want %v", err, want)
	}
	if want != nil {
		return
	}
	dir := t.TempDir()
	if err := f.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err != nil {
		t.Error(err)
	}
}
