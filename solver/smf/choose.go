package smf

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/folds"
	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
)

// DefaultFolds is the number of parts of a cross-validation.
const DefaultFolds = 5

// hopeless is the log loss of all held-out documents, in units of the least of its path, from which smaller ν are not tried:
// they fit the training part closer still, at ever more updates.
const hopeless = 1.25

// leastProbability bounds the probability of the true class in the log loss, so that one document cannot decide alone.
const leastProbability = 1e-15

// defaultXi and defaultRidge are the candidates in natural units; see Search. At the least ξ the labels rule, at the largest
// the reconstruction: held-out documents are predicted alike beyond.
var (
	defaultXi    = [...]float64{0.1, 1, 10, 100, 1000}
	defaultRidge = [...]float64{0.001, 0.01, 0.03, 0.1, 0.3, 1}
)

// Search says what a cross-validation tries.
type Search struct {
	// Method and Solver are the settings of every run; Xi, Ridge and Rank are replaced. Start factors and a recorder are
	// not taken.
	Method Settings
	Solver solver.Settings
	// Xi and Ridge are the candidates. Empty ones mean {0.1, 1, 10, 100, 1000} and {0.001, 0.01, 0.03, 0.1, 0.3, 1} in
	// units that make the choice the same for any multiple of X: with s = ‖X‖²/n, 1/s for ξ, the weight of a document's
	// squared length; for ν, the weight of squares of A, s with SMF-W, where A are coefficients of entries of X, and 1
	// with SMF-H, where A are log-odds. X is as it is given: Prepare should keep s.
	Xi, Ridge []float64
	// Ranks are the candidates for the rank; empty means Solver.Rank alone.
	Ranks []int
	// FoldOf is the fold of each document, counted from 0. nil spreads each class evenly over Folds of them, 0 meaning
	// DefaultFolds, at random by Seed.
	FoldOf []int
	Folds  int
	Seed   uint64
	// Prepare, if not nil, is called for each run with the training part of X; what it returns is applied to both
	// parts. It is for scaling with the statistics of training alone (linalg.Standardized). It may be called from several
	// goroutines.
	Prepare func(train mat.Matrix) (apply func(mat.Matrix) mat.Matrix)
	// ClassWeights, if Balanced, weighs the training part of each run by its own labels, so that no label of a held-out document
	// matters. Data.Weights stay those of the results.
	ClassWeights ClassWeights
	// Progress, if not nil, is called after each run with the number of those done or left out and of all. It may
	// be called from several goroutines.
	Progress func(done, total int)
}

// Candidate is one combination with its held-out results.
type Candidate struct {
	Xi    float64 `json:"xi"`
	Ridge float64 `json:"ridge"`
	Rank  int     `json:"rank"`
	// LogLoss is the mean over held-out documents of −log of the probability of the true class, by weights where there
	// are any; StandardError is that of the mean over the folds.
	LogLoss       float64 `json:"log_loss"`
	StandardError float64 `json:"standard_error"`
	// Accuracy is the share of held-out documents of the predicted class, by weights.
	Accuracy float64 `json:"accuracy"`
}

// Choice is the outcome of a cross-validation.
type Choice struct {
	// Best is the candidate with the least log loss, the first of several.
	Best Candidate
	// Candidates are those that ran to finite results, ranks outermost and ridges innermost.
	Candidates []Candidate
	// LogOdds is n×κ: Prediction.LogOdds of each document by the factorization of Best that has not seen it.
	LogOdds *mat.Dense
	// FoldOf is the fold of each document.
	FoldOf []int
}

