package methods_test

import (
	"errors"
	"math"
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/methods"
)

const (
	// relRounding bounds what rounding may add to an objective, in units of ‖X‖², for binary matrices of n·p.
	relRounding = 1e-12
	// maxEntryDrift bounds the entries of TopicsᵀTopics − I.
	maxEntryDrift = 1e-10
)

// suite checks that a method keeps the contract of all methods, and its own promises.
type suite struct {
	// settings are those of the method.
	name     string
	settings methods.Settings

	// domain is the set of entries that the method accepts. Every check makes matrices of them, and any other entry is
	// rejected with a *solver.DomainError.
	domain solver.Domain
	// orthonormalTopics: TopicsᵀTopics = I at every iterate.
	orthonormalTopics bool
	// nonNegativeTopics and nonNegativeScores: no entry of the factor is negative at any iterate.
	nonNegativeTopics, nonNegativeScores bool
	// monotone: no update raises the objective. Without it the objective may rise, and the last iterate is the result.
	monotone bool
	// noUpdates: the start is the result.
	noUpdates bool
	// settledStart: the start makes updates if only topics are given.
	settledStart bool
	// unique: planted factors are the only optimum up to their order and length. Otherwise only their subspace is
	// compared.
	unique bool
	// objective is the objective by its definition, of a dense n×p matrix.
	objective func(x, topics, scores *mat.Dense) float64
	// stationarity is a residual of the first-order conditions, relative to the size of their terms.
	stationarity func(x, topics, scores *mat.Dense) float64
	// maxStationarity bounds stationarity at the end of a run to convergence under relTol, 0 for 1e-14, which slow
	// methods do not reach.
	maxStationarity, relTol float64
	// maxTransform bounds the distance of Transform(X) from the scores of a run to convergence, relative to their size;
	// 0 means 1e-6.
	maxTransform float64
}

// method returns a new one.
func (s *suite) method(t *testing.T) solver.Method {
	t.Helper()
	m, _, err := methods.New(s.name, s.settings)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// run makes every check that applies to the method.
func (s *suite) run(t *testing.T) {
	t.Helper()
	checks := map[string]func(*testing.T){
		"same bits":        s.sameBits,
		"planted factors":  s.planted,
		"iterates":         s.iterates,
		"end":              s.end,
		"sparse is dense":  s.sparseIsDense,
		"edges":            s.edges,
		"refused input":    s.refused,
		"new rows":         s.newRows,
		"shared by many":   s.concurrent,
		"input unmodified": s.unmodified,
	}
	if !s.noUpdates {
		checks["limits"], checks["cancellation"], checks["given start"] = s.limits, s.cancellation, s.givenStart
		checks["cancelled start"], checks["stopped"] = s.cancelledStart, s.stopped
	}
	if s.domain != solver.Binary {
		checks["scale"] = s.scale
	} else {
		checks["planted factors"] = s.plantedBinary
	}
	for name, check := range checks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t)
		})
	}
}

func (s *suite) solve(t *testing.T, x mat.Matrix, settings solver.Settings) *solver.Result {
	t.Helper()
	settings.RelTol = solver.TolOrOff(settings.RelTol)
	r, err := solver.Solve(t.Context(), x, settings, s.method(t))
	if err != nil {
		t.Fatalf("Solve: %v", err)
	}
	return r
}

// best returns the best of some runs from random starts, of which the first whose objective is low enough is the last.
func (s *suite) best(t *testing.T, x *mat.Dense, rank, runs int, enough float64) *solver.Result {
	t.Helper()
	var best *solver.Result
	for seed := range uint64(runs) {
		r := s.solve(t, x, solver.Settings{Rank: rank, Init: solver.InitRandom, Seed: seed, MaxIter: 2000, RelTol: max(
			1e-12, s.relTol)})
		if best == nil || r.Objective < best.Objective {
			best = r
		}
		if best.Objective <= enough {
			break
		}
	}
	return best
}

