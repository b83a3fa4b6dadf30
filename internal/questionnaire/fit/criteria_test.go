package fit_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

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
	s, err := o.Begin()
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

// A criterion that cannot be computed has a reason, and no error; a context that ends is an error.
func TestNoCriterion(t *testing.T) {
	t.Parallel()
	o := questionnairetest.Options(questionnairetest.File(t, "x.csv",
		questionnairetest.CSV(questionnairetest.Rows(1))))
	s, err := o.Begin()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := o.Parallel(ctx, s); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	if _, err := o.MAP(ctx, s); !errors.Is(err, context.Canceled) {
		t.Errorf("error of MAP %v, want the context's", err)
	}
	n, _ := s.Answers.Dims()
	s.Answers = mat.DenseCopyOf(s.Answers.Slice(0, n, 0, 1))
	if m, err := o.MAP(t.Context(), s); err != nil || m.Suggested != nil || m.Reason == "" || m.Curve == nil {
		t.Errorf("one item has %+v (%v)", m, err)
	}
	for i := range n {
		s.Answers.Set(i, 0, 1)
	}
	if p, err := o.Parallel(t.Context(), s); err != nil || p.Suggested != nil || p.Reason == "" ||
		p.Eigenvalues == nil {
		t.Errorf("an item without variance has %+v (%v)", p, err)
	}
}
