package fit_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
)

// What a factor analysis does about missing answers follows from the options and the answers, and the result says it.
func TestMissingAnswers(t *testing.T) {
	t.Parallel()
	whole, gaps, two := questionnairetest.Rows(1), questionnairetest.Rows(1), questionnairetest.Rows(1)
	for i := 1; i <= questionnairetest.Participants; i++ {
		for j, v := range whole[i] {
			whole[i][j] = cmp.Or(v, "0")
		}
		two[i][1+i%2] = "" // the first two items, never together
	}
	for name, c := range map[string]struct {
		rows                 [][]string
		missing, correlation string
		want, doubt          string
		covariance           bool
	}{
		"complete":           {rows: whole, want: model.Pairwise},
		"by default":         {rows: gaps, want: model.FIML, covariance: true},
		"with a correlation": {rows: gaps, correlation: model.Pearson, want: model.Pairwise, doubt: "counts all"},
		"both": {
			rows: gaps, missing: model.FIML, correlation: model.Pearson, want: model.FIML, covariance: true,
		},
		"listwise":             {rows: gaps, missing: model.Listwise, want: model.Listwise, doubt: "answered all items"},
		"polychoric":           {rows: gaps, correlation: model.Polychoric, want: model.Pairwise},
		"two never together":   {rows: two, want: model.FIML, covariance: true, doubt: "1 pair of items together"},
		"few, full by default": {rows: gaps[:9], want: model.Pairwise, doubt: "are by pairs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := questionnairetest.Fit(t, c.rows, func(o *fit.Options) {
				o.Method, o.Factors, o.Betas = model.MethodFA, []int{2}, nil
				o.Missing, o.Correlation = c.missing, c.correlation
				o.Columns.Confounds = nil
			})
			s := f.Summary
			if s.MissingMethod != c.want || (s.Covariance != nil) != c.covariance {
				t.Errorf("%s, want %s; covariances %t", s.MissingMethod, c.want, s.Covariance != nil)
			}
			if c.doubt != "" && !strings.Contains(strings.Join(s.Warnings, "\n"), c.doubt) {
				t.Errorf("warnings %q, want %q", s.Warnings, c.doubt)
			}
			if never := *s.PairsNeverTogether; never != 0 && !math.IsNaN(float64(s.Covariance[0][1])) ||
				(never == 1) != (name == "two never together") {
				t.Errorf("%d pairs never together, covariance %v", never, s.Covariance)
			}
		})
	}
	for name, change := range map[string]func(*fit.Options){
		"polychoric by full information": func(o *fit.Options) {
			o.Missing, o.Correlation = model.FIML, model.Polychoric
		},
		"few for full information": func(o *fit.Options) {
			o.Missing, o.Input = model.FIML, questionnairetest.File(t, "few.csv", questionnairetest.CSV(gaps[:9]))
		},
		"unknown": func(o *fit.Options) { o.Missing = "impute" },
	} {
		o := questionnairetest.Options(questionnairetest.File(t, "x.csv", questionnairetest.CSV(gaps)))
		o.Method, o.Factors, o.Betas, o.Columns.Confounds = model.MethodFA, []int{2}, nil, nil
		change(&o)
		if _, err := fit.Fit(t.Context(), o); !errors.Is(err, questionnaire.ErrOptions) {
			t.Errorf("%s: %v", name, err)
		}
	}
	interrupted, stop := context.WithCancel(t.Context())
	stop()
	o := questionnairetest.Options(questionnairetest.File(t, "x.csv", questionnairetest.CSV(gaps)))
	o.Method, o.Betas, o.Columns.Confounds = model.MethodFA, nil, nil
	if _, err := o.Begin(interrupted); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// The covariances of full information are lavaan's.
func TestCovariancesOfLavaan(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("WARDCAST_SHARED")
	if shared == "" {
		t.Skip("WARDCAST_SHARED does not name the folder of shared cases")
	}
	for name, file := range map[string]string{
		"fiml_bfi": "data/bfi.csv.gz", "fiml_bfi15": "data/bfi.csv.gz", "fiml_branching": "cases/lavaan/branching.csv",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join(shared, "cases", "lavaan", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Items      []string    `json:"items"`
				Covariance [][]float64 `json:"covariance"`
			}
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			o := questionnairetest.Options(filepath.Join(shared, file))
			o.Method, o.Factors, o.Betas, o.Columns.Confounds = model.MethodFA, []int{2}, nil, nil
			o.Columns.Items, o.Columns.Range = want.Items, nil
			f, err := fit.Fit(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			for i, row := range want.Covariance {
				for j, v := range row {
					got := float64(f.Summary.Covariance[i][j])
					unit := math.Sqrt(want.Covariance[i][i] * want.Covariance[j][j])
					if !(math.Abs(got-v) <= 1e-4*unit) {
						t.Errorf("%s with %s: %v, lavaan says %v", want.Items[i], want.Items[j], got, v)
					}
				}
			}
		})
	}
}
