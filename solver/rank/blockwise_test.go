package rank_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/icqf"
	"github.com/wardcast/wardcast/solver/rank"
)

// answers returns n participants' answers to p items from k factors, a share of them missing, and confounds.
func answers(seed uint64, n, p, k int) icqf.Data {
	random := rand.New(rand.NewPCG(seed, 0))
	w, q := mat.NewDense(n, k, nil), mat.NewDense(p, k, nil)
	confounds := mat.NewDense(n, 3, nil)
	for i := range n {
		confounds.SetRow(i, []float64{float64(i % 2), float64((i + 1) % 2), random.Float64()})
		for t := range k {
			if random.IntN(2) == 0 {
				w.Set(i, t, random.Float64())
			}
		}
	}
	for j := range p {
		q.Set(j, j%k, 2+2*random.Float64())
	}
	x := mat.NewDense(n, p, nil)
	x.Mul(w, q.T())
	x.Apply(func(_, _ int, v float64) float64 {
		if random.IntN(12) == 0 {
			return math.NaN()
		}
		return min(max(v+0.3*random.NormFloat64(), 0), 4)
	}, x)
	return icqf.Data{Answers: x, Confounds: confounds, Max: 4}
}

func TestPlantedNumberOfFactors(t *testing.T) {
	t.Parallel()
	data := answers(1, 200, 30, 4)
	calls := 0
	s := rank.Settings{
		Factors: []int{7, 2, 3, 4, 5, 6, 4}, Betas: []float64{0.1}, Strata: data.Confounds,
		Jobs: rank.Jobs{Progress: func(done, total int) {
			calls++
			if done != calls || total != 60 {
				t.Errorf("fit %d of %d at call %d, want 60 in all", done, total, calls)
			}
		}},
	}
	method := rank.ICQF(data, icqf.Settings{RelTol: 1e-4})
	c, err := rank.BlockwiseCV(t.Context(), data.Answers, method, s)
	if err != nil {
		t.Fatal(err)
	}
	if c.Lowest.Factors != 4 || c.OneStandardError.Factors != 4 || calls != 60 {
		t.Errorf("chose %+v after %d fits", c, calls)
	}
	if len(c.Curve) != 6 || c.Curve[0].Factors != 2 || c.Curve[5].Factors != 7 {
		t.Errorf("curve %+v", c.Curve)
	}
	s.Progress = nil
	for _, threads := range []int{1, 3} {
		s.Threads = threads
		again, err := rank.BlockwiseCV(t.Context(), data.Answers, method, s)
		if err != nil || !gocmp.Equal(again, c) {
			t.Errorf("%d threads choose %+v, %v", threads, again, err)
		}
	}
}

// TestUnconverged counts the fits that ran out of updates.
func TestUnconverged(t *testing.T) {
	t.Parallel()
	data := answers(4, 60, 12, 2)
	s := rank.Settings{Factors: []int{1, 2}, Betas: []float64{0.1, 0.5}}
	for updates, want := range map[int]int{2: 40, 0: 0} {
		c, err := rank.BlockwiseCV(t.Context(), data.Answers, rank.ICQF(data, icqf.Settings{MaxIter: updates}), s)
		if err != nil {
			t.Fatal(err)
		}
		if c.Fits != 40 || c.Unconverged != want {
			t.Errorf("at most %d updates: %d of %d fits have not converged, want %d of 40", updates,
				c.Unconverged, c.Fits, want)
		}
	}
}

// TestRangeIsThatOfAllAnswers checks that a fold has the range of the whole.
func TestRangeIsThatOfAllAnswers(t *testing.T) {
	t.Parallel()
	data := answers(2, 60, 12, 2)
	data.Answers.Set(0, 0, 4)
	data.Answers.Set(1, 1, 0)
	s := rank.Settings{Factors: []int{2}, Betas: []float64{0.1}}
	given, err := rank.BlockwiseCV(t.Context(), data.Answers, rank.ICQF(data, icqf.Settings{}), s)
	if err != nil {
		t.Fatal(err)
	}
	data.Max = 0
	found, err := rank.BlockwiseCV(t.Context(), data.Answers, rank.ICQF(data, icqf.Settings{}), s)
	if err != nil || !gocmp.Equal(given, found) {
		t.Errorf("got %+v, %v, want %+v", found, err, given)
	}
}

// spy sees the training parts and returns the result of its function for a candidate.
type spy struct {
	sync.Mutex
	training []*mat.Dense
	largest  int
	fit      func(solver.Candidate, *mat.Dense) (*mat.Dense, error)
}

