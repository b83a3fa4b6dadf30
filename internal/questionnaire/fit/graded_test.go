package fit_test

import (
	"encoding/csv"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
)

// Thresholds stand for the steps of an item's range: one between answers that nobody gave is that of the next answer
// above, and those beyond all answers are empty. The model that was stored has the same.
func TestGradedTable(t *testing.T) {
	t.Parallel()
	rows := questionnairetest.Rows(1)
	for i, row := range rows[1:] {
		if row[1] == "2" || row[1] == "4" {
			row[1] = strconv.Itoa(1 + 2*(i%2)) // nobody answers 2 or 4
		}
	}
	f := questionnairetest.Fit(t, rows, func(o *fit.Options) {
		o.Method, o.Betas, o.Columns.Confounds = model.MethodGRM, nil, nil
		o.Columns.Range = &questionnaire.Range{Low: 0, High: 4}
	})
	table := string(f.LoadingsCSV())
	if again := string(questionnairetest.Reload(t, &f.Model).LoadingsCSV()); again != table {
		t.Errorf("the stored model has\n%s\nnot\n%s", again, table)
	}
	cells, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	const header = "item,factor1,factor2,factor3,discrimination,threshold_1,threshold_2,threshold_3,threshold_4"
	if got := strings.Join(cells[0], ","); got != header {
		t.Fatalf("columns %s, want %s", got, header)
	}
	first := cells[1]
	if first[6] != first[7] || first[8] != "" || first[5] == first[6] {
		t.Errorf("thresholds %v of an item without the answers 2 and 4", first[5:])
	}
	g := f.Summary.Graded
	parameters := questionnairetest.Items + 3 // correlations of the factors
	for _, d := range f.FA.Graded.Intercepts {
		parameters += len(d)
	}
	if f.Summary.LogLikelihood == nil || *f.Summary.LogLikelihood != -f.Summary.Objective || g.Parameters != parameters ||
		len(f.FA.Graded.Intercepts[0]) != 2 {
		t.Errorf("log-likelihood %v, %d parameters", f.Summary.LogLikelihood, g.Parameters)
	}
	if item := g.Items[0]; item.Thresholds[3].Defined() || !item.Thresholds[2].Defined() ||
		g.Assigned != model.AssignedByFA {
		t.Errorf("%+v, assigned by %q", item, g.Assigned)
	}
}

// With as many subscales as factors, the codebook says which items are on which factor.
func TestGradedByCodebook(t *testing.T) {
	t.Parallel()
	f := questionnairetest.Fit(t, questionnairetest.Rows(1), func(o *fit.Options) {
		o.Method, o.Betas, o.Columns.Confounds, o.Columns.Range = model.MethodGRM, nil, nil, nil
		for j := range questionnairetest.Items {
			o.Columns.Codebook = append(o.Columns.Codebook, questionnaire.Item{
				Name: "q" + strconv.Itoa(j+1), Subscale: "scale " + strconv.Itoa(j%questionnairetest.Factors),
				Range: &questionnaire.Range{Low: 0, High: questionnairetest.Top},
			})
		}
	})
	if f.Summary.Graded.Assigned != model.AssignedByCodebook {
		t.Errorf("assigned by %q", f.Summary.Graded.Assigned)
	}
	for j, item := range f.Summary.Graded.Items {
		if item.Factor != j%questionnairetest.Factors+1 || math.Abs(f.Loadings().At(j, item.Factor-1)) < 0.5 {
			t.Errorf("%+v", item)
		}
	}
}

// Numbers of factors that leave a factor too few items are no candidates, and a warning names them.
func TestGradedSkipsCandidates(t *testing.T) {
	t.Parallel()
	o := questionnairetest.Options(questionnairetest.File(t, "x.csv",
		questionnairetest.CSV(questionnairetest.Rows(1))))
	o.Method, o.Betas, o.Columns.Confounds, o.Factors = model.MethodGRM, nil, nil, []int{1, 9}
	r, err := fit.Rank(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Curve) != 1 || r.Factors != 1 || !slices.ContainsFunc(r.Warnings, func(w string) bool {
		return strings.HasSuffix(w, "too few items: [9]")
	}) {
		t.Errorf("curve %v, warnings %q", r.Curve, r.Warnings)
	}
	o.Factors = []int{4, 9}
	if _, err := fit.Fit(t.Context(), o); !errors.Is(err, questionnaire.ErrOptions) ||
		!strings.Contains(err.Error(), "too few items for any number of factors that was tried: [4 9]") {
		t.Errorf("no candidate can be fitted: %v", err)
	}
	o.Factors, o.Columns.Items = []int{1}, []string{"q1"}
	if _, err := fit.Fit(t.Context(), o); !errors.Is(err, questionnaire.ErrOptions) ||
		!strings.Contains(err.Error(), "too few items: factor 1 has 1 of at least 3 items") {
		t.Errorf("one item: %v", err)
	}
}
