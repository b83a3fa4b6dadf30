package factorize

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
)

// endsAt is a method without updates whose objective follows from the seed.
type endsAt map[uint64]float64

func (endsAt) Name() string { return "ends-at" }

func (m endsAt) Start(_ context.Context, p *solver.Problem) (solver.State, error) {
	return ended(m[p.Settings.Seed]), nil
}

type ended float64

func (ended) Update() solver.Status { return solver.Stationary }

func (e ended) Objective() float64 { return float64(e) }

func (ended) Factors() (topics, scores *mat.Dense) {
	return mat.NewDense(2, 1, nil), mat.NewDense(3, 1, nil)
}

func (e ended) Finish() (topics, scores *mat.Dense, objective float64) {
	topics, scores = e.Factors()
	return topics, scores, float64(e)
}

// A restart without a finite objective costs no other its result.
func TestRestartsSkipNonFinite(t *testing.T) {
	t.Parallel()
	x := mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 6})
	for name, c := range map[string]struct {
		method endsAt
		want   uint64 // 0 for none
	}{
		"last":  {endsAt{1: 5, 2: 3, 3: math.NaN()}, 2},
		"first": {endsAt{1: math.Inf(1), 2: 4, 3: 4}, 2},
		"all":   {endsAt{1: math.NaN(), 2: math.NaN(), 3: math.Inf(1)}, 0},
	} {
		o := Options{Rank: 1, Seed: 1, Restarts: 3}
		best, err := o.best(t.Context(), x, solver.Settings{Rank: 1, Seed: o.Seed}, c.method)
		if c.want == 0 {
			if err == nil {
				t.Errorf("%s: no error", name)
			}
			continue
		}
		if err != nil || o.SeedKept != c.want || best.Objective != c.method[c.want] {
			t.Errorf("%s: %+v, error %v, want seed %d", name, best, err, c.want)
		}
	}
}

// Seed 0 is the default seed: the restarts after it do not begin with that seed once more.
func TestRestartsFromSeedZero(t *testing.T) {
	t.Parallel()
	x := mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 6})
	o := Options{Rank: 1, Restarts: 2}
	best, err := o.best(t.Context(), x, solver.Settings{Rank: 1}, endsAt{1: 5, 2: 3})
	if err != nil || o.SeedKept != 2 {
		t.Errorf("%+v, error %v, want seed 2", best, err)
	}
}
