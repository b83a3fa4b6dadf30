package icqf

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestConditionsInTheRange checks the first-order conditions of the whole problem where the range is in the way: with
// the multipliers a, m − r inside the range, and beyond it towards the inside where r is at a bound, the gradient at
// scores and loadings is that of the penalties.
func TestConditionsInTheRange(t *testing.T) {
	t.Parallel()
	data, _, _ := questionnaire(16, 80, 12, 3)
	// Answers at the top of a scale on which the factors would go further, and none below 1.
	data.Answers.Apply(func(_, _ int, v float64) float64 { return min(max(v, 1), 3) }, data.Answers)
	data.Min, data.Max = 1, 3
	s := Settings{Rank: 3, L1: 0.05}
	state := started(t, data, s)
	for range 6000 {
		state.Update()
	}
	const tol = 1e-5
	multipliers, bound := mat.NewDense(80, 12, state.chunks[0].a), 0
	var r, scores, loadings mat.Dense
	r.Mul(state.d, state.bt)
	for i := range 80 {
		for j := range 12 {
			fit, rest := r.At(i, j), multipliers.At(i, j)
			if m := data.Answers.At(i, j); m == m {
				rest -= m - fit
			}
			switch {
			case fit < 1-tol || fit > 3+tol:
				t.Fatalf("cell (%d, %d) is %v", i, j, fit)
			case fit < 1+tol && rest > -tol, fit > 3-tol && rest < tol:
				bound++
			case math.Abs(rest) > tol:
				t.Fatalf("cell (%d, %d) is %v, its multiplier off by %v", i, j, fit, rest)
			}
		}
	}
	if bound < 5 {
		t.Fatalf("%d cells at a bound", bound)
	}
	scores.Mul(multipliers, state.loads)
	loadings.Mul(multipliers.T(), state.d)
	check := func(name string, x mat.Matrix, gradient *mat.Dense, weight, upper float64) {
		rows, cols := gradient.Dims()
		for i := range rows {
			for j := range cols {
				v, g := x.At(i, j), gradient.At(i, j)-weight
				if v > 0 && g < -tol*100*weight || v < upper && g > tol*100*weight {
					t.Errorf("%s (%d, %d) = %v has gradient %g", name, i, j, v, g)
				}
			}
		}
	}
	check("score", state.d, &scores, s.L1, 1)
	check("loading", state.bt.T(), &loadings, state.loadings.l1, math.Inf(1))
}
