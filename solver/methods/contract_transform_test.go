package methods_test

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
)

// newRows checks the scores of new rows.
func (s *suite) newRows(t *testing.T) {
	x := s.noisy(50, 40)
	settings, tol := solver.Settings{Rank: 2, MaxIter: 20000, RelTol: cmp.Or(s.relTol, 1e-14)},
		cmp.Or(s.maxTransform, 1e-6)
	if s.domain == solver.Binary {
		// Fitted topics may separate a row, which then has no minimum. Coins and given topics do not; the scores are
		// those of the settled start.
		random := rand.New(rand.NewPCG(1, 2))
		x.Apply(func(_, _ int, _ float64) float64 { return float64(random.IntN(2)) }, x)
		settings.StartTopics = mat.NewDense(40, 2, nil)
		settings.StartTopics.Apply(func(_, _ int, _ float64) float64 { return random.Float64() }, settings.StartTopics)
		settings.Recorder, tol = stopper{with: solver.ErrStop}, settledShare
	}
	r := s.solve(t, x, settings)
	got, err := r.Transform(x)
	if err != nil {
		t.Fatalf("Transform: %v", err)
	}
	if d, size := distance(got, r.Scores), mat.Norm(r.Scores, 2); d > tol*size {
		t.Errorf("fitted rows: scores differ by %g of %g", d, size)
	}
	if s.nonNegativeScores && mat.Min(got) < 0 {
		t.Errorf("a score is %g", mat.Min(got))
	}
	sparse, err := r.Transform(csr(t, x))
	if err != nil {
		t.Fatalf("Transform: %v", err)
	}
	if d := distance(got, sparse); d > 1e-9*mat.Norm(got, 2) {
		t.Errorf("sparse rows: scores differ by %g", d)
	}
	single, err := r.Transform(x.Slice(7, 8, 0, 40))
	if err != nil {
		t.Fatalf("Transform: %v", err)
	}
	if row := got.Slice(7, 8, 0, 2); !mat.Equal(single, row) {
		t.Errorf("row 7 by itself has scores %v, among others %v", mat.Formatted(single), mat.Formatted(row))
	}
	if _, err := r.Transform(mat.NewDense(2, 39, nil)); !errors.Is(err, solver.ErrShape) {
		t.Errorf("rows of 39 terms: error %v", err)
	}
	bad := mat.DenseCopyOf(x)
	bad.Set(3, 2, math.NaN())
	var at *solver.NonFiniteError
	if _, err := r.Transform(bad); !errors.As(err, &at) || at.Row != 3 || at.Col != 2 {
		t.Errorf("NaN in row 3, column 2: error %v", err)
	}
}

// settledShare is how far settled scores of binary methods may be from the best ones.
const settledShare = 1e-2

// stopper is a Recorder that ends a run after this many updates.
type stopper struct {
	after int
	with  error
}

func (s stopper) Record(it solver.Iterate) error {
	if it.Iteration == s.after {
		return s.with
	}
	return nil
}

// stopped ends runs by their recorder.
func (s *suite) stopped(t *testing.T) {
	x := s.noisy(30, 20)
	r, err := solver.Solve(t.Context(), x, solver.Settings{Rank: 3, RelTol: -1, Recorder: stopper{2, solver.ErrStop}},
		s.method(t))
	if err != nil {
		t.Fatalf("Solve: %v", err)
	}
	if r.Status != solver.Stopped || r.Iterations != 2 || len(r.Trace) != 3 {
		t.Errorf("status %v after %d updates, want stopped after 2", r.Status, r.Iterations)
	}
	s.result(t, x, r)
	failure := errors.New("disk full")
	if r, err := solver.Solve(t.Context(), x, solver.Settings{Rank: 3, RelTol: -1, Recorder: stopper{2, failure}},
		s.method(t)); r != nil || !errors.Is(err, failure) {
		t.Errorf("result %v, error %v, want %v", r, err, failure)
	}
}
