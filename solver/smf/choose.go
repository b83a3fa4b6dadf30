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
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/folds"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

// DefaultFolds is the number of parts of a cross-validation.
const DefaultFolds = 5

// hopeless times the lowest log loss on a path of falling ν ends the path: smaller ν would overfit the training part
// even more and need more updates.
const hopeless = 1.25

// leastProbability bounds the probability of the true class in the log loss, so that a single document cannot dominate.
const leastProbability = 1e-15

// The candidates in the units that Search describes. The labels dominate at the smallest ξ, the reconstruction at the
// largest.
var (
	defaultXi    = [...]float64{0.1, 1, 10, 100, 1000}
	defaultRidge = [...]float64{0.001, 0.01, 0.03, 0.1, 0.3, 1}
)

// Search is the grid of a cross-validation.
type Search struct {
	// Method and Solver are the settings of every run. Their Xi, Ridge and Rank are replaced. Start factors and a
	// Recorder are errors.
	Method Settings
	Solver solver.Settings
	// Xi and Ridge are the candidates. Empty ones mean {0.1, 1, 10, 100, 1000} and {0.001, 0.01, 0.03, 0.1, 0.3, 1}, in
	// units that make the choice the same for any multiple of X: with s = ‖X‖²/n before Prepare, which should keep it,
	// 1/s for ξ, s for ν of SMF-W, where A holds coefficients of entries of X, and 1 for ν of SMF-H, where A holds
	// log-odds.
	Xi, Ridge []float64
	// Ranks are the candidates for the rank; empty means Solver.Rank alone.
	Ranks []int
	// FoldOf is the fold of each document, counted from 0. If it is nil, each class is spread evenly over Folds folds
	// at random, by Seed; 0 folds mean DefaultFolds.
	FoldOf []int
	Folds  int
	Seed   uint64
	// Prepare, if not nil, is called for each run with the training part of X. The function that it returns is applied
	// to both parts, as for scaling by the statistics of the training part alone. Several goroutines may call it at
	// once.
	Prepare func(train mat.Matrix) (apply func(mat.Matrix) mat.Matrix)
	// ClassWeights, if Balanced, weighs the training part of each run by its own labels. The held-out results are still
	// weighted by Data.Weights.
	ClassWeights ClassWeights
	// Progress, if not nil, is called after each run with the number of runs that are done or skipped, and the number
	// of all runs. Several goroutines may call it at once.
	Progress func(done, total int)
}

// Candidate is one combination with its held-out results.
type Candidate struct {
	Xi    float64 `json:"xi"`
	Ridge float64 `json:"ridge"`
	Rank  int     `json:"rank"`
	// LogLoss is the mean over held-out documents of −log of the probability of the true class, weighted if there are
	// weights. StandardError is the standard error of that mean, over the folds.
	LogLoss       float64 `json:"log_loss"`
	StandardError float64 `json:"standard_error"`
	// Accuracy is the weighted share of held-out documents whose class was predicted.
	Accuracy float64 `json:"accuracy"`
}

// Choice is the outcome of a cross-validation.
type Choice struct {
	// Best is the candidate with the least log loss, the first of several.
	Best Candidate
	// Candidates are all with finite results, ranks outermost and ridges innermost.
	Candidates []Candidate
	// LogOdds is n×κ: Prediction.LogOdds of each document, by the run of Best that did not see the document.
	LogOdds *mat.Dense
	// FoldOf is the fold of each document.
	FoldOf []int
}

// Choose cross-validates every combination of candidates on the n×p matrix X.
//
// A run factorizes the documents outside a fold. For each rank, the first run has the largest ξ and ν and begins at the
// start of Solver. Each other run begins where the run with the next larger ν ended, or, for the largest ν, where that
// with the next larger ξ ended. For each ξ the path of ν ends when the log loss over all folds is a quarter above its
// lowest. A run that ends at its limit of updates counts like any other. A matrix that is neither a *mat.Dense nor a
// *matrix.CSR is copied once through At.
//
// The folds of a candidate run on up to Solver.Threads goroutines, each with a copy of its rows; the result does not
// depend on their number. The cost is folds × candidates runs, the factors of two runs for each fold, and n·κ numbers
// for each candidate.
//
// It returns an error that wraps ErrLabels if the documents of a class are not in at least two folds, solver.ErrShape
// or solver.ErrSettings for unusable folds, ctx.Err() when ctx ends, solver.NonFinite.Err() if no candidate is finite,
// and the errors of New and solver.Solve.
func Choose(ctx context.Context, x mat.Matrix, data Data, search Search) (*Choice, error) {
	count, err := search.complete(x, &data)
	if err != nil {
		return nil, fmt.Errorf("cross-validating: %w", err)
	}
	if dense, _ := linalg.Stored(x); dense != nil {
		x = dense
	}
	c := &validation{Search: search, x: x, data: data, folds: make([]path, count)}
	for _, rank := range search.Ranks {
		for _, xi := range search.Xi {
			for _, ridge := range search.Ridge {
				c.candidates = append(c.candidates, trial{Candidate: Candidate{Xi: xi, Ridge: ridge, Rank: rank}})
			}
		}
	}
	if err := c.follow(ctx); err != nil {
		return nil, err
	}
	choice := &Choice{FoldOf: c.FoldOf}
	for _, t := range c.candidates {
		if t.odds == nil || math.IsNaN(t.LogLoss) {
			continue
		}
		if len(choice.Candidates) == 0 || t.LogLoss < choice.Best.LogLoss {
			choice.Best, choice.LogOdds = t.Candidate, t.odds
		}
		choice.Candidates = append(choice.Candidates, t.Candidate)
	}
	if len(choice.Candidates) == 0 {
		return nil, fmt.Errorf("cross-validating: %w", solver.NonFinite.Err())
	}
	return choice, nil
}

