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

// coins returns an n×p matrix of 0 and 1, where 1 has the given share.
func coins(stream uint64, n, p int, share float64) *mat.Dense {
	x := random(stream, n, p)
	cut := math.Sqrt2 * math.Erfinv(2*share-1)
	x.Apply(func(_, _ int, v float64) float64 {
		if v < cut {
			return 1
		}
		return 0
	}, x)
	return x
}

func positive(stream uint64, n, k int) *mat.Dense {
	scores := random(stream, n, k)
	scores.Apply(func(_, _ int, v float64) float64 { return math.Abs(v) }, scores)
	return scores
}

func solveBinary(t *testing.T, x mat.Matrix, settings solver.Settings, s BinarySettings) *solver.Result {
	t.Helper()
	m, err := NewBinary(s)
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

// From saturated scores, where curvatures vanish and exp(m) overflows, no step explodes: the objective falls, and the
// reported one is that of the factors.
func TestBinaryFromSaturatedScores(t *testing.T) {
	t.Parallel()
	x := coins(23, 20, 12, 0.3)
	for _, step := range []BinaryStep{BinaryStepQuasiNewton, BinaryStepFixed} {
		for _, size := range []float64{1e2, 1e4, 1e150} {
			scores := positive(24, 20, 3)
			scores.Scale(size, scores)
			r := solveBinary(t, x,
				solver.Settings{Rank: 3, MaxIter: 300, StartTopics: orthonormal(t, 25, 12, 3), StartScores: scores},
				BinarySettings{Step: step})
			first := r.Trace[0].Objective
			if r.Status == solver.NonFinite || !(r.Objective > 0) || !(r.Objective <= first) {
				t.Errorf("%s from scores of %g: status %v, objective %g from %g", step, size, r.Status,
					r.Objective, first)
			}
			if step == BinaryStepQuasiNewton && size < 1e5 && r.MeanObjective > math.Ln2 {
				t.Errorf("from scores of %g: mean objective %g, without topics it is log 2", size, r.MeanObjective)
			}
		}
	}
}

// A fixed step that is too long neither raises the objective nor ends as a success with objective 0.
func TestBinaryTooLongSteps(t *testing.T) {
	t.Parallel()
	x := coins(26, 30, 20, 0.4)
	r := solveBinary(t, x, solver.Settings{Rank: 3, MaxIter: 200, RelTol: 1e-6},
		BinarySettings{Step: BinaryStepFixed, Eta: 1e4})
	if r.Status != solver.SearchFailed || r.Status.Err() == nil {
		t.Errorf("status %v, want search-failed", r.Status)
	}
	last := r.Trace[len(r.Trace)-1].Objective
	if r.Objective != last || !(r.Objective > 0) || r.Objective > r.Trace[0].Objective {
		t.Errorf("objective %g, of the last iterate %g, of the first %g", r.Objective, last, r.Trace[0].Objective)
	}
}

// Steps so long that no trial is finite do not end as Stationary.
func TestBinaryStepsWithoutEnd(t *testing.T) {
	t.Parallel()
	x := coins(28, 30, 20, 0.3)
	for _, eta := range []float64{1e200, 1e300, math.MaxFloat64} {
		r := solveBinary(t, x, solver.Settings{Rank: 3}, BinarySettings{Step: BinaryStepFixed, Eta: eta})
		if r.Status != solver.SearchFailed || r.Iterations != 0 {
			t.Errorf("eta %g: %v after %d updates, want a failed search after 0", eta, r.Status, r.Iterations)
		}
	}
}

// A trial that is not finite is not judged by the objective of the one before.
func TestBinaryTrialThatOverflows(t *testing.T) {
	t.Parallel()
	s := newQuasiNewtonState(linalg.OperatorOf(coins(29, 30, 20, 0.3), 0), orthonormal(t, 30, 20, 3),
		positive(31, 30, 3))
	s.trial.Objective = -1
	s.step.topics.Set(0, 0, math.NaN())
	s.try(1)
	if !math.IsInf(s.trial.Objective, 1) {
		t.Errorf("the objective of a trial that is not finite is %g", s.trial.Objective)
	}
}

// If documents are separable, the likelihood has no maximum. The run ends without failure, however small the objective
// is.
func TestBinarySeparableDocuments(t *testing.T) {
	t.Parallel()
	x := mat.NewDense(30, 12, nil)
	for i := range 30 {
		for j := i % 3; j < 12; j += 3 {
			x.Set(i, j, 1)
		}
	}
	r := solveBinary(t, x, solver.Settings{Rank: 6, MaxIter: 2000}, BinarySettings{})
	if r.Status == solver.SearchFailed || r.Status == solver.NonFinite || r.MeanObjective > 1e-6 ||
		!(r.Objective >= 0) {
		t.Errorf("status %v, mean objective %g", r.Status, r.MeanObjective)
	}
}

// A direction from a wrong gradient ends the run as a failure that keeps the iterate, and a promise that is not a
// number is not convergence.
func TestBinaryFailedSearchIsAStatus(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(s *quasiNewtonState){
		"wrong":        func(s *quasiNewtonState) { blasScale(s, -1) },
		"not a number": func(s *quasiNewtonState) { blasScale(s, math.NaN()) },
	} {
		s := newQuasiNewtonState(linalg.OperatorOf(coins(27, 20, 10, 0.5), 0), orthonormal(t, 28, 10, 2),
			positive(29, 20, 2))
		topics, scores, objective := mat.DenseCopyOf(s.at.Topics), mat.DenseCopyOf(s.at.Scores), s.at.Objective
		spoil(s)
		if got := s.Update(); got != solver.SearchFailed {
			t.Errorf("%s gradient: status %v", name, got)
		}
		if !mat.Equal(s.at.Topics, topics) || !mat.Equal(s.at.Scores, scores) || s.Objective() != objective {
			t.Errorf("%s gradient: the iterate has changed", name)
		}
	}
}

func blasScale(s *quasiNewtonState, factor float64) {
	for i := range s.gradient.Data {
		s.gradient.Data[i] *= factor
	}
}

// A start without an intercept stays near log 2 for some updates with small changes: that is not convergence.
func TestBinaryDoesNotStopAtTheStart(t *testing.T) {
	t.Parallel()
	const n, p, k = 300, 200, 4
	x := coins(30, n, p, 0.02)
	linear := &solver.Problem{X: linalg.OperatorOf(x, 0), Settings: solver.Settings{Rank: k, Init: solver.InitSVD}}
	topics, err := linear.OrthonormalTopics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	scores := mat.NewDense(n, k, nil)
	scores.Mul(x, topics)
	r := solveBinary(t, x,
		solver.Settings{Rank: k, MaxIter: 100, RelTol: solver.DefaultRelTol, StartTopics: topics, StartScores: scores},
		BinarySettings{})
	if first := r.Trace[0].Objective / (n * p); math.Abs(first-math.Ln2) > 0.05 {
		t.Fatalf("starts at %g: no test of what it is for", first)
	}
	// The log-odds of the mean alone cost the entropy of a coin of 0.02.
	if limit := -0.02*math.Log(0.02) - 0.98*math.Log(0.98); r.MeanObjective > limit {
		t.Errorf("mean objective %g, status %v after %d updates, want at most %g", r.MeanObjective, r.Status,
			r.Iterations, limit)
	}
}

// The probabilities that X is drawn with are found again: with a mean error below a fifth of that of their mean, where
// there are 400·150 draws for about (400 + 150)·3 parameters.
func TestBinaryFindsProbabilities(t *testing.T) {
	t.Parallel()
	const n, p, k = 400, 150, 3
	truth := mat.NewDense(n, p, nil)
	topics, scores := orthonormal(t, 31, p, k), positive(32, n, k)
	scores.Scale(25, scores)
	truth.Mul(scores, topics.T())
	linalg.LogisticTo(truth.RawMatrix().Data, truth.RawMatrix().Data)
	source := rand.New(rand.NewPCG(1, 33))
	x := mat.NewDense(n, p, nil)
	x.Apply(func(i, j int, _ float64) float64 {
		if source.Float64() < truth.At(i, j) {
			return 1
		}
		return 0
	}, x)
	r := solveBinary(t, x, solver.Settings{Rank: k, RelTol: solver.DefaultRelTol}, BinarySettings{})
	found := mat.NewDense(n, p, nil)
	found.Mul(r.Scores, r.Topics.T())
	linalg.LogisticTo(found.RawMatrix().Data, found.RawMatrix().Data)
	mean := mat.Sum(truth) / (n * p)
	var off, constant float64
	for i := range n {
		for j, want := range truth.RawRowView(i) {
			off += math.Abs(found.At(i, j) - want)
			constant += math.Abs(mean - want)
		}
	}
	if off > constant/5 {
		t.Errorf("mean error of the probabilities %g, of their mean %g", off/(n*p), constant/(n*p))
	}
}

func TestNewBinaryRefuses(t *testing.T) {
	t.Parallel()
	for _, s := range []BinarySettings{{Step: "newton"}, {Eta: -1}, {Eta: math.NaN()}, {Eta: math.Inf(1)}} {
		if _, err := NewBinary(s); !errors.Is(err, solver.ErrSettings) {
			t.Errorf("NewBinary(%+v): error %v", s, err)
		}
	}
}