// Choose cross-validates every combination of candidates on the n×p matrix X.
//
// Only documents outside a fold are factorized. The first run of a rank begins at the start of Solver, at the largest ξ and ν,
// each other one where that of the next larger ν ended, or else of the next larger ξ. For each ξ the path of ν ends where the
// log loss, over all folds, is a quarter above its least. A run that ends early, at its limit of updates, counts as it is. A
// matrix that is neither a *mat.Dense nor a *matrix.CSR is copied once through At.
//
// The folds of a candidate run on up to Solver.Threads goroutines, each with a copy of its rows; the result does not depend on
// their number. The cost is folds × candidates runs, the factors of two runs for each fold, and n·κ numbers for each candidate.
//
// It returns an error that wraps ErrLabels where the documents of a class are not in two folds, solver.ErrShape or
// solver.ErrSettings for folds that do not serve, ctx.Err() when ctx ends, solver.NonFinite.Err() where no candidate is
// finite, and those of New and solver.Solve.
func Choose(ctx context.Context, x mat.Matrix, data Data, search Search) (*Choice, error) {
	count, err := search.complete(x, &data)
	if err != nil {
		return nil, fmt.Errorf("cross-validating: %w", err)
	}
	if dense, _ := linalg.Stored(x); dense != nil {
		x = dense
	}
	c := &validation{Search: search, x: x, data: data, candidates: search.candidates(), folds: make([]path, count)}
	c.odds = make([]*mat.Dense, len(c.candidates))
	if err := c.follow(ctx); err != nil {
		return nil, err
	}
	choice := &Choice{FoldOf: c.FoldOf}
	for i, candidate := range c.candidates {
		if c.odds[i] == nil || math.IsNaN(candidate.LogLoss) {
			continue
		}
		if len(choice.Candidates) == 0 || candidate.LogLoss < choice.Best.LogLoss {
			choice.Best, choice.LogOdds = candidate, c.odds[i]
		}
		choice.Candidates = append(choice.Candidates, candidate)
	}
	if len(choice.Candidates) == 0 {
		return nil, fmt.Errorf("cross-validating: %w", solver.NonFinite.Err())
	}
	return choice, nil
}

// unitDigits are the digits of the unit of default candidates, which people read.
const unitDigits = 12

// complete fills in defaults, refuses what cannot be done and returns the number of folds.
func (s *Search) complete(x mat.Matrix, data *Data) (count int, err error) {
	if err := data.check(); err != nil {
		return 0, fmt.Errorf("reading the labels: %w", err)
	}
	n, _ := x.Dims()
	if len(data.Labels) != n {
		return 0, fmt.Errorf("%w: labels of %d documents, matrix of %d", solver.ErrShape, len(data.Labels), n)
	}
	if s.Solver.StartTopics != nil || s.Solver.StartScores != nil || s.Method.StartHead != nil || s.Solver.Recorder != nil {
		return 0, fmt.Errorf("%w: a cross-validation takes no start factors and no recorder", solver.ErrSettings)
	}
	size := linalg.OperatorOf(x, 0).NormSquared() / float64(n)
	if !(size > 0) {
		size = 1
	}
	size, _ = strconv.ParseFloat(strconv.FormatFloat(size, 'g', unitDigits, 64), 64) // rows of length 1 have a size of 1
	if len(s.Xi) == 0 {
		for _, v := range defaultXi {
			s.Xi = append(s.Xi, v/size)
		}
	}
	if len(s.Ridge) == 0 {
		unit := 1.0
		if s.Method.Variant == VariantW {
			unit = size
		}
		for _, v := range defaultRidge {
			s.Ridge = append(s.Ridge, v*unit)
		}
	}
	if len(s.Ranks) == 0 {
		s.Ranks = []int{s.Solver.Rank}
	}
	if s.FoldOf == nil {
		if s.Folds == 0 {
			s.Folds = DefaultFolds
		}
		if s.Folds < 2 {
			return 0, fmt.Errorf("%w: %d folds", solver.ErrSettings, s.Folds)
		}
		s.FoldOf = folds.Spread(data.Labels, data.Classes, s.Folds, s.Seed)
	}
	return checkFolds(s.FoldOf, *data)
}

// candidates returns every combination.
func (s *Search) candidates() []Candidate {
	var all []Candidate
	for _, rank := range s.Ranks {
		for _, xi := range s.Xi {
			for _, ridge := range s.Ridge {
				all = append(all, Candidate{Xi: xi, Ridge: ridge, Rank: rank})
			}
		}
	}
	return all
}

// validation is a cross-validation under way.
type validation struct {
	Search
	x          mat.Matrix
	data       Data
	candidates []Candidate
	odds       []*mat.Dense // of each candidate, n×κ; nil where it did not run
	folds      []path
	done       atomic.Int64 // runs
}

// path holds the first and the last run of a fold along ν, nil before any, where the next ones begin.
type path struct{ first, last *solver.Result }

// each calls do with the number of each fold.
func (c *validation) each(ctx context.Context, do func(ctx context.Context, number int) error) error {
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(linalg.Threads(c.Solver.Threads).Limit())
	for number := range c.folds {
		work.Go(func() error {
			err := do(ctx, number)
			if err != nil && ctx.Err() == nil {
				return fmt.Errorf("cross-validating: fold %d: %w", number+1, err)
			}
			return err
		})
	}
	return work.Wait()
}

