package sonmf

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

func random(stream uint64, rows, cols int) *mat.Dense {
	source := rand.New(rand.NewPCG(1, stream))
	m := mat.NewDense(rows, cols, nil)
	m.Apply(func(_, _ int, _ float64) float64 { return source.NormFloat64() }, m)
	return m
}

func orthonormal(t *testing.T, stream uint64, p, k int) *mat.Dense {
	t.Helper()
	f := random(stream, p, k)
	if err := linalg.Threads(0).PolarTo(f, f); err != nil {
		t.Fatal(err)
	}
	return f
}

// exactFit returns X = G·Fᵀ with G ≥ 0 and orthonormal F: the minimum 0 is at F.
func exactFit(t *testing.T) (x *mat.Dense, topics *mat.Dense) {
	t.Helper()
	topics = orthonormal(t, 1, 20, 3)
	scores := random(2, 30, 3)
	scores.Apply(func(_, _ int, v float64) float64 { return math.Abs(v) }, scores)
	m := mat.NewDense(30, 20, nil)
	m.Mul(scores, topics.T())
	return m, topics
}

func steps() []Step { return []Step{StepExtrapolated, StepExact, StepCayley} }

func solve(t *testing.T, x mat.Matrix, settings solver.Settings, s Settings) *solver.Result {
	t.Helper()
	m, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	settings.RelTol = solver.TolOrOff(settings.RelTol)
	r, err := solver.Solve(t.Context(), x, settings, m)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// At a minimum every change is rounding: it is neither a failed search nor a step.
func TestStartAtMinimumIsStationary(t *testing.T) {
	t.Parallel()
	x, topics := exactFit(t)
	for _, step := range steps() {
		r := solve(t, x, solver.Settings{Rank: 3, StartTopics: topics}, Settings{Step: step})
		if r.Status != solver.Stationary || r.Iterations > 1 {
			t.Errorf("%s: status %v after %d updates, want stationary at once", step, r.Status, r.Iterations)
		}
		if r.Objective > 1e-20*mat.Norm(x, 2)*mat.Norm(x, 2) {
			t.Errorf("%s: objective %g, want 0", step, r.Objective)
		}
	}
}

// Without tolerances a run ends by itself when only rounding is left, and its objective is that of its factors.
func TestEndsAtRounding(t *testing.T) {
	t.Parallel()
	x := random(3, 25, 15)
	for _, step := range steps() {
		r := solve(t, x, solver.Settings{Rank: 3, MaxIter: 100000}, Settings{Step: step})
		if r.Status != solver.Stationary {
			t.Errorf("%s: status %v after %d updates", step, r.Status, r.Iterations)
		}
		if want := solver.SquaredResidual(x, r.Topics, r.Scores); r.Objective != want || r.Objective < 1 {
			t.Errorf("%s: objective %g, of its factors %g", step, r.Objective, want)
		}
	}
}

// liar multiplies by a wrong Xᵀ: its gradients promise a descent that does not exist.
type liar struct{ linalg.Dense }

func (l liar) MulTransTo(dst, d *mat.Dense) {
	l.Dense.MulTransTo(dst, d)
	p, _ := dst.Dims()
	rows := mat.DenseCopyOf(dst)
	for j := range p {
		dst.SetRow(j, rows.RawRowView(p-1-j))
	}
	dst.Scale(0.1, dst)
}

// A search that fails has its own status: the iterate and τ are kept, and the objective is not 0.
func TestFailedSearchIsAStatus(t *testing.T) {
	t.Parallel()
	x := random(4, 12, 8)
	x.Apply(func(_, _ int, v float64) float64 { return math.Abs(v) }, x)
	topics := orthonormal(t, 5, 8, 2)
	s := newCayleyState(liar{linalg.Dense{Dense: x}}, mat.DenseCopyOf(topics), 0.5)
	tau, objective := s.tau, s.objective
	if got := s.Update(); got != solver.SearchFailed {
		t.Fatalf("status %v, want search-failed", got)
	}
	if s.tau != tau || s.objective != objective || !mat.Equal(s.topics, topics) {
		t.Errorf("after a failed search: τ %g, objective %g; were %g and %g", s.tau, s.objective, tau, objective)
	}
	if err := solver.SearchFailed.Err(); err == nil || !solver.SearchFailed.Early() {
		t.Errorf("search-failed: error %v", err)
	}
}

// Whatever the first step length, every iterate is orthonormal and the run is not stopped by tiny steps.
func TestFirstStepLength(t *testing.T) {
	t.Parallel()
	x := random(6, 25, 15)
	want := solve(t, x, solver.Settings{Rank: 4, MaxIter: 3000, RelTol: 1e-9}, Settings{Step: StepCayley}).Objective
	for _, tau := range []float64{1e-12, 1e-3, 0.5, 1e8} {
		r := solve(t, x, solver.Settings{Rank: 4, MaxIter: 3000, RelTol: 1e-9}, Settings{Step: StepCayley, Tau: tau})
		if r.OrthogonalityResidual > maxDrift*maxDrift {
			t.Errorf("tau %g: orthogonality residual %g", tau, r.OrthogonalityResidual)
		}
		if r.Status.Early() || r.Objective > 1.02*want {
			t.Errorf("tau %g: status %v, objective %g; by the default %g", tau, r.Status, r.Objective, want)
		}
	}
}

// Topics that have drifted are made orthonormal by the next step.
func TestDriftIsRepaired(t *testing.T) {
	t.Parallel()
	x := random(7, 30, 20)
	topics := orthonormal(t, 8, 20, 4)
	topics.Scale(1+1e-7, topics)
	s := newCayleyState(linalg.OperatorOf(x, 0), topics, 0)
	if got := s.Update(); got != solver.NotTerminated {
		t.Fatalf("status %v", got)
	}
	var gram mat.Dense
	gram.Mul(s.topics.T(), s.topics)
	if drift := linalg.DistanceFromIdentity(&gram); drift > maxDrift {
		t.Errorf("topics are orthonormal to %g", drift)
	}
}

// Y(τ) by the small system is (I + (τ/2)S)⁻¹(I − (τ/2)S)F with the p×p matrix S = RFᵀ − FRᵀ, and the slope of the
// objective along it is −‖S‖²/2.
func TestCayleyCurve(t *testing.T) {
	t.Parallel()
	const p, k = 12, 3
	x := random(9, 15, p)
	topics := orthonormal(t, 10, p, k)
	s := newCayleyState(linalg.OperatorOf(x, 0), mat.DenseCopyOf(topics), 0)
	if got := s.Update(); got != solver.NotTerminated {
		t.Fatalf("status %v", got)
	}

	var skew, half mat.Dense
	skew.Mul(s.gradient, topics.T())
	half.Mul(topics, s.gradient.T())
	skew.Sub(&skew, &half)
	curve := func(tau float64) *mat.Dense {
		left, right := mat.NewDense(p, p, nil), mat.NewDense(p, p, nil)
		for i := range p {
			for j := range p {
				left.Set(i, j, tau/2*skew.At(i, j))
				right.Set(i, j, -tau/2*skew.At(i, j))
			}
			left.Set(i, i, 1)
			right.Set(i, i, 1)
		}
		y := mat.NewDense(p, k, nil)
		y.Mul(right, topics)
		if err := y.Solve(left, y); err != nil {
			t.Fatal(err)
		}
		return y
	}
	if d := mat.NewDense(p, k, nil); true {
		d.Sub(curve(s.tau/2), s.topics) // tau was doubled by the accepted step
		if got := mat.Norm(d, 2); got > 1e-12 {
			t.Errorf("the step is %g from the curve", got)
		}
	}
	const h = 1e-6
	// The gradient is in units of s.unit, and so is τ inversely: their product is not.
	slope := (solver.SquaredResidual(x, curve(h), s.scores) - solver.SquaredResidual(x, curve(-h), s.scores)) / (2 * h)
	norm := mat.Norm(&skew, 2)
	if want := -s.unit * norm * norm / 2; math.Abs(slope/want-1) > 1e-6 {
		t.Errorf("slope %g by differences, want %g", slope, want)
	}
}

// The gradient of ‖X − GFᵀ‖² in F is 2(F·GᵀG − XᵀG).
func TestGradient(t *testing.T) {
	t.Parallel()
	x := random(11, 9, 7)
	topics := orthonormal(t, 12, 7, 2)
	s := newCayleyState(linalg.OperatorOf(x, 0), mat.DenseCopyOf(topics), 0)
	s.Update()
	const h = 1e-6
	for j := range 7 {
		for c := range 2 {
			at := func(step float64) float64 {
				moved := mat.DenseCopyOf(topics)
				moved.Set(j, c, moved.At(j, c)+step)
				return solver.SquaredResidual(x, moved, s.scores)
			}
			want := (at(h) - at(-h)) / (2 * h)
			if got := s.unit * s.gradient.At(j, c); math.Abs(got-want) > 1e-6*mat.Norm(x, 2)*mat.Norm(x, 2) {
				t.Errorf("gradient[%d, %d] = %g, by differences %g", j, c, got, want)
			}
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, s := range []Settings{{Step: "newton"}, {Tau: -1}, {Tau: math.NaN()}, {Tau: math.Inf(1)}} {
		if _, err := New(s); !errors.Is(err, solver.ErrSettings) {
			t.Errorf("New(%+v): error %v", s, err)
		}
	}
}