// unitDigits rounds the unit of the default candidates, because users read them.
const unitDigits = 12

// complete fills in defaults, checks the search and returns the number of folds.
func (s *Search) complete(x mat.Matrix, data *Data) (count int, err error) {
	if err := data.check(); err != nil {
		return 0, fmt.Errorf("reading the labels: %w", err)
	}
	n, _ := x.Dims()
	if len(data.Labels) != n {
		return 0, fmt.Errorf("%w: %d labels for %d documents", solver.ErrShape, len(data.Labels), n)
	}
	if s.Solver.StartTopics != nil || s.Solver.StartScores != nil || s.Method.StartHead != nil ||
		s.Solver.Recorder != nil {
		return 0, fmt.Errorf("%w: a cross-validation cannot use start factors or a recorder", solver.ErrSettings)
	}
	size := linalg.OperatorOf(x, 0).NormSquared() / float64(n)
	if !(size > 0) {
		size = 1
	}
	// rows of length 1 have a size of 1
	size, _ = strconv.ParseFloat(strconv.FormatFloat(size, 'g', unitDigits, 64), 64)
	if len(s.Xi) == 0 {
		s.Xi = lists.Map(defaultXi[:], func(v float64) float64 { return v / size })
	}
	if s.Method.Variant == VariantH {
		size = 1
	}
	if len(s.Ridge) == 0 {
		s.Ridge = append(s.Ridge, defaultRidge[:]...)
		floats.Scale(size, s.Ridge)
	}
	if len(s.Ranks) == 0 {
		s.Ranks = []int{s.Solver.Rank}
	}
	if s.FoldOf == nil {
		if s.Folds = cmp.Or(s.Folds, DefaultFolds); s.Folds < 2 {
			return 0, fmt.Errorf("%w: %d folds", solver.ErrSettings, s.Folds)
		}
		s.FoldOf = folds.Spread(data.Labels, data.Classes, s.Folds, s.Seed)
	}
	return checkFolds(s.FoldOf, *data)
}

// checkFolds returns the number of folds. It rejects an empty fold, and a class whose documents are all in one fold: a
// model that never saw a class cannot predict it.
func checkFolds(foldOf []int, data Data) (count int, err error) {
	if len(foldOf) != len(data.Labels) {
		return 0, fmt.Errorf("%w: %d folds for %d labels", solver.ErrShape, len(foldOf), len(data.Labels))
	}
	if count, err = folds.Count(foldOf); err != nil {
		return 0, fmt.Errorf("%w: %w", solver.ErrSettings, err)
	}
	// the fold of each class; count if it is in several
	documents, in := make([]int, data.Classes), slices.Repeat([]int{-1}, data.Classes)
	for i, y := range data.Labels {
		documents[y]++
		if in[y] < 0 {
			in[y] = foldOf[i]
		} else if in[y] != foldOf[i] {
			in[y] = count
		}
	}
	for class, f := range in {
		if f < count {
			return 0, fmt.Errorf("%w: class %d occurs in one fold only, with %d documents", ErrLabels, class,
				documents[class])
		}
	}
	return count, nil
}

// selectRows returns some documents of a stored matrix and their data.
func selectRows(x mat.Matrix, data Data, rows []int) (mat.Matrix, Data) {
	s := Data{
		Classes: data.Classes, Aux: linalg.SelectRows(data.Aux, rows),
		Labels: lists.Take(data.Labels, rows), Weights: lists.Take(data.Weights, rows),
	}
	dense, sparse := linalg.Stored(x)
	if sparse != nil {
		return sparse.SelectRows(rows), s
	}
	return linalg.SelectRows(dense, rows), s
}

