package solver_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/matrix"
)

// script is a method whose objectives are given. It ends with a status when they are used up.
type script struct {
	objectives []float64
	end        solver.Status
	at         int
}

func (s *script) Name() string { return "script" }

func (s *script) Start(context.Context, *solver.Problem) (solver.State, error) { return s, nil }

func (s *script) Update() solver.Status {
	if s.at+1 == len(s.objectives) {
		return s.end
	}
	s.at++
	return solver.NotTerminated
}

func (s *script) Objective() float64 { return s.objectives[s.at] }

func (s *script) Factors() (topics, scores *mat.Dense) {
	return mat.NewDense(2, 1, []float64{1, 0}), mat.NewDense(2, 1, nil)
}

func (s *script) Finish() (topics, scores *mat.Dense, objective float64) {
	topics, scores = s.Factors()
	return topics, scores, s.Objective()
}

func TestEndOfIteration(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		objectives []float64
		end        solver.Status
		settings   solver.Settings
		iterations int
		status     solver.Status
	}{
		"one small change is not the end": {
			[]float64{10, 9.99, 5, 4.99, 4.98, 4.97, 4.96}, 0, solver.Settings{RelTol: 0.01}, 5, solver.Converged,
		},
		"absolute change of the mean": {
			[]float64{10, 9.99, 9.98, 9.97, 9.96}, 0, solver.Settings{AbsTol: 0.01}, 3, solver.Converged,
		},
		"just above the absolute tolerance": {
			[]float64{10, 9.9, 9.8, 9.7}, solver.Stationary, solver.Settings{AbsTol: 0.02}, 3, solver.Stationary,
		},
		"a rise is a change": {
			[]float64{10, 11, 12, 13}, solver.Stationary, solver.Settings{RelTol: 0.01}, 3, solver.Stationary,
		},
		"no tolerance": {
			[]float64{10, 10, 10, 10, 10}, solver.Stationary, solver.Settings{}, 4, solver.Stationary,
		},
		"limit": {
			[]float64{10, 9, 8, 7}, 0, solver.Settings{MaxIter: 2}, 2, solver.IterationLimit,
		},
		"not a number is no convergence": {
			[]float64{10, 9, nan, nan, nan, nan}, 0, solver.Settings{RelTol: 1}, 2, solver.NonFinite,
		},
		"infinite":                  {[]float64{10, inf}, 0, solver.Settings{RelTol: 1}, 1, solver.NonFinite},
		"not a number at the start": {[]float64{nan, 1}, 0, solver.Settings{}, 0, solver.NonFinite},
		"not a number at the limit": {[]float64{10, nan}, 0, solver.Settings{MaxIter: 1}, 1, solver.NonFinite},
		"failed search": {
			[]float64{10, 9}, solver.SearchFailed, solver.Settings{RelTol: 1}, 1, solver.SearchFailed,
		},
		"converged by the last update of it": {
			[]float64{10, 10, 10, 10}, 0, solver.Settings{RelTol: 0.1, MaxIter: 3}, 3, solver.Converged,
		},
	} {
		c.settings.Rank, c.settings.RelTol = 1, solver.TolOrOff(c.settings.RelTol)
		r, err := solver.Solve(t.Context(), mat.NewDense(2, 2, nil), c.settings,
			&script{objectives: c.objectives, end: c.end})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if r.Status != c.status || r.Iterations != c.iterations || len(r.Trace) != c.iterations+1 {
			t.Errorf("%s: %v after %d updates, %d points; want %v after %d", name, r.Status, r.Iterations, len(r.Trace),
				c.status, c.iterations)
		}
		if r.Status.Early() != (r.Status.Err() != nil) {
			t.Errorf("%s: early %v, error %v", name, r.Status.Early(), r.Status.Err())
		}
	}
}

// Zero settings are the defaults: a relative tolerance of 1e-6, and no absolute one.
func TestZeroSettingsConverge(t *testing.T) {
	t.Parallel()
	steady := []float64{10, 9, 9 - 1e-5, 9 - 2e-5, 9 - 2.5e-5, 9 - 3e-5, 9 - 3.5e-5}
	for relTol, want := range map[float64]solver.Status{
		0: solver.Converged, solver.DefaultRelTol: solver.Converged, -1: solver.Stationary,
	} {
		r, err := solver.Solve(t.Context(), mat.NewDense(2, 2, nil), solver.Settings{Rank: 1, RelTol: relTol},
			&script{objectives: steady, end: solver.Stationary})
		if err != nil || r.Status != want {
			t.Errorf("tolerance %v: %v, %v, want %v", relTol, r.Status, err, want)
		}
	}
}

func TestNoMethod(t *testing.T) {
	t.Parallel()
	if _, err := solver.Solve(t.Context(), mat.NewDense(1, 1, []float64{1}), solver.Settings{Rank: 1},
		nil); !errors.Is(err, solver.ErrSettings) {
		t.Errorf("error %v, want %v", err, solver.ErrSettings)
	}
}

func TestCancelledBeforeTheStart(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := solver.Solve(ctx, mat.NewDense(2, 2, nil), solver.Settings{Rank: 1}, &script{objectives: []float64{3, 2}})
	if err != nil || r.Status != solver.Cancelled || r.Iterations != 0 {
		t.Errorf("result %+v, error %v", r, err)
	}
}

func TestStatusNames(t *testing.T) {
	t.Parallel()
	var names []string
	for s := solver.NotTerminated; s <= solver.Cycling; s++ {
		names = append(names, s.String())
	}
	want := []string{
		"not-terminated", "converged", "stationary", "iteration-limit", "cancelled", "stopped",
		"search-failed", "non-finite", "cycling",
	}
	if !slices.Equal(names, want) {
		t.Errorf("names %q, want %q", names, want)
	}
	if s := solver.Status(99); s.String() != "unknown" || !s.Early() || s.Err() == nil {
		t.Errorf("status 99: %v, early %v, error %v", s, s.Early(), s.Err())
	}
}

func TestSquaredResidualOfSparse(t *testing.T) {
	t.Parallel()
	x, err := matrix.NewCSR(3, 2, []int{0, 1, 1, 3}, []int32{1, 0, 1}, []float64{2, -1, 3})
	if err != nil {
		t.Fatal(err)
	}
	topics, scores := mat.NewDense(2, 1, []float64{1, 2}), mat.NewDense(3, 1, []float64{1, 0, 1})
	// Residual rows: (−1, 0), (0, 0), (−2, 1).
	if got := solver.SquaredResidual(x, topics, scores); math.Abs(got-6) > 1e-13 {
		t.Errorf("squared residual %g, want 6", got)
	}
}

// More rows than are held at a time, the last block not full.
func TestSquaredResidualOfDense(t *testing.T) {
	t.Parallel()
	x, topics, scores := uniform(1, 150, 7), uniform(2, 7, 3), uniform(3, 150, 3)
	if got, want := solver.SquaredResidual(x, topics, scores),
		squaredResidual(x, topics, scores); math.Abs(got/want-1) > 1e-13 {
		t.Errorf("squared residual %g, want %g", got, want)
	}
}

func squaredResidual(x, topics, scores *mat.Dense) float64 {
	var fit mat.Dense
	fit.Mul(scores, topics.T())
	fit.Sub(x, &fit)
	norm := mat.Norm(&fit, 2)
	return norm * norm
}