// planted solves X = G·Fᵀ, whose minimum is 0 but for penalties.
func (s *suite) planted(t *testing.T) {
	x, topics, scores := planted(60, 30, 4)
	limit := 1e-6*sumOfSquares(x) + s.objective(x, topics, scores)
	best := s.best(t, x, 4, 8, limit)
	if best.Objective > limit {
		t.Fatalf("objective %g of the best of 8 runs, want at most %g", best.Objective, limit)
	}
	for truth, length := range lengthsInSpan(topics, best.Topics) {
		if math.Abs(length-1) > 1e-3 {
			t.Errorf("planted topic %d: length %g in the span of the found ones, want 1", truth, length)
		}
		var cosine float64
		for t := range 4 {
			found := best.Topics.ColView(t)
			cosine = max(cosine, math.Abs(mat.Dot(topics.ColView(truth), found))/mat.Norm(found, 2))
		}
		if s.unique && cosine < 0.999 {
			t.Errorf("planted topic %d: best cosine %g with the found ones, want 1", truth, cosine)
		}
	}
}

// plantedBinary draws X with the log-odds G·Fᵀ: the minimum is below the objective of these factors, and near them.
func (s *suite) plantedBinary(t *testing.T) {
	x, topics, scores := plantedBinary(400, 150, 3)
	limit := s.objective(x, topics, scores)
	best := s.best(t, x, 3, 2, limit)
	if best.Objective > limit {
		t.Errorf("objective %g of the best run, want at most %g as of the planted factors", best.Objective, limit)
	}
	for truth, length := range lengthsInSpan(topics, best.Topics) {
		if length < 0.9 {
			t.Errorf("planted topic %d: length %g in the span of the found ones, want 1", truth, length)
		}
	}
}

// check is a Recorder that applies a function.
type check func(solver.Iterate)

func (c check) Record(it solver.Iterate) error {
	c(it)
	return nil
}

// rounding returns what rounding may add to an objective.
func (s *suite) rounding(x *mat.Dense) float64 {
	if s.domain == solver.Binary {
		n, p := x.Dims()
		return relRounding * float64(n) * float64(p)
	}
	return relRounding * sumOfSquares(x)
}

// iterates checks constraints and objective of every iterate, and that the objective falls.
func (s *suite) iterates(t *testing.T) {
	x := s.noisy(50, 40)
	rounding := s.rounding(x)
	for _, init := range []solver.Init{solver.InitSVD, solver.InitRandom, solver.InitKMeans} {
		previous := math.Inf(1)
		s.solve(t, x, solver.Settings{Rank: 6, Init: init, MaxIter: 60, Recorder: check(func(it solver.Iterate) {
			s.constraints(t, it.Topics, it.Scores)
			if want := s.objective(x, it.Topics, it.Scores); math.Abs(it.Objective-want) > rounding {
				t.Errorf("start %s, iteration %d: objective %.17g, by its definition %.17g", init, it.Iteration,
					it.Objective, want)
			}
			if s.monotone && it.Objective > previous+rounding {
				t.Errorf("start %s, iteration %d: objective rises from %.17g to %.17g", init, it.Iteration,
					previous, it.Objective)
			}
			previous = it.Objective
		})})
	}
}

// constraints checks the constraints on the factors.
func (s *suite) constraints(t *testing.T, topics, scores *mat.Dense) {
	t.Helper()
	if s.orthonormalTopics {
		var gram mat.Dense
		gram.Mul(topics.T(), topics)
		k, _ := gram.Dims()
		for i := range k {
			gram.Set(i, i, gram.At(i, i)-1)
		}
		if drift := mat.Norm(&gram, 1); !(drift <= maxEntryDrift*float64(k)) {
			t.Errorf("topics are orthonormal to %g only", drift)
		}
	}
	for _, f := range []*mat.Dense{topics, scores} {
		if v := sumOfSquares(f); math.IsNaN(v) || math.IsInf(v, 0) {
			t.Error("factor is not finite")
		}
	}
	if least := mat.Min(topics); s.nonNegativeTopics && least < 0 {
		t.Errorf("topic entry %g is negative", least)
	}
	if least := mat.Min(scores); s.nonNegativeScores && least < 0 {
		t.Errorf("score %g is negative", least)
	}
}