type validation struct {
	Search
	x          mat.Matrix
	data       Data
	candidates []trial
	folds      []path
	done       atomic.Int64 // runs
}

// trial is a candidate with its log-odds of all documents, n×κ, nil if it did not run.
type trial struct {
	Candidate
	odds *mat.Dense
}

// path holds the first and the last run of a fold along ν, from which later runs start; nil before the first run.
type path struct{ first, last *solver.Result }

// evaluate runs a candidate on each fold and measures it. The first candidate of a path starts anew.
func (c *validation) evaluate(ctx context.Context, t *trial, first bool) error {
	t.odds = mat.NewDense(len(c.data.Labels), c.data.Classes-1, nil)
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(linalg.Threads(c.Solver.Threads).Limit())
	for number := range c.folds {
		work.Go(func() error {
			err := c.run(ctx, t, number, first)
			if err != nil && ctx.Err() == nil {
				return fmt.Errorf("cross-validating: fold %d: %w", number+1, err)
			}
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return err
	}
	c.measure(t)
	return nil
}

func (c *validation) follow(ctx context.Context) error {
	xis, ridges := descending(c.Xi), descending(c.Ridge)
	for r := range c.Ranks {
		clear(c.folds)
		for _, x := range xis {
			least := math.Inf(1)
			for at, v := range ridges {
				t := &c.candidates[(r*len(xis)+x)*len(ridges)+v]
				if err := c.evaluate(ctx, t, at == 0); err != nil {
					return err
				}
				if t.LogLoss > hopeless*least {
					c.advance((len(ridges) - 1 - at) * len(c.folds))
					break
				}
				if t.LogLoss < least { // false for NaN
					least = t.LogLoss
				}
			}
		}
	}
	return nil
}

func (c *validation) advance(runs int) {
	if done := c.done.Add(int64(runs)); runs > 0 && c.Progress != nil {
		c.Progress(int(done), len(c.candidates)*len(c.folds))
	}
}

// run fits one candidate to the documents outside a fold and stores its log-odds of the documents in it. It starts from
// the run before; the first run of a path starts from the first run of the path before.
func (c *validation) run(ctx context.Context, t *trial, fold int, first bool) error {
	outside, inside := folds.Split(c.FoldOf, fold)
	x, data := selectRows(c.x, c.data, outside)
	held, heldData := selectRows(c.x, c.data, inside)
	if c.Prepare != nil {
		apply := c.Prepare(x)
		x, held = apply(x), apply(held)
	}
	if weights := c.ClassWeights.Weights(data.Labels); weights != nil {
		data.Weights = weights
	}
	along := &c.folds[fold]
	from := along.last
	if first {
		from = along.first
	}
	settings, run := c.Method, c.Solver
	if run.Threads > 0 { // 0 leaves the number to the scheduler
		run.Threads = max(1, run.Threads/len(c.folds))
	}
	settings.Xi, settings.Ridge, run.Rank = t.Xi, t.Ridge, t.Rank
	if from != nil && from.Status != solver.NonFinite {
		run.StartTopics, run.StartScores, settings.StartHead = from.Topics, from.Scores, from.Head
	}
	method, err := New(data, settings)
	if err != nil {
		return err
	}
	result, err := solver.Solve(ctx, x, run, method)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	model := method.Model(result)
	model.Threads = run.Threads
	p, err := model.Predict(held, heldData.Aux)
	if err != nil {
		return err
	}
	for from, to := range inside {
		t.odds.SetRow(to, p.LogOdds.RawRowView(from))
	}
	if along.last = result; first {
		along.first = result
	}
	c.advance(1)
	return nil
}

func descending(values []float64) []int {
	return linalg.Order(len(values), func(a, b int) int { return cmp.Compare(values[b], values[a]) })
}

// measure fills in the results of a candidate. They are NaN if one of its log-odds is.
func (c *validation) measure(t *trial) {
	of := labels{class: c.data.Labels, weights: c.data.Weights}
	losses, weights := make([]float64, len(c.folds)), make([]float64, len(c.folds))
	p := make([]float64, c.data.Classes-1)
	var loss, right, weight float64
	for i, y := range c.data.Labels {
		w, f := of.weight(i), c.FoldOf[i]
		l := w * min(softmax(p, t.odds.RawRowView(i), y), -math.Log(leastProbability))
		losses[f] += l
		weights[f] += w
		loss += l
		weight += w
		if mostProbable(t.odds.RawRowView(i)) == y {
			right += w
		}
	}
	t.LogLoss, t.Accuracy = loss/weight, right/weight
	var squares, used float64
	for f, w := range weights {
		if w > 0 {
			d := losses[f]/w - t.LogLoss
			squares += d * d
			used++
		}
	}
	t.StandardError = math.Sqrt(squares / (used * max(1, used-1)))
}
