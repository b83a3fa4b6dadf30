package sonmf_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/matrix"
	"github.com/wardcast/wardcast/solver/sonmf"
)

// summed offers the sums of a matrix alone.
type summed struct {
	matrix.Operator // nil
	x               linalg.Dense
}

func (s summed) Dims() (n, p int)     { return s.x.Dims() }
func (s summed) NormSquared() float64 { return s.x.NormSquared() }

func (s summed) SumsTo(cross, f, e *mat.Dense) (squared float64) {
	positive := func(d *mat.Dense) *mat.Dense {
		w := new(mat.Dense)
		w.Mul(s.x.Dense, d)
		w.Apply(func(_, _ int, v float64) float64 { return max(v, 0) }, w)
		return w
	}
	if f != nil {
		w := positive(f)
		squared = linalg.Dot(w, w)
	}
	cross.Mul(s.x.T(), positive(e))
	return squared
}

// TestSummed: sums over rows give the topics that the matrix gives, rejected steps included.
func TestSummed(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	x := linalg.Dense{Dense: mat.NewDense(60, 30, nil)}
	for i := range x.RawMatrix().Data {
		x.RawMatrix().Data[i] = max(0, random.NormFloat64())
	}
	method, err := sonmf.New(sonmf.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	settings := solver.Settings{Rank: 6, MaxIter: 300, RelTol: 1e-9}
	problem := solver.Problem{X: x, Settings: solver.Settings{Rank: 6, Init: solver.InitSVD, Seed: solver.DefaultSeed}}
	if settings.StartTopics, err = problem.OrthonormalTopics(t.Context()); err != nil {
		t.Fatal(err)
	}
	want, err := solver.Solve(t.Context(), x, settings, method)
	if err != nil {
		t.Fatal(err)
	}
	got, err := solver.Solve(t.Context(), summed{x: x}, settings, method)
	if err != nil {
		t.Fatal(err)
	}
	if got.Iterations != want.Iterations || got.Status != want.Status || want.Iterations < 20 ||
		math.Abs(got.Objective-want.Objective) > 1e-10*want.Objective ||
		!mat.EqualApprox(got.Topics, want.Topics, 1e-9) {
		t.Errorf("%d updates (%v) to %v, want %d (%v) to %v", got.Iterations, got.Status, got.Objective,
			want.Iterations, want.Status, want.Objective)
	}
}