// end checks the result of a run to convergence.
func (s *suite) end(t *testing.T) {
	x := s.noisy(50, 40)
	settings := solver.Settings{Rank: 5, MaxIter: 20000, RelTol: s.relTol}
	if settings.RelTol == 0 {
		settings.RelTol = 1e-14
	}
	r := s.solve(t, x, settings)
	if r.Status.Early() {
		t.Errorf("status %v after %d updates", r.Status, r.Iterations)
	}
	s.result(t, x, r)
	if got := s.stationarity(x, r.Topics, r.Scores); !(got <= s.maxStationarity) {
		t.Errorf("first-order conditions are missed by %g, want at most %g", got, s.maxStationarity)
	}
}

// result checks a result against the dense matrix it came from.
func (s *suite) result(t *testing.T, x *mat.Dense, r *solver.Result) {
	t.Helper()
	s.constraints(t, r.Topics, r.Scores)
	n, p := x.Dims()
	size, rounding := float64(n)*float64(p), s.rounding(x)
	if want := s.objective(x, r.Topics, r.Scores); math.Abs(r.Objective-want) > rounding {
		t.Errorf("objective %.17g, by its definition %.17g", r.Objective, want)
	}
	if math.Abs(r.MeanObjective-r.Objective/size) > rounding {
		t.Errorf("mean objective %g of objective %g", r.MeanObjective, r.Objective)
	}
	if last := r.Trace[len(r.Trace)-1]; r.Objective > last.Objective+rounding {
		t.Errorf("objective %.17g of the result is above %.17g of the last iterate", r.Objective, last.Objective)
	}
	if r.Status != solver.Cancelled && s.noUpdates != (r.Iterations == 0) {
		t.Errorf("%d updates", r.Iterations)
	}
	for i, point := range r.Trace {
		if point.Iteration != i || i > 0 && point.Seconds < r.Trace[i-1].Seconds {
			t.Errorf("trace[%d] = %+v", i, point)
		}
	}
}

// sparseIsDense compares runs on a sparse matrix and its dense copy.
func (s *suite) sparseIsDense(t *testing.T) {
	x := s.sparse(40, 30)
	settings := solver.Settings{Rank: 4, MaxIter: 10, Seed: 1}
	for _, init := range []solver.Init{solver.InitSVD, solver.InitRandom, solver.InitKMeans} {
		settings.Init = init
		dense := s.solve(t, x, settings)
		other := s.solve(t, csr(t, x), settings)
		s.result(t, x, other)
		if d := distance(dense.Topics, other.Topics); d > 1e-7 {
			t.Errorf("start %s: topics differ by %g", init, d)
		}
		if d := distance(dense.Scores, other.Scores); d > 1e-7*mat.Norm(x, 2) {
			t.Errorf("start %s: scores differ by %g", init, d)
		}
	}
}

// scale checks that a·X has the topics of X, and a times its scores.
func (s *suite) scale(t *testing.T) {
	x := s.noisy(30, 20)
	settings := solver.Settings{Rank: 3, MaxIter: 10}
	want := s.solve(t, x, settings)
	for _, factor := range []float64{1.0 / (1 << 40), 1 << 40, 1e-100, 1e100, 1e-150, 1e150} {
		var scaled mat.Dense
		scaled.Scale(factor, x)
		got := s.solve(t, &scaled, settings)
		if d := distance(got.Topics, want.Topics); d > 1e-9 {
			t.Errorf("factor %g: topics differ by %g", factor, d)
		}
		got.Scores.Scale(1/factor, got.Scores)
		if d := distance(got.Scores, want.Scores); d > 1e-9*mat.Norm(x, 2) {
			t.Errorf("factor %g: scores differ by %g", factor, d)
		}
		if got.Iterations != want.Iterations {
			t.Errorf("factor %g: %d updates, want %d", factor, got.Iterations, want.Iterations)
		}
	}
}

