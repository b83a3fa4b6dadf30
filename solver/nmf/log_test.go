package nmf

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
)

// Ones that are nearly certain have an accurate loss, not the rounding error of a difference.
func TestLogNMFOfSaturatedOnes(t *testing.T) {
	t.Parallel()
	one := mat.NewDense(1, 1, []float64{1})
	for _, size := range []float64{5, 40, 700} {
		r, err := solver.Solve(t.Context(), one, solver.Settings{
			Rank: 1, MaxIter: 1, StartTopics: mat.NewDense(1, 1, []float64{1}),
			StartScores: mat.NewDense(1, 1, []float64{size}),
		}, LogNMF{})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := r.Trace[0].Objective, math.Log1p(math.Exp(-size)); !(math.Abs(got/want-1) <= 1e-14) {
			t.Errorf("log-odds of %g cost %g, want %g", size, got, want)
		}
	}
}
