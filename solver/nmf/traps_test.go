package nmf

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

// uniform returns a matrix of numbers in [0, 1).
func uniform(seed uint64, rows, cols int) *mat.Dense {
	random := rand.New(rand.NewPCG(seed, 0))
	m := mat.NewDense(rows, cols, nil)
	m.Apply(func(_, _ int, _ float64) float64 { return random.Float64() }, m)
	return m
}

func run(t *testing.T, x *mat.Dense, settings solver.Settings, method solver.Method) *solver.Result {
	t.Helper()
	settings.RelTol = solver.TolOrOff(settings.RelTol)
	r, err := solver.Solve(t.Context(), x, settings, method)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A topic of zeros makes 0/0 of its scores, and dependent scores make GᵀG singular. Neither spoils the others.
func TestEmptyAndDependentTopics(t *testing.T) {
	t.Parallel()
	x := uniform(1, 12, 8)
	topics, scores := uniform(2, 8, 3), uniform(3, 12, 3)
	for j := range 8 {
		topics.Set(j, 1, 0)
	}
	for i := range 12 {
		scores.Set(i, 2, scores.At(i, 0))
	}
	l1, err := NewL1(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []solver.Method{NMF{}, ONMF{}, SemiNMF{}, l1} {
		settings := solver.Settings{Rank: 3, MaxIter: 30, StartTopics: topics, StartScores: scores}
		r := run(t, x, settings, method)
		if r.Status != solver.IterationLimit || !(r.Objective > 0) || !(r.Objective < r.Trace[0].Objective) {
			t.Errorf("%s: status %v, objective %g from %g", method.Name(), r.Status, r.Objective, r.Trace[0].Objective)
		}
	}
}

// Topics may be of any lengths against their scores: none raises the objective, or is lost.
func TestSemiNMFOfUnequalLengths(t *testing.T) {
	t.Parallel()
	x := uniform(12, 40, 30)
	x.Apply(func(_, _ int, v float64) float64 { return v - 0.4 }, x)
	end := run(t, x, solver.Settings{Rank: 4, MaxIter: 2000, RelTol: 1e-10}, SemiNMF{})
	for column := range 4 {
		for _, factor := range []float64{1e-6, 1e6} {
			topics, scores := mat.DenseCopyOf(end.Topics), mat.DenseCopyOf(end.Scores)
			shorter, longer := scores.ColView(column).(*mat.VecDense), topics.ColView(column).(*mat.VecDense)
			shorter.ScaleVec(factor, shorter)
			longer.ScaleVec(1/factor, longer)
			r := run(t, x, solver.Settings{Rank: 4, MaxIter: 1, StartTopics: topics, StartScores: scores}, SemiNMF{})
			if r.Objective > end.Objective*(1+1e-9) {
				t.Errorf("scores of topic %d times %g: objective rises from %g to %g", column, factor,
					end.Objective, r.Objective)
			}
		}
	}
}

// A divisor near the least number, with a score of 0: the quotient overflows, the product is 0.
func TestTinyDivisor(t *testing.T) {
	t.Parallel()
	x := uniform(13, 6, 5)
	topics, scores := uniform(14, 5, 2), uniform(15, 6, 2)
	scores.Set(2, 0, 0)
	for j := range 5 {
		topics.Set(j, 1, 1e-310)
	}
	for _, method := range []solver.Method{NMF{}, SemiNMF{}} {
		r := run(t, x, solver.Settings{Rank: 2, MaxIter: 5, StartTopics: topics, StartScores: scores}, method)
		if r.Status != solver.IterationLimit || !(r.Objective < r.Trace[0].Objective) {
			t.Errorf("%s: status %v, objective %g", method.Name(), r.Status, r.Objective)
		}
	}
}

// A score that is small because X is small is kept.
func TestSmallFactorsAreKept(t *testing.T) {
	t.Parallel()
	x := uniform(16, 6, 5)
	topics, scores := uniform(17, 5, 2), uniform(18, 6, 2)
	scores.Set(0, 0, 1e-140)
	x.Scale(1e-153, x)
	scores.Scale(1e-153, scores)
	for _, method := range []solver.Method{NMF{}, SemiNMF{}} {
		r := run(t, x, solver.Settings{Rank: 2, MaxIter: 1, StartTopics: topics, StartScores: scores}, method)
		if r.Scores.At(0, 0) == 0 {
			t.Errorf("%s: a score that is 1e-140 of the largest is lost", method.Name())
		}
	}
}

// With one topic there are no others to be orthogonal to, and the best factors are the first singular vectors.
func TestONMFOfOneTopic(t *testing.T) {
	t.Parallel()
	x := uniform(4, 15, 10)
	var svd mat.SVD
	svd.Factorize(x, mat.SVDNone)
	var want float64
	for _, v := range svd.Values(nil)[1:] {
		want += v * v
	}
	if r := run(t, x, solver.Settings{Rank: 1}, ONMF{}); math.Abs(r.Objective/want-1) > 1e-9 {
		t.Errorf("objective %g, want %g", r.Objective, want)
	}
}

// A topic without terms becomes constant, as in the published program, and of length one.
func TestONMFOfRejectedTopic(t *testing.T) {
	t.Parallel()
	s, err := newOrthogonal(t.Context(), &solver.Problem{
		X: linalg.OperatorOf(uniform(5, 9, 4), 0), Settings: solver.Settings{Rank: 2, Init: solver.InitRandom},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.projectOnScores()
	for j := range 4 {
		s.topicsCross.Set(j, 0, -10-100*float64(j%2))
		s.topics.Set(j, 1, 0)
		s.total[j] = s.topics.At(j, 0)
	}
	s.updateTopic(0)
	for j := range 4 {
		if got := s.topics.At(j, 0); math.Abs(got-0.5) > 1e-12 {
			t.Errorf("topic[%d] = %g, want 0.5", j, got)
		}
	}
}

// The orthogonality may raise the objective: the reported one is that of the last factors, and a rise is not
// convergence.
func TestONMFMayRise(t *testing.T) {
	t.Parallel()
	x := uniform(6, 60, 40)
	best := run(t, x, solver.Settings{Rank: 10}, NMF{})
	r := run(t, x,
		solver.Settings{Rank: 10, MaxIter: 3, StartTopics: best.Topics, StartScores: best.Scores, RelTol: 1e-3}, ONMF{})
	rises := 0
	for i, point := range r.Trace[1:] {
		if point.Objective > r.Trace[i].Objective*(1+1e-6) {
			rises++
		}
	}
	if rises == 0 {
		t.Fatal("the objective never rises: a case that shows nothing")
	}
	if want := solver.SquaredResidual(x, r.Topics, r.Scores); r.Objective != want || r.Status != solver.IterationLimit {
		t.Errorf("objective %g, of its factors %g; status %v", r.Objective, want, r.Status)
	}
}

// Zeros of given topics grow where X needs them.
func TestNMFLeavesZeros(t *testing.T) {
	t.Parallel()
	x := mat.NewDense(4, 3, []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})
	r := run(t, x, solver.Settings{Rank: 1, StartTopics: mat.NewDense(3, 1, []float64{1, 0, 0})}, NMF{})
	if r.Objective > 1e-12 {
		t.Errorf("objective %g, want 0", r.Objective)
	}
}

// The bound lowers the objective further than the published step .001, which lowers it too, and than the step 1, which
// raises it.
func TestLogNMFAgainstFixedSteps(t *testing.T) {
	t.Parallel()
	x, topics, scores := uniform(9, 60, 50), uniform(10, 50, 4), uniform(11, 60, 4)
	x.Apply(func(i, j int, v float64) float64 { return math.Floor(v + 0.1 + 0.6*float64((i+j)%2)) }, x)
	got := run(t, x, solver.Settings{Rank: 4, MaxIter: 60, StartTopics: topics, StartScores: scores}, LogNMF{})
	objective := func(f, g *mat.Dense) float64 {
		return run(t, x, solver.Settings{Rank: 4, MaxIter: 1, StartTopics: f, StartScores: g},
			LogNMF{}).Trace[0].Objective
	}
	for step, wantRises := range map[float64]bool{0.001: false, 1: true} {
		f, g := mat.DenseCopyOf(topics), mat.DenseCopyOf(scores)
		var rest, move mat.Dense
		direction := func() {
			rest.Mul(g, f.T())
			rest.Apply(func(i, j int, m float64) float64 { return x.At(i, j) - 1/(1+math.Exp(-m)) }, &rest)
		}
		rises, last := false, objective(f, g)
		for range 60 {
			direction()
			move.Reset()
			move.Mul(rest.T(), g)
			move.Scale(step, &move)
			f.Add(f, &move)
			raise(f, 0)
			direction()
			move.Reset()
			move.Mul(&rest, f)
			move.Scale(step, &move)
			g.Add(g, &move)
			next := objective(f, g)
			rises, last = rises || next > last, next
		}
		if got.Objective > last || rises != wantRises {
			t.Errorf("objective %g, by the fixed step %g it is %g; it rises: %v", got.Objective, step, last, rises)
		}
	}
}

func TestNewL1(t *testing.T) {
	t.Parallel()
	for _, weights := range [][2]float64{{-2, 0}, {0, math.NaN()}, {math.Inf(1), 0}} {
		if _, err := NewL1(&weights[0], &weights[1]); !errors.Is(err, solver.ErrSettings) {
			t.Errorf("weights %v: error %v", weights, err)
		}
	}
	half := 0.5
	m, err := NewL1(&half, nil)
	if err != nil {
		t.Fatal(err)
	}
	x := mat.NewDense(2, 2, []float64{3, 0, 0, 4})
	if topics, scores := m.Weights(x, 2); topics != 0.5 || math.Abs(scores-5*0.01/2) > 1e-15 {
		t.Errorf("weights %g and %g, want 0.5 and 0.025", topics, scores)
	}
}