// follow runs the candidates along their paths. All folds together say where one ends: they are what chooses, and the few
// documents of one of them may prefer another end.
func (c *validation) follow(ctx context.Context) error {
	xis, ridges := descending(c.Xi), descending(c.Ridge)
	for r := range c.Ranks {
		for number := range c.folds {
			c.folds[number] = path{}
		}
		for _, x := range xis {
			least := math.Inf(1)
			for at, v := range ridges {
				i := (r*len(xis)+x)*len(ridges) + v
				c.odds[i] = mat.NewDense(len(c.data.Labels), c.data.Classes-1, nil)
				err := c.each(ctx, func(ctx context.Context, number int) error { return c.run(ctx, i, number, at == 0) })
				if err != nil {
					return err
				}
				c.measure(i)
				if loss := c.candidates[i].LogLoss; loss > hopeless*least {
					c.tell((len(ridges) - 1 - at) * len(c.folds))
					break
				} else if loss < least {
					least = loss
				}
			}
		}
	}
	return nil
}

// tell counts runs that are done or not needed.
func (c *validation) tell(runs int) {
	if done := c.done.Add(int64(runs)); runs > 0 && c.Progress != nil {
		c.Progress(int(done), len(c.candidates)*len(c.folds))
	}
}

// run fits one candidate to what is outside a fold, from the run before, or where it is the first of its path from the first
// of the path before, and stores its log-odds of what is in it. The parts of X are made for the run alone: those of all folds
// would take folds times the memory of X.
func (c *validation) run(ctx context.Context, i, fold int, first bool) error {
	train, test := split(c.x, c.data, c.FoldOf, fold)
	if c.Prepare != nil {
		apply := c.Prepare(train.x)
		train.x, test.x = apply(train.x), apply(test.x)
	}
	if weights := c.ClassWeights.Weights(train.data.Labels); weights != nil {
		train.data.Weights = weights
	}
	along := &c.folds[fold]
	from := along.last
	if first {
		from = along.first
	}
	settings, run := c.Method, c.Solver
	run.Threads = within(run.Threads, len(c.folds))
	settings.Xi, settings.Ridge, run.Rank = c.candidates[i].Xi, c.candidates[i].Ridge, c.candidates[i].Rank
	if from != nil && from.Status != solver.NonFinite {
		run.StartTopics, run.StartScores, settings.StartHead = from.Topics, from.Scores, from.Head
	}
	method, err := New(train.data, settings)
	if err != nil {
		return err
	}
	result, err := solver.Solve(ctx, train.x, run, method)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	model := method.Model(result)
	model.Threads = run.Threads
	p, err := model.Predict(test.x, test.data.Aux)
	if err != nil {
		return err
	}
	for from, to := range test.rows {
		c.odds[i].SetRow(to, p.LogOdds.RawRowView(from))
	}
	if along.last = result; first {
		along.first = result
	}
	c.tell(1)
	return nil
}

// within returns the threads of each of so many runs at a time, which together take no more than threads; 0 leaves the number
// to the scheduler.
func within(threads, runs int) int {
	if threads == 0 {
		return 0
	}
	return max(1, threads/runs)
}

// descending returns the order of values from the largest.
func descending(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
	return order
}

// measure fills in the results of a candidate, NaN where one of its log-odds is.
func (c *validation) measure(candidate int) {
	to, odds := &c.candidates[candidate], c.odds[candidate]
	of := labels{of: c.data.Labels, weights: c.data.Weights}
	losses, weights := make([]float64, len(c.folds)), make([]float64, len(c.folds))
	p := make([]float64, c.data.Classes-1)
	var loss, right, weight float64
	for i, y := range c.data.Labels {
		w, f := of.weight(i), c.FoldOf[i]
		l := w * min(softmax(p, odds.RawRowView(i), y), -math.Log(leastProbability))
		losses[f] += l
		weights[f] += w
		loss += l
		weight += w
		if mostProbable(odds.RawRowView(i)) == y {
			right += w
		}
	}
	to.LogLoss, to.Accuracy = loss/weight, right/weight
	var squares, used float64
	for f, w := range weights {
		if w > 0 {
			d := losses[f]/w - to.LogLoss
			squares += d * d
			used++
		}
	}
	to.StandardError = math.Sqrt(squares / (used * max(1, used-1)))
}
