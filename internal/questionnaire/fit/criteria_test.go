package fit_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/questionnaire/evaluate"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/rank"
)

// The criteria of one ranking find the planted factors, and do not depend on the number of threads.
func TestCriteria(t *testing.T) {
	t.Parallel()
	o := questionnairetest.Options(questionnairetest.File(t, "x.csv",
		questionnairetest.CSV(questionnairetest.Rows(1))))
	o.Factors, o.Betas = []int{1, 2, 3, 4}, []float64{0.1}
	r, err := fit.Rank(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Parallel.Suggested == nil || r.MAP.Suggested == nil || *r.Parallel.Suggested != r.Factors ||
		*r.MAP.Suggested != r.Factors {
		t.Errorf("suggested %v", r.Lines())
	}
	o.Threads = 1
	again, err := fit.Rank(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range r.Parallel.Reference {
		if v != again.Parallel.Reference[i] {
			t.Fatalf("reference %d is %v, on one thread %v", i, v, again.Parallel.Reference[i])
		}
	}
}

// For factor analysis the criteria rest on the correlations of the fit, and a line says how many factors a fit takes.
func TestCriteriaOfFactorAnalysis(t *testing.T) {
	t.Parallel()
	o := questionnairetest.Options(questionnairetest.File(t, "x.csv",
		questionnairetest.CSV(questionnairetest.Rows(1))))
	o.Columns.Confounds, o.Method, o.Betas, o.Factors, o.Correlation = nil, model.MethodFA, nil, []int{1, 2},
		model.Polychoric
	r, err := fit.Rank(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Parallel analysis of polychoric correlations: 3 factors",
		"Velicer's MAP of polychoric correlations: 3 components", "lowest: 2 factors;",
		"fit --method fa takes 3 factors, by parallel analysis. If --factors lists candidates, it takes the one of " +
			"the lowest error, here 2 factors.",
	}
	for i, line := range r.Lines() {
		if i >= len(want) || !strings.Contains(line, want[i]) {
			t.Errorf("line %d is %q, want %q", i, line, want[i])
		}
	}
	o.Factors = nil
	f, err := fit.Fit(t.Context(), o)
	if err != nil || f.Summary.Factors != r.FitFactors {
		t.Errorf("fit does not take the %d factors that rank says: %v", r.FitFactors, err)
	}
	s, err := o.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c, err := factoranalysis.Correlate(t.Context(), s.Data(s.Order).Answers, factoranalysis.Polychoric, 1)
	if err != nil {
		t.Fatal(err)
	}
	if curve, _, err := rank.MAP(c.R); err != nil || curve[1] != r.MAP.Curve[1] {
		t.Errorf("one component leaves %v, of the polychoric correlations %v: %v", r.MAP.Curve[1], curve[1], err)
	}
}

// An item that the confounds determine is left out of the other criteria, which fit, rank and evaluate say, by name.
func TestCriteriaWithoutDeterminedItems(t *testing.T) {
	t.Parallel()
	rows := questionnairetest.Rows(1)
	for i, row := range rows {
		rows[i] = append(slices.Clip(row), map[string]string{"sex": "q10", "F": "0", "M": "4"}[row[11]])
	}
	o := questionnairetest.Options(questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows)))
	o.Factors, o.Betas = []int{2, 3}, []float64{0.1}
	r, err := fit.Rank(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	const left = `confounds determine: "q10"`
	if k := r.Parallel.Suggested; k == nil || *k != 3 || r.MAP.Suggested == nil || *r.MAP.Suggested != 3 ||
		!says(r.Warnings, left) {
		t.Errorf("%q, warnings %q", r.Lines(), r.Warnings)
	}
	e, err := evaluate.Run(t.Context(), evaluate.Options{Options: o, Repeats: 1})
	if err != nil || !says(e.Warnings, left) {
		t.Errorf("an evaluation warns %+v (%v)", e, err)
	}
	o.Factors = nil
	if f, err := fit.Fit(t.Context(), o); err != nil || f.Summary.Criteria.SimpleStructure == nil ||
		!says(f.Unsure, left) {
		t.Errorf("fit warns %q (%v)", f.Unsure, err)
	}
}

func says(warnings []string, what string) bool {
	return slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, what) })
}

// Of answers without a common factor, fit and rank say so, whatever the method; factor analysis follows no criterion
// then, since a fit has a factor. One item that differs from the others is no good factor.
func TestWarnsOfNoFactorsAndThinFactors(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 3))
	var noise, thin [][]string
	for i := range 301 {
		common, double := random.NormFloat64(), random.NormFloat64()
		noise, thin = append(noise, []string{"id"}), append(thin, []string{"id"})
		for j := range 8 {
			v := []float64{random.NormFloat64(), common + random.NormFloat64()}
			if j > 5 {
				v[1] = double + random.NormFloat64()/2
			}
			for e, rows := range [][][]string{noise, thin} {
				cell := strconv.Itoa(int(math.Round(min(max(v[e]+2, 0), 4))))
				if i == 0 {
					cell = "q" + strconv.Itoa(j+1)
				}
				rows[i] = append(rows[i], cell)
			}
		}
		if i > 0 {
			noise[i][0], thin[i][0] = strconv.Itoa(i), strconv.Itoa(i)
		}
	}
	o := questionnairetest.Options(questionnairetest.File(t, "x.csv", questionnairetest.CSV(noise)))
	o.Columns.Confounds, o.Factors, o.Betas = nil, nil, nil
	for _, method := range []string{model.MethodICQF, model.MethodFA} {
		o.Method = method
		r, f := rankAndFit(t, o)
		const no = "parallel analysis finds no factors"
		if *r.Parallel.Suggested != 0 || !says(r.Warnings, no) || !says(f.Unsure, no) {
			t.Errorf("%s: rank warns %q, fit %q", method, r.Warnings, f.Unsure)
		}
		if followed := map[string]string{model.MethodICQF: model.CrossValidation}[method]; r.Followed != followed ||
			f.Summary.Followed != followed {
			t.Errorf("%s: rank follows %q, fit %q", method, r.Followed, f.Summary.Followed)
		}
	}
	o.Input = questionnairetest.File(t, "y.csv", questionnairetest.CSV(thin))
	f, err := fit.Fit(t.Context(), o)
	if err != nil || !says(f.Doubts, "factor2 is uncertain, as fewer than 3 items load on it more than on others: "+
		"q7, q8") {
		t.Errorf("of two like items fit warns %q (%v)", f.Doubts, err)
	}
}
