package linalg

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestBoxPropagatesNaN: a NaN in G, in c or in x becomes NaN in its own columns, at every level, and in no other.
func TestBoxPropagatesNaN(t *testing.T) {
	t.Parallel()
	const k, m, hit = 3, 24, 13
	for _, upper := range []float64{1, math.Inf(1)} {
		for name, spoil := range map[string]func(gram, x, c *mat.Dense){
			"c":                 func(_, _, c *mat.Dense) { c.Set(1, hit, math.NaN()) },
			"x":                 func(_, x, _ *mat.Dense) { x.Set(1, hit, math.NaN()) },
			"infinite c":        func(_, _, c *mat.Dense) { c.Set(2, hit, math.Inf(1)) }, // of no curvature: 0·Inf
			"differing x":       func(_, x, _ *mat.Dense) { x.Set(0, hit, math.Inf(1)); x.Set(1, hit, math.Inf(1)) },
			"G":                 func(gram, _, _ *mat.Dense) { gram.Set(0, 1, math.NaN()) },
			"the diagonal of G": func(gram, _, _ *mat.Dense) { gram.Set(1, 1, math.NaN()) },
		} {
			for _, l := range levels() {
				gram, x, c := mat.NewDense(k, k, []float64{2, -1, 0, -1, 2, 0, 0, 0, 0}), mat.NewDense(k, m, nil),
					mat.NewDense(k, m, nil)
				for j := range m {
					x.SetCol(j, []float64{0.25, 0.5, 0.75})
					c.SetCol(j, []float64{float64(j) / m, 1, 0})
				}
				spoil(gram, x, c)
				l.improve(&Box{Gram: gram, Upper: upper, Rounds: 2}, x, c)
				for j := range m {
					all := name == "G" || name == "the diagonal of G"
					if got := slices.ContainsFunc(mat.Col(nil, j, x), math.IsNaN); got != (all || j == hit) {
						t.Errorf("%s, NaN in %s, upper=%v: column %d is %v", l.name, name, upper, j, mat.Col(nil, j, x))
						break
					}
				}
			}
		}
	}
}

// TestSurrogatePropagatesNaN: a fit or a multiplier that is NaN makes both of its cell NaN at every level, and the
// squares too if it is the fit of an answer.
func TestSurrogatePropagatesNaN(t *testing.T) {
	t.Parallel()
	const n = 19 // two groups of the assembly's eight and a rest
	check := func(l *kernels, hit int, answered, inFit bool) {
		answers, fit, multipliers := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range n {
			answers[i], fit[i] = 1, 0.5
		}
		if !answered {
			answers[hit] = math.NaN()
		}
		if inFit {
			fit[hit] = math.NaN()
		} else {
			multipliers[hit] = math.NaN()
		}
		squares := l.step(&Surrogate{Rho: 1.5, High: 2}, answers, fit, multipliers)
		if math.IsNaN(squares) != (inFit && answered) {
			t.Errorf("%s: answered %t, fit %t: squares %v", l.name, answered, inFit, squares)
		}
		for i := range n {
			if math.IsNaN(fit[i]) != (i == hit) || math.IsNaN(multipliers[i]) != (i == hit) {
				t.Errorf("%s: answered %t, fit %t, cell %d: %v and %v in cell %d", l.name, answered, inFit, hit, fit[i],
					multipliers[i], i)
			}
		}
	}
	for _, l := range levels() {
		for hit := range n {
			for _, answered := range []bool{true, false} {
				check(l, hit, answered, true)
				check(l, hit, answered, false)
			}
		}
	}
}
