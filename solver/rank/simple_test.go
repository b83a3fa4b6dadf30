package rank_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/rank"
)

// Among 200 participants, parallel analysis misses factors that correlate by .7; simple structures do not. They find no
// factors that are not there, as many among ten times the participants, and none that are nearly the same.
func TestSimpleStructures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n, p, k   int
		phi       float64
		want      int
		undercuts bool // parallel analysis finds fewer
	}{
		{200, 25, 5, 0.7, 5, true},
		{200, 18, 3, 0.4, 3, false},
		{200, 18, 1, 0, 1, false},
		{2000, 18, 3, 0.4, 3, false},
		{2000, 18, 3, 0.95, 1, false},
	} {
		x := items(c.n, c.p, c.k, c.phi)
		r, err := factoranalysis.Correlate(t.Context(), x, factoranalysis.Pearson, 1)
		if err != nil {
			t.Fatal(err)
		}
		k, curve, err := rank.SimpleStructures(t.Context(), r, c.n)
		if err != nil || k != c.want {
			t.Errorf("%+v: %d factors (%v): %+v", c, k, err, curve)
		}
		a, err := rank.Parallel(t.Context(), x, rank.ParallelSettings{Strict: true})
		if err != nil || c.undercuts && a.Suggested >= k {
			t.Errorf("%+v: parallel analysis finds %d factors (%v)", c, a.Suggested, err)
		}
	}
}

// Follow-ups that only some are asked have no correlation with their question, which is constant among those: 0 in the
// place of it would make factors.
func TestSimpleStructuresOfBranches(t *testing.T) {
	t.Parallel()
	const n, branches, asked = 2000, 4, 2
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 2))
		x := mat.NewDense(n, 2*branches*(1+asked), nil)
		for i := range n {
			general := r.NormFloat64()
			row := x.RawRowView(i)[:0]
			for range 2 {
				factor := math.Sqrt(.4)*general + math.Sqrt(.6)*r.NormFloat64()
				for range branches {
					yes := .8*factor+.6*r.NormFloat64() > 0
					row = append(row, map[bool]float64{true: 1}[yes])
					for range asked {
						v := math.Round(.8*factor + .6*r.NormFloat64())
						if !yes {
							v = math.NaN()
						}
						row = append(row, v)
					}
				}
			}
		}
		c, err := factoranalysis.Correlate(t.Context(), x, factoranalysis.Pearson, 1)
		if err != nil {
			t.Fatal(err)
		}
		if k, _, err := rank.SimpleStructures(t.Context(), c, c.Fewest); k != 2 || len(c.Unknown) != 2*branches*asked {
			t.Errorf("%d factors with %d unknown correlations (%v)", k, len(c.Unknown), err)
		}
	}
}
