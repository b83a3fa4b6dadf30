package fit_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
	"github.com/wardcast/wardcast/internal/questionnaire/report"
)

// A penalty that leaves nothing of some or all factors, and a range that looks like no range, are told with the result.
func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*fit.Options)
		empty  int
		words  []string
	}{
		{"nothing to warn of", func(*fit.Options) {}, 0, nil},
		{"all empty", func(o *fit.Options) { o.Betas = []float64{1e4} }, questionnairetest.Factors, []string{"all 3 factors are empty"}},
		{"some empty", func(o *fit.Options) { o.Factors = []int{questionnairetest.Items}; o.Betas = []float64{4} }, -1, []string{"of 9 factors are empty"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := questionnairetest.Fit(t, questionnairetest.Rows(1), c.change)
			empty := f.Summary.EmptyFactors
			if empty != c.empty && (c.empty >= 0 || empty == 0 || empty == questionnairetest.Items) {
				t.Errorf("%d factors are empty", empty)
			}
			for i := range f.Summary.Factors { // the empty ones come last
				w, q := mat.Max(f.Scores.Values.ColView(i)), mat.Max(f.ICQF.Loadings.ColView(i))
				if (w == 0 || q == 0) != (i >= f.Summary.Factors-empty) {
					t.Errorf("factor %d of %d, %d of them empty, has scores up to %v and loadings up to %v", i+1, f.Summary.Factors, empty, w, q)
				}
			}
			checkWarnings(t, f, c.words)
		})
	}
	rows := questionnairetest.Rows(1)
	rows[4][1] = "999"
	checkWarnings(t, questionnairetest.Fit(t, rows, func(o *fit.Options) { o.Columns.Range = nil }), []string{"2 of 3 factors are empty", "999"}) // the penalty of loadings grows with the range
}

// checkWarnings fails unless the warnings hold these words, one each, in the file and in the report.
func checkWarnings(t *testing.T, f *model.Fitted, words []string) {
	t.Helper()
	files, err := f.Files()
	if err != nil {
		t.Fatal(err)
	}
	var s struct{ Warnings []string }
	if err := json.Unmarshal(files[model.ResultFile], &s); err != nil {
		t.Fatal(err)
	}
	drawn, err := report.Files(&f.Model, nil)
	if err != nil {
		t.Fatal(err)
	}
	page := drawn[report.File]
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
		{"too small", 1e-200, questionnaire.ErrScale},
		{"too large", 1e200, questionnaire.ErrScale},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rows := questionnairetest.Rows(1)
			for _, row := range rows[1:] {
				for j := range questionnairetest.Items {
					if row[1+j] != "" {
						row[1+j] = strconv.FormatFloat(questionnairetest.Number(t, row[1+j])*c.factor, 'g', -1, 64)
					}
				}
			}
			checkSize(t, rows, c.err, func(o *fit.Options) { o.Columns.Range, o.Factors = nil, []int{1, 2} })
		})
	}
	for _, tiny := range []string{"1e-200", "5e-324", "1e-160"} {
		rows := questionnairetest.Rows(1)
		for i, row := range rows[1:] {
			row[1] = []string{"0", tiny}[i%2]
		}
		checkSize(t, rows, nil, nil)
	}
	rows := questionnairetest.Rows(1)
	rows[1][1+questionnairetest.Items], rows[2][1+questionnairetest.Items] = "-1e308", "1e308"
	checkSize(t, rows, questionnaire.ErrScale, nil)
}

// checkSize fails unless the rows are refused so, or are fitted, stored and loaded.
func checkSize(t *testing.T, rows [][]string, want error, change func(*fit.Options)) {
	t.Helper()
	o := questionnairetest.Options(questionnairetest.File(t, "x.csv", questionnairetest.CSV(t, rows)))
	if change != nil {
		change(&o)
	}
	f, err := fit.Fit(t.Context(), o)
	if !errors.Is(err, want) || err != nil && want == nil {
		t.Fatalf("error %v, want %v", err, want)
	}
	if want != nil {
		return
	}
	if _, err := report.Files(&f.Model, nil); err != nil {
		t.Error(err)
	}
	questionnairetest.Reload(t, &f.Model)
}
