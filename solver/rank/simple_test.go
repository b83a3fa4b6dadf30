package rank_test

import (
	"testing"

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
		k, curve, err := rank.SimpleStructures(t.Context(), r.R, c.n)
		if err != nil || k != c.want {
			t.Errorf("%+v: %d factors (%v): %+v", c, k, err, curve)
		}
		a, err := rank.Parallel(t.Context(), x, rank.ParallelSettings{Strict: true})
		if err != nil || c.undercuts && a.Suggested >= k {
			t.Errorf("%+v: parallel analysis finds %d factors (%v)", c, a.Suggested, err)
		}
	}
}
