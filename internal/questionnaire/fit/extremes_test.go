package fit_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
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

// A penalty that empties some or all factors, and an implausible range, cause warnings in the result.
func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*fit.Options)
		empty  int
		words  []string
	}{
		{"nothing to warn of", func(*fit.Options) {}, 0, nil},
		{
			"all empty", func(o *fit.Options) { o.Betas = []float64{1e4} }, questionnairetest.Factors,
			[]string{"all 3 factors are empty"},
		},
		{
			"some empty", func(o *fit.Options) { o.Factors = []int{questionnairetest.Items}; o.Betas = []float64{4} },
			-1,
			[]string{"of 9 factors are empty"},
		},
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
					t.Errorf("factor %d of %d, %d of them empty, has scores up to %v and loadings up to %v", i+1,
						f.Summary.Factors, empty, w, q)
				}
			}
			checkWarnings(t, f, c.words)
		})
	}
	rows := questionnairetest.Rows(1)
	rows[4][1] = "999"
	// the penalty of loadings grows with the range
	checkWarnings(t, questionnairetest.Fit(t, rows, func(o *fit.Options) { o.Columns.Range = nil }),
		[]string{"2 of 3 factors are empty", "999", "those of 22 participants on factor1"})
}

// Scores of people who were not asked the items of a factor are not measurements: they are excluded from the statistics
// of the factor, and a warning names the group that lacks the scale.
func TestScoresOfPeopleWhoWereNotAsked(t *testing.T) {
	t.Parallel()
	for _, method := range model.Methods() {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			learn := func(rows [][]string) *model.Fitted {
				return questionnairetest.Fit(t, rows, func(o *fit.Options) {
					if o.Method = method; method != model.MethodICQF {
						o.Betas = nil
					}
					o.Columns.Groups = []string{"sex"}
				})
			}
			want := learn(questionnairetest.Rows(1)).Summary.FactorFits
			rows, asked := questionnairetest.Rows(1), 0
			for _, row := range rows[1:] {
				if row[len(row)-2] == "F" {
					asked++
					continue
				}
				for j := 0; j < questionnairetest.Items; j += questionnairetest.Factors {
					row[1+j] = ""
				}
			}
			f := learn(rows)
			some := slices.IndexFunc(f.Summary.FactorFits,
				func(f model.FactorFit) bool { return f.Participants < questionnairetest.Participants/2+20 })
			if some < 0 {
				t.Fatalf("of no factor the scores of %d participants do not count: %+v",
					questionnairetest.Participants-asked, f.Summary.FactorFits)
			}
			got := f.Summary.FactorFits[some]
			near := 0.1 * fit.LargestError(&f.Model) // errors of factors with variance 1 are on a scale twice as wide
			if ok := math.Abs(got.Reliability-want[some].Reliability) < 0.1 && math.Abs(got.StandardError-
				want[some].StandardError) < near; got.Participants > asked || got.Participants < asked*9/10 || !ok {
				t.Errorf("factor %d: %+v of the %d who were asked; everybody asked: %+v", some+1, got,
					asked, want[some])
			}
			scored, err := fit.Score(&f.Model, questionnairetest.File(t, "y.csv", questionnairetest.CSV(rows)),
				fit.Scoring{})
			if err != nil {
				t.Fatal(err)
			}
			if n := len(scored.Vague[some]); n != f.Summary.Participants-got.Participants {
				t.Errorf("score reports %d participants, fit %d", n, f.Summary.Participants-got.Participants)
			}
			warnings := strings.Join(f.Summary.Warnings, "; ")
			for _, want := range []string{"with sex M answered q1, q4, q7", fmt.Sprintf(
				"those of %d participants on factor%d", f.Summary.Participants-got.Participants, some+1)} {
				if !strings.Contains(warnings, want) {
					t.Errorf("the warnings %q lack %q", warnings, want)
				}
			}
		})
	}
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

// Answers and confounds of any size are fitted and stored, or refused: no number of a model is NaN or infinite.
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
						row[1+j] = strconv.FormatFloat(number(t, row[1+j])*c.factor, 'g', -1, 64)
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
	o := questionnairetest.Options(questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows)))
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
