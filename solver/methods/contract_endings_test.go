package methods_test

import (
	"context"
	"math"
	"testing"

	"github.com/wardcast/wardcast/solver"
)

// limits checks that updates are counted as promised.
func (s *suite) limits(t *testing.T) {
	x := s.noisy(30, 20)
	for _, limit := range []int{1, 2, 7} {
		r := s.solve(t, x, solver.Settings{Rank: 3, MaxIter: limit})
		if r.Iterations != limit || len(r.Trace) != limit+1 || r.Status != solver.IterationLimit {
			t.Errorf("MaxIter %d: %d updates, %d points, status %v", limit, r.Iterations, len(r.Trace), r.Status)
		}
	}
	r := s.solve(t, x, solver.Settings{Rank: 3, AbsTol: 1e300})
	if r.Iterations != 3 || r.Status != solver.Converged {
		t.Errorf("AbsTol that everything meets: %d updates, status %v, want 3 and converged", r.Iterations, r.Status)
	}
}

// cancellation ends the context inside a run.
func (s *suite) cancellation(t *testing.T) {
	x := s.noisy(30, 20)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	best := math.Inf(1)
	r, err := solver.Solve(ctx, x, solver.Settings{Rank: 3, RelTol: -1, Recorder: check(func(it solver.Iterate) {
		best = min(best, it.Objective)
		if !s.monotone {
			best = it.Objective
		}
		if it.Iteration == 4 {
			cancel()
		}
	})}, s.method(t))
	if err != nil {
		t.Fatalf("Solve: %v", err)
	}
	if r.Status != solver.Cancelled || r.Iterations != 4 || r.Status.Err() == nil {
		t.Errorf("status %v after %d updates, want cancelled after 4", r.Status, r.Iterations)
	}
	if r.Objective > best+s.rounding(x) {
		t.Errorf("objective %g, the best iterate had %g", r.Objective, best)
	}
	s.result(t, x, r)
}

// asked is a context that ends after this many calls of Err.
type asked struct {
	context.Context
	left, after int
}

func (c *asked) Err() error {
	if c.left > 0 {
		c.left--
		return nil
	}
	c.after++
	return context.Canceled
}

// maxAsked is the number of times that a run may ask again after its context has ended: once for each loop of the
// start.
const maxAsked = 12

// cancelledStart ends the context before the start, and after each of its updates.
func (s *suite) cancelledStart(t *testing.T) {
	x := s.noisy(30, 20)
	given := s.solve(t, x, solver.Settings{Rank: 3, MaxIter: 2})
	for name, settings := range map[string]solver.Settings{
		"none":   {Rank: 3},
		"kmeans": {Rank: 3, Init: solver.InitKMeans},
		"topics": {Rank: 3, StartTopics: given.Topics},
		"scores": {Rank: 3, StartScores: given.Scores},
	} {
		updates := 0
		for ; ; updates++ {
			ctx := &asked{Context: t.Context(), left: updates}
			r, err := solver.Solve(ctx, x, settings, s.method(t))
			if err != nil {
				t.Fatalf("%s, %d updates: %v", name, updates, err)
			}
			if r.Iterations > 0 {
				break
			}
			if r.Status != solver.Cancelled || ctx.after > maxAsked {
				t.Errorf("%s, %d updates: status %v, asked %d times", name, updates, r.Status, ctx.after)
			}
			s.result(t, x, r)
		}
		// The last question is that of the first update of the run.
		if s.settledStart && name == "topics" && updates < 3 {
			t.Errorf("%s: the start asks %d times whether it shall go on", name, updates-1)
		}
	}
}