func (s *spy) prepare(training *mat.Dense, maxFactors int) (rank.Fitter, error) {
	s.Lock()
	defer s.Unlock()
	s.training = append(s.training, training)
	s.largest = maxFactors
	return fitter{s, training}.fold, nil
}

type fitter struct {
	*spy
	training *mat.Dense
}

func (f fitter) fold(_ context.Context, c solver.Candidate) (*mat.Dense, bool, error) {
	r, err := f.fit(c, f.training)
	return r, true, err
}

func at(factors int, beta float64) solver.Candidate {
	return solver.Candidate{Factors: factors, Beta: beta}
}

// constant returns reconstructions that are off by the given error everywhere, for a matrix of zeros.
func constant(errors map[solver.Candidate]float64) func(solver.Candidate, *mat.Dense) (*mat.Dense, error) {
	return func(c solver.Candidate, training *mat.Dense) (*mat.Dense, error) {
		n, p := training.Dims()
		r := mat.NewDense(n, p, nil)
		r.Apply(func(i, j int, _ float64) float64 {
			if training.At(i, j) == training.At(i, j) {
				return 1e6 // cells that were not held out do not count
			}
			return math.Sqrt(errors[c])
		}, r)
		return r, nil
	}
}

// TestNoLeak checks that each cell is missing from the training part of exactly one fold.
func TestNoLeak(t *testing.T) {
	t.Parallel()
	data := answers(3, 53, 17, 2)
	before := mat.DenseCopyOf(data.Answers)
	for _, s := range []rank.Settings{
		{},
		{Strata: data.Confounds},
	} {
		s.Factors, s.Betas = []int{1, 5}, []float64{0, 0.1}
		zero := mat.NewDense(53, 17, nil)
		method := &spy{fit: constant(nil)}
		if _, err := rank.BlockwiseCV(t.Context(), data.Answers, method.prepare, s); err != nil {
			t.Fatal(err)
		}
		if len(method.training) != 10 || method.largest != 5 {
			t.Errorf("%d folds were prepared for %d factors", len(method.training), method.largest)
		}
		for _, training := range method.training {
			held := 0
			for i := range 53 {
				for j := range 17 {
					v, whole := training.At(i, j), data.Answers.At(i, j)
					switch {
					case v != v && whole == whole:
						zero.Set(i, j, zero.At(i, j)+1)
						held++
					case whole == whole && v != whole:
						t.Fatalf("cell (%d, %d) is %v in place of %v", i, j, v, whole)
					}
				}
			}
			if held == 0 {
				t.Error("a fold holds nothing out")
			}
		}
		for i := range 53 {
			for j := range 17 {
				if want := data.Answers.At(i, j); zero.At(i, j) != 1 && want == want {
					t.Fatalf("%+v: cell (%d, %d) is held out %v times", s, i, j, zero.At(i, j))
				}
			}
		}
	}
	if !slices.EqualFunc(before.RawMatrix().Data, data.Answers.RawMatrix().Data, func(a, b float64) bool {
		return math.Float64bits(a) == math.Float64bits(b)
	}) {
		t.Error("the matrix is modified")
	}
}

// TestFewCells cross-validates a matrix with fewer rows and columns than the usual number of folds.
func TestFewCells(t *testing.T) {
	t.Parallel()
	method := &spy{fit: constant(nil)}
	if _, err := rank.BlockwiseCV(t.Context(), mat.NewDense(6, 4, nil), method.prepare,
		rank.Settings{Factors: []int{1}, Betas: []float64{0}}); err != nil {
		t.Fatal(err)
	}
	if len(method.training) != 6 {
		t.Errorf("%d folds, want 6", len(method.training))
	}
}

