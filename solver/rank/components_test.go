package rank_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/rank"
)

// Eigenvalues of components are those of the correlation matrix, with more people than items and with fewer, and a
// parallel analysis of them finds the planted factors.
func TestParallelComponents(t *testing.T) {
	t.Parallel()
	const k = 3
	for _, size := range []struct{ n, p int }{{200, 12}, {40, 60}} {
		random := rand.New(rand.NewPCG(1, 2))
		x := mat.NewDense(size.n, size.p, nil)
		for i := range size.n {
			scores := [k]float64{random.NormFloat64(), random.NormFloat64(), random.NormFloat64()}
			for j := range size.p {
				x.Set(i, j, 5+scores[j%k]+0.5*random.NormFloat64())
			}
		}
		a, err := rank.Parallel(t.Context(), x, rank.ParallelSettings{Components: true, Draws: 20})
		if err != nil {
			t.Fatal(err)
		}
		var r mat.SymDense
		stat.CorrelationMatrix(&r, x, nil)
		var e mat.EigenSym
		e.Factorize(&r, false)
		want := e.Values(nil)
		slices.Reverse(want)
		for m, v := range want {
			if math.Abs(a.Eigenvalues[m]-v) > 1e-10 { // rounding of sums of squares
				t.Errorf("%d×%d: eigenvalue %d is %v, want %v", size.n, size.p, m, a.Eigenvalues[m], v)
			}
		}
		if a.Suggested != k || a.Correlations != nil {
			t.Errorf("%d×%d: suggested %d of %d", size.n, size.p, a.Suggested, k)
		}
		x.Set(0, 0, math.NaN())
		if a, err = rank.Parallel(t.Context(), x, rank.ParallelSettings{Components: true, Draws: 20}); err != nil ||
			a.Suggested != k {
			t.Errorf("%d×%d: an answer missing: %v", size.n, size.p, err)
		}
	}
	x := mat.NewDense(3, 2, []float64{1, 2, 1, 3, 1, 5})
	for _, s := range []rank.ParallelSettings{
		{Components: true}, {Components: true, Correlation: factoranalysis.Polychoric},
	} {
		if _, err := rank.Parallel(t.Context(), x, s); !errors.Is(err, solver.ErrSettings) {
			t.Errorf("%+v: error %v", s, err)
		}
	}
}