// edges runs on degenerate matrices.
func (s *suite) edges(t *testing.T) {
	for name, x := range s.edgeCases() {
		n, p := x.Dims()
		for _, rank := range []int{1, min(3, p), p} {
			for _, init := range []solver.Init{solver.InitSVD, solver.InitRandom, solver.InitKMeans} {
				r, err := solver.Solve(t.Context(), x, solver.Settings{Rank: rank, Init: init, MaxIter: 40, RelTol: -1},
					s.method(t))
				if err != nil {
					t.Errorf("%s, %d×%d, rank %d, start %s: %v", name, n, p, rank, init, err)
					continue
				}
				s.constraints(t, r.Topics, r.Scores)
				if r.Status == solver.NonFinite || r.Status == solver.SearchFailed {
					t.Errorf("%s, %d×%d, rank %d, start %s: status %v", name, n, p, rank, init, r.Status)
				}
				if want := s.objective(x, r.Topics, r.Scores); math.Abs(r.Objective-want) > s.rounding(x) {
					t.Errorf("%s, rank %d, start %s: objective %g, by its definition %g", name, rank, init,
						r.Objective, want)
				}
			}
		}
	}
}

// refused checks the errors for input that cannot be solved.
func (s *suite) refused(t *testing.T) {
	x := s.noisy(8, 6)
	with := func(v float64) *mat.Dense {
		bad := mat.DenseCopyOf(x)
		bad.Set(3, 2, v)
		return bad
	}
	for name, c := range map[string]struct {
		x        mat.Matrix
		settings solver.Settings
		want     error
	}{
		"NaN":          {with(math.NaN()), solver.Settings{Rank: 2}, solver.ErrNonFinite},
		"infinite":     {with(math.Inf(-1)), solver.Settings{Rank: 2}, solver.ErrNonFinite},
		"sparse NaN":   {csr(t, with(math.NaN())), solver.Settings{Rank: 2}, solver.ErrNonFinite},
		"overflow":     {with(1e200), solver.Settings{Rank: 2}, solver.ErrNonFinite},
		"no rank":      {x, solver.Settings{}, solver.ErrRank},
		"rank above p": {x, solver.Settings{Rank: 7}, solver.ErrRank},
		"start":        {x, solver.Settings{Rank: 2, Init: "svd2"}, solver.ErrSettings},
		"limit":        {x, solver.Settings{Rank: 2, MaxIter: -1}, solver.ErrSettings},
		"tolerance":    {x, solver.Settings{Rank: 2, RelTol: math.NaN()}, solver.ErrSettings},
		"start shape":  {x, solver.Settings{Rank: 2, StartTopics: mat.NewDense(5, 2, nil)}, solver.ErrShape},
		"NaN in scores": {
			x,
			solver.Settings{Rank: 2, StartScores: mat.NewDense(8, 2, slices.Repeat([]float64{math.NaN()}, 16))},
			solver.ErrNonFinite,
		},
	} {
		if _, err := solver.Solve(t.Context(), c.x, c.settings, s.method(t)); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
	s.refusedDomain(t, with)
	var at *solver.NonFiniteError
	_, err := solver.Solve(t.Context(), with(math.NaN()), solver.Settings{Rank: 2}, s.method(t))
	if !errors.As(err, &at) || at.Row != 3 || at.Col != 2 {
		t.Errorf("NaN in row 3, column 2: error %v", err)
	}
}

// refusedDomain checks the error for an entry outside the domain.
func (s *suite) refusedDomain(t *testing.T, with func(v float64) *mat.Dense) {
	t.Helper()
	outside := map[solver.Domain]float64{solver.NonNegative: -1e-9, solver.Binary: 0.5}
	v, ok := outside[s.domain]
	if !ok {
		return
	}
	for _, x := range []mat.Matrix{with(v), csr(t, with(v))} {
		_, err := solver.Solve(t.Context(), x, solver.Settings{Rank: 2}, s.method(t))
		var at *solver.DomainError
		if !errors.As(err, &at) || !errors.Is(err, solver.ErrDomain) || at.Row != 3 || at.Col != 2 || at.Value != v {
			t.Errorf("%T with %g in row 3, column 2: error %v", x, v, err)
		}
	}
}

// givenStart goes on from the factors of another run.
func (s *suite) givenStart(t *testing.T) {
	x := s.noisy(30, 20)
	first := s.solve(t, x, solver.Settings{Rank: 3, MaxIter: 5})
	for name, settings := range map[string]solver.Settings{
		"topics": {Rank: 3, MaxIter: 5, StartTopics: first.Topics},
		"scores": {Rank: 3, MaxIter: 5, StartScores: first.Scores},
		"both":   {Rank: 3, MaxIter: 5, StartTopics: first.Topics, StartScores: first.Scores},
	} {
		kept := []*mat.Dense{mat.DenseCopyOf(first.Topics), mat.DenseCopyOf(first.Scores)}
		r := s.solve(t, x, settings)
		if r.Trace[0].Objective > first.Objective+s.rounding(x) {
			t.Errorf("%s: starts at %g, was at %g", name, r.Trace[0].Objective, first.Objective)
		}
		if !mat.Equal(kept[0], first.Topics) || !mat.Equal(kept[1], first.Scores) {
			t.Errorf("%s: start factors were modified", name)
		}
	}
}

// sameBits compares a run on one thread with a second run of the same method on several. The longer sides have more
// rows than are summed at once, and more columns than one tile.
func (s *suite) sameBits(t *testing.T) {
	for _, c := range []struct {
		x    mat.Matrix
		rank int
	}{
		{csr(t, s.sparse(300, 200)), 20},
		{s.noisy(120, 100), 20},
		{csr(t, s.sparse(1100, 40)), 8},
		{s.noisy(40, 1100), 8},
	} {
		method := s.method(t)
		var want *solver.Result
		for _, threads := range []int{1, 4} {
			r, err := solver.Solve(t.Context(), c.x,
				solver.Settings{Rank: c.rank, MaxIter: 5, RelTol: -1, Seed: 5, Threads: threads}, method)
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = r
				continue
			}
			if !mat.Equal(r.Topics, want.Topics) || !mat.Equal(r.Scores, want.Scores) || r.Objective != want.Objective {
				n, p := c.x.Dims()
				t.Errorf("%T of %d×%d: other bits on %d threads", c.x, n, p, threads)
			}
		}
	}
}

// concurrent runs one method value in several goroutines.
func (s *suite) concurrent(t *testing.T) {
	x, method := s.noisy(30, 20), s.method(t)
	results := make([]*solver.Result, 4)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			r, err := solver.Solve(t.Context(), x, solver.Settings{Rank: 3, MaxIter: 10, RelTol: -1}, method)
			if err != nil {
				t.Errorf("Solve: %v", err)
				return
			}
			results[i] = r
		})
	}
	wg.Wait()
	for _, r := range results[1:] {
		if r == nil || results[0] == nil || !mat.Equal(r.Topics, results[0].Topics) {
			t.Error("runs of one method differ")
		}
	}
}

// unmodified checks that X is not changed.
func (s *suite) unmodified(t *testing.T) {
	x := s.noisy(20, 10)
	kept := mat.DenseCopyOf(x)
	s.solve(t, x, solver.Settings{Rank: 2, MaxIter: 5})
	if !mat.Equal(x, kept) {
		t.Error("the matrix was modified")
	}
}