// TestStrata checks that the rows whose cells are held out together have the distribution of all.
func TestStrata(t *testing.T) {
	t.Parallel()
	const n = 200
	strata := mat.NewDense(n, 2, nil)
	for i := range n {
		strata.SetRow(i, []float64{float64(i / 150), float64(i*7%n) / n}) // a quarter in one category; a spread of ages
	}
	method := &spy{fit: constant(nil)}
	s := rank.Settings{Factors: []int{1}, Betas: []float64{0}, Strata: strata}
	if _, err := rank.BlockwiseCV(t.Context(), mat.NewDense(n, 10, nil), method.prepare, s); err != nil {
		t.Fatal(err)
	}
	for _, training := range method.training {
		for j := range 10 {
			var rows, category, age float64
			for i := range n {
				if v := training.At(i, j); v != v {
					rows++
					category += strata.At(i, 0)
					age += strata.At(i, 1)
				}
			}
			if rows != n/10 || math.Abs(category-rows/4) > 1 || math.Abs(age/rows-0.5) > 0.08 {
				t.Errorf("%v rows held out, %v in the category, of age %v", rows, category, age/rows)
			}
		}
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	zero := mat.NewDense(40, 40, nil)
	for name, test := range map[string]struct {
		errors          map[solver.Candidate]float64
		lowest, oneStep solver.Candidate
	}{
		"the lowest": {
			map[solver.Candidate]float64{at(1, 0): 3, at(2, 0): 1, at(3, 0): 2, at(1, 1): 3, at(2, 1): 2, at(3, 1): 2},
			at(2, 0),
			at(2, 0),
		},
		"fewest of equals": {
			map[solver.Candidate]float64{at(1, 0): 3, at(2, 0): 1, at(3, 0): 1, at(1, 1): 3, at(2, 1): 2, at(3, 1): 1},
			at(2, 0),
			at(2, 0),
		},
		"largest penalty of them": {
			map[solver.Candidate]float64{at(1, 0): 1, at(2, 0): 1, at(3, 0): 1, at(1, 1): 1, at(2, 1): 1, at(3, 1): 1},
			at(1, 1),
			at(1, 1),
		},
	} {
		c, err := rank.BlockwiseCV(t.Context(), zero, (&spy{fit: constant(test.errors)}).prepare,
			rank.Settings{Factors: []int{1, 2, 3}, Betas: []float64{1, 0}})
		if err != nil {
			t.Fatal(err)
		}
		if c.Lowest.Candidate != test.lowest || c.OneStandardError.Candidate != test.oneStep ||
			c.Lowest.StandardError > 1e-12 {
			t.Errorf("%s: %+v and %+v", name, c.Lowest, c.OneStandardError)
		}
	}
	// The errors of folds differ: 0.5 … 1.5 by the row groups' cells, so that one standard error reaches the next
	// candidate.
	noisy := &spy{}
	noisy.fit = func(c solver.Candidate, training *mat.Dense) (*mat.Dense, error) {
		r := mat.NewDense(40, 40, nil)
		noisy.Lock()
		fold := slices.Index(noisy.training, training)
		noisy.Unlock()
		e := 1 + 0.1*float64(fold)
		if c.Factors == 2 {
			e += 0.05
		}
		if c.Factors == 1 {
			e++
		}
		r.Apply(func(_, _ int, _ float64) float64 { return math.Sqrt(e) }, r)
		return r, nil
	}
	c, err := rank.BlockwiseCV(t.Context(), zero, noisy.prepare,
		rank.Settings{Factors: []int{1, 2, 3}, Betas: []float64{0}, Jobs: rank.Jobs{Threads: 1}})
	if err != nil {
		t.Fatal(err)
	}
	// Standard deviation 0.1·√(110/12), over √10.
	if want := 0.1 * math.Sqrt(110./12/10); c.Lowest.Factors != 3 || math.Abs(c.Lowest.Error-1.45) > 1e-12 ||
		math.Abs(c.Lowest.StandardError-want) > 1e-12 {
		t.Errorf("%+v, want 3 factors of error 1.45 ± %v", c.Lowest, want)
	}
	if c.OneStandardError.Factors != 2 {
		t.Errorf("%+v, want 2 factors", c.OneStandardError)
	}
}

// The mean and the standard error of errors are on the scale of the errors, up to the ends of the numbers.
func TestStandardErrorIsOfAnyScale(t *testing.T) {
	t.Parallel()
	curve := func(scale float64) []solver.ErrorPoint {
		x := mat.NewDense(30, 8, nil)
		random := rand.New(rand.NewPCG(5, 0))
		x.Apply(func(_, _ int, _ float64) float64 { return scale * random.Float64() }, x)
		zero := func(_ context.Context, x mat.Matrix, factors int, _ uint64) (topics, scores *mat.Dense, err error) {
			n, p := x.Dims()
			return mat.NewDense(p, factors, nil), mat.NewDense(n, factors, nil), nil
		}
		points, err := rank.BiCrossValidate(t.Context(), x, zero,
			rank.BiCrossSettings{Factors: []int{1}, NonNegativeTopics: true, NonNegativeScores: true})
		if err != nil {
			t.Fatal(err)
		}
		return points
	}
	want := curve(1)[0]
	for _, exponent := range []int{-500, -300, 300, 500} {
		got, square := curve(math.Ldexp(1, exponent))[0], math.Ldexp(1, 2*exponent)
		if got.Error != want.Error*square || got.StandardError != want.StandardError*square || want.StandardError == 0 {
			t.Errorf("entries of 2^%d: %+v, want %+v times 2^%d", exponent, got, want, 2*exponent)
		}
	}
}

// A candidate without a reconstruction in some fold has an infinite error, and is chosen only if all have.
func TestCandidateThatCannotBeFitted(t *testing.T) {
	t.Parallel()
	x := mat.NewDense(20, 10, nil)
	method := (&spy{fit: func(c solver.Candidate, training *mat.Dense) (*mat.Dense, error) {
		if c.Factors == 1 || c.Factors == 3 && training.At(0, 0) != 0 {
			return nil, nil
		}
		return x, nil
	}}).prepare
	for _, partitions := range []int{1, 2} {
		c, err := rank.BlockwiseCV(t.Context(), x, method,
			rank.Settings{Factors: []int{1, 2, 3}, Betas: []float64{0}, Partitions: partitions})
		if err != nil || c.Lowest.Factors != 2 || c.OneStandardError.Factors != 2 ||
			!math.IsInf(c.Curve[0].Error, 1) || !math.IsInf(c.Curve[2].Error, 1) {
			t.Errorf("%d partitions: %+v, %v", partitions, c, err)
		}
	}
	c, err := rank.BlockwiseCV(t.Context(), x, method, rank.Settings{Factors: []int{1}, Betas: []float64{0, 1}})
	if err != nil || !math.IsInf(c.Lowest.Error, 1) {
		t.Errorf("no candidate can be fitted: %+v, %v", c, err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	zero := mat.NewDense(20, 20, nil)
	empty := mat.DenseCopyOf(zero)
	for i := range 20 {
		for j := range 20 {
			if i > 0 || j > 1 {
				empty.Set(i, j, math.NaN()) // two cells are left, for ten folds
			}
		}
	}
	fine := rank.Settings{Factors: []int{1}, Betas: []float64{0.1}}
	with := func(change func(*rank.Settings)) rank.Settings {
		s := fine
		change(&s)
		return s
	}
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		x    *mat.Dense
		s    rank.Settings
		fit  func(solver.Candidate, *mat.Dense) (*mat.Dense, error)
		want error
	}{
		"no matrix":     {nil, fine, nil, solver.ErrShape},
		"no candidates": {zero, rank.Settings{Betas: []float64{1}}, nil, solver.ErrSettings},
		"no penalties":  {zero, rank.Settings{Factors: []int{1}}, nil, solver.ErrSettings},
		"too many factors": {
			zero, with(func(s *rank.Settings) { s.Factors = []int{21} }), nil, solver.ErrSettings,
		},
		"no factors": {
			zero, with(func(s *rank.Settings) { s.Factors = []int{0} }), nil, solver.ErrSettings,
		},
		"negative penalty": {
			zero, with(func(s *rank.Settings) { s.Betas = []float64{-1} }), nil, solver.ErrSettings,
		},
		"fewer than threads": {zero, with(func(s *rank.Settings) { s.Threads = -1 }), nil, solver.ErrSettings},
		"other strata": {
			zero, with(func(s *rank.Settings) { s.Strata = mat.NewDense(3, 1, nil) }), nil, solver.ErrShape,
		},
		"nothing observed in a fold": {empty, fine, nil, rank.ErrEmptyFold},
		"one cell":                   {mat.NewDense(1, 1, nil), fine, nil, solver.ErrSettings},
		"an error": {
			zero, fine, func(solver.Candidate, *mat.Dense) (*mat.Dense, error) { return nil, broken }, broken,
		},
		"no number": {zero, fine, constant(map[solver.Candidate]float64{at(1, 0.1): math.NaN()}), rank.ErrFit},
	} {
		if test.fit == nil {
			test.fit = constant(nil)
		}
		if _, err := rank.BlockwiseCV(t.Context(), test.x, (&spy{fit: test.fit}).prepare,
			test.s); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
	}
	if _, err := rank.BlockwiseCV(t.Context(), empty, (&spy{}).prepare, fine); err == nil ||
		!strings.Contains(err.Error(), "0 observed cells in fold") {
		t.Errorf("an empty fold: got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := fine
	s.Progress = func(_, _ int) { cancel() }
	if _, err := rank.BlockwiseCV(ctx, zero, (&spy{fit: constant(nil)}).prepare, s); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
}
