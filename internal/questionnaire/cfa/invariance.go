package cfa

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
)

// The steps of invariance, each with the equalities over groups of those before.
const (
	Configural = "configural"
	Thresholds = "thresholds"
	Loadings   = "loadings"
	Intercepts = "intercepts"
)

// Step is a model of invariance.
type Step struct {
	Model string   `json:"model"`
	Fit   Measures `json:"fit"`
	// Difference is that to the step before; nil for the first.
	Difference *Difference `json:"difference,omitempty"`
}

// Difference tests the equalities that a step adds. P of WLSMV is scaled.
type Difference struct {
	ChiSquare questionnaire.Figure `json:"chi_square"`
	DF        int                  `json:"df"`
	P         questionnaire.Figure `json:"p"`
	CFI       questionnaire.Figure `json:"cfi"`
}

// steps returns the names of the steps up to one, for numbers or ordered answers.
func steps(upTo string, ordered bool) ([]string, error) {
	all := []string{Configural, Loadings, Intercepts}
	if ordered {
		all = []string{Configural, Thresholds, Loadings, Intercepts}
	}
	at := slices.Index(all, upTo)
	if at < 0 {
		return nil, questionnaire.Optionf("invariance %q is not one of %v; thresholds are those of ordered items", upTo,
			all)
	}
	return all[:at+1], nil
}

// equalities returns what a step makes equal.
func equalities(name string) step {
	return step{
		thresholds: name != Configural, loadings: name == Loadings || name == Intercepts,
		intercepts: name == Intercepts,
	}
}

// estimator fits the model with some equalities over groups.
type estimator interface {
	fit(ctx context.Context, equal step) (*fitted, error)
	// difference tests the model of more equalities against that of fewer.
	difference(more, fewer *fitted) test
}

// invariance fits the steps, and returns the last.
func (r *Result) invariance(ctx context.Context, data estimator, names []string) (last *fitted, err error) {
	for _, name := range names {
		f, err := data.fit(ctx, equalities(name))
		if err != nil {
			return nil, fmt.Errorf("step %s: %w", name, err)
		}
		s := Step{Model: name, Fit: f.measures}
		if last != nil {
			t := data.difference(f, last)
			s.Difference = &Difference{
				ChiSquare: questionnaire.Figure(t.chiSquare), DF: t.df, P: questionnaire.Figure(t.p()),
				CFI: f.measures.CFI - last.measures.CFI,
			}
		}
		r.Steps, last = append(r.Steps, s), f
	}
	return last, nil
}

func (d *normalData) difference(more, fewer *fitted) test {
	return test{more.test.chiSquare - fewer.test.chiSquare, more.test.df - fewer.test.df}
}

// difference scales the difference of two sums of squares as scaledTest does. Its form is the projection on what the
// Jacobian of the model with fewer equalities spans, less that on the part that the other's spans: A. Satorra, "Scaled
// and adjusted restricted tests in multi-sample analysis of moment structures", 2000.
func (d *orderedData) difference(more, fewer *fitted) test {
	o := fewer.objective.(*ordered)
	var inner, part mat.Dense
	inner.Mul(fewer.axes.T(), more.jacobian)
	part.Mul(fewer.axes, &inner)
	gram := mat.NewSymDense(more.free, nil)
	gram.SymOuterK(1, part.T())
	t := test{more.test.chiSquare - fewer.test.chiSquare, more.test.df - fewer.test.df}
	inverse, ok := scaledInverse(gram, 0)
	if !ok {
		return test{math.NaN(), t.df}
	}
	within := axes(&part, inverse)
	var outer, both, small mat.Dense
	turned, turnedWithin := o.correlations(fewer.axes), o.correlations(within)
	outer.Mul(fewer.axes.T(), turned)
	both.Mul(fewer.axes.T(), turnedWithin)
	small.Mul(within.T(), turnedWithin)
	squared := func(m *mat.Dense) float64 { return math.Pow(mat.Norm(m, 2), 2) }
	return scaledTest(t, mat.Trace(&outer)-mat.Trace(&small), squared(&outer)-2*squared(&both)+squared(&small))
}
