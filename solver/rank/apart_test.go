package rank_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/rank"
)

// forms returns the answers of 1000 participants to 18 items of k factors that correlate .4. Half of them lack the
// first six of these items, the others the last six, so that 36 pairs are never answered together.
func forms(k int, seed uint64) *mat.Dense {
	apart := []int{6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}
	if k == 2 {
		apart = []int{3, 4, 5, 12, 13, 14, 6, 7, 8, 15, 16, 17}
	}
	r := rand.New(rand.NewPCG(seed, 2))
	x := mat.NewDense(1000, 18, nil)
	for i := range 1000 {
		general, factors := r.NormFloat64(), make([]float64, k)
		for t := range factors {
			factors[t] = math.Sqrt(.4)*general + math.Sqrt(.6)*r.NormFloat64()
		}
		for j := range 18 {
			l := .5 + .05*float64(j%7)
			x.Set(i, j, l*factors[j*k/18]+math.Sqrt(1-l*l)*r.NormFloat64())
		}
		for _, j := range apart[i%2*6:][:6] {
			x.Set(i, j, math.NaN())
		}
	}
	return x
}

// Items that nobody answered together invent no factors, by full information or by pairs.
func TestItemsApartInventNoFactors(t *testing.T) {
	t.Parallel()
	for _, kind := range []factoranalysis.Kind{factoranalysis.FullInformation, factoranalysis.Pearson} {
		for s := range 4 {
			k := 1 + s%2
			x := forms(k, uint64(s))
			a := parallel(t, x, rank.ParallelSettings{Correlation: kind, Draws: 30, Jobs: rank.Jobs{Seed: 1}})
			if a.Suggested != k || len(a.Correlations.Unknown) != 36 {
				t.Errorf("%s, %d factors: parallel analysis finds %d, %d pairs apart", kind, k, a.Suggested,
					len(a.Correlations.Unknown))
			}
			squares, _, err := rank.FilledMAP(t.Context(), a.Correlations, 1000)
			if err != nil {
				t.Fatal(err)
			}
			if m := floats.MinIdx(squares); m != k {
				t.Errorf("%s, %d factors: MAP finds %d", kind, k, m)
			}
		}
	}
}
