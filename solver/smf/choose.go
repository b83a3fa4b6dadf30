package smf

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
)

// DefaultFolds is the number of parts of a cross-validation.
const DefaultFolds = 5

// foldStream is the second word of the seed of the folds.
const foldStream = 0x666f_6c64

// leastProbability bounds the probability of the true class in the log loss, so that one document cannot decide alone.
const leastProbability = 1e-15

// defaultXi and defaultRidge are the candidates in natural units; see Search.
var (
	defaultXi    = [...]float64{0.01, 0.1, 1, 10}
	defaultRidge = [...]float64{0.001, 0.01, 0.1, 1, 10}
)

// Search says what a cross-validation tries.
type Search struct {
	// Method and Solver are the settings of every run; Xi, Ridge and Rank are replaced. Start factors are not taken.
	Method Settings
	Solver solver.Settings
	// Xi and Ridge are the candidates. Empty ones mean {0.01, 0.1, 1, 10} and {0.001, 0.01, 0.1, 1, 10} in units that
	// follow the scale of X: with s = ‖X‖²/n, 1/s for ξ, and for ν s with SMF-W and 1 with SMF-H.
	Xi, Ridge []float64
	// Ranks are the candidates for the rank; empty means Solver.Rank alone.
	Ranks []int
	// Folds is the number of parts; 0 means DefaultFolds.
	Folds int
	// Seed draws the parts.
	Seed uint64
	// Prepare, where it is not nil, is called with the training part of X of each fold; what it returns is applied to both
	// parts. It is for scaling with the statistics of training alone (linalg.Standardized).
	Prepare func(train linalg.Operator) (apply func(linalg.Operator) linalg.Operator)
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

// Choose cross-validates every combination of candidates on the n×p matrix X and returns the one of the least log loss
// (of several the first), and all of them, ranks outermost and ridges innermost.
//
// Each class is spread evenly over the folds, at random by Seed. Only documents outside a fold are factorized. A run that
// ends early, at its limit of updates, counts as it is. X must be a *linalg.CSR or a linalg.Dense. The cost is folds ×
// candidates runs, one after the other.
//
// It returns an error that wraps ErrLabels where a class has fewer than two documents, ctx.Err() when ctx ends, and those
// of New and solver.Solve.
func Choose(ctx context.Context, x linalg.Operator, data Data, search Search) (*Candidate, []Candidate, error) {
	if err := search.complete(x, &data); err != nil {
		return nil, nil, fmt.Errorf("cross-validating: %w", err)
	}
	folds, err := spread(data, search.Folds, search.Seed)
	if err != nil {
		return nil, nil, fmt.Errorf("cross-validating: %w", err)
	}
	var candidates []Candidate
	for _, rank := range search.Ranks {
		for _, xi := range search.Xi {
			for _, ridge := range search.Ridge {
				candidates = append(candidates, Candidate{Xi: xi, Ridge: ridge, Rank: rank})
			}
		}
	}
	tallies := make([]tally, len(candidates))
	for fold := range search.Folds {
		train, test, err := split(x, data, folds, fold)
		if err != nil {
			return nil, nil, fmt.Errorf("cross-validating: %w", err)
		}
		if search.Prepare != nil {
			apply := search.Prepare(train.x)
			train.x, test.x = apply(train.x), apply(test.x)
		}
		for i := range candidates {
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			if err := search.hold(ctx, &candidates[i], [2]part{train, test}, &tallies[i]); err != nil {
				return nil, nil, fmt.Errorf("cross-validating: fold %d: %w", fold+1, err)
			}
		}
	}
	best := &candidates[0]
	for i := range candidates {
		tallies[i].finish(&candidates[i])
		if candidates[i].LogLoss < best.LogLoss {
			best = &candidates[i]
		}
	}
	chosen := *best
	return &chosen, candidates, nil
}

// complete fills in defaults and refuses what cannot be done.
func (s *Search) complete(x linalg.Operator, data *Data) error {
	if err := data.check(); err != nil {
		return fmt.Errorf("reading the labels: %w", err)
	}
	n, _ := x.Dims()
	if len(data.Labels) != n {
		return fmt.Errorf("%w: labels of %d documents, matrix of %d", solver.ErrShape, len(data.Labels), n)
	}
	if s.Solver.StartTopics != nil || s.Solver.StartScores != nil || s.Method.StartHead != nil {
		return fmt.Errorf("%w: a cross-validation takes no start factors", solver.ErrSettings)
	}
	size := x.NormSquared() / float64(n)
	if !(size > 0) {
		size = 1
	}
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
	if s.Folds == 0 {
		s.Folds = DefaultFolds
	}
	if s.Folds < 2 {
		return fmt.Errorf("%w: %d folds", solver.ErrSettings, s.Folds)
	}
	return nil
}

// spread returns the fold of each document.
func spread(data Data, folds int, seed uint64) ([]int, error) {
	of := make([]int, len(data.Labels))
	random := rand.New(rand.NewPCG(seed, foldStream))
	next := 0
	for class := range data.Classes {
		var members []int
		for i, y := range data.Labels {
			if y == class {
				members = append(members, i)
			}
		}
		if len(members) < 2 {
			return nil, fmt.Errorf("%w: %d documents of class %d", ErrLabels, len(members), class)
		}
		random.Shuffle(len(members), func(a, b int) { members[a], members[b] = members[b], members[a] })
		for _, i := range members {
			of[i] = next % folds
			next++
		}
	}
	if next < folds {
		return nil, fmt.Errorf("%w: %d documents in %d folds", ErrLabels, next, folds)
	}
	return of, nil
}

// part is some documents with their data.
type part struct {
	x    linalg.Operator
	data Data
}

// split returns the documents outside a fold and those in it.
func split(x linalg.Operator, data Data, folds []int, fold int) (train, test part, err error) {
	var rows [2][]int
	for i, f := range folds {
		in := 0
		if f == fold {
			in = 1
		}
		rows[in] = append(rows[in], i)
	}
	parts := [2]part{}
	for i, r := range rows {
		parts[i].data = data.selectRows(r)
		switch x := x.(type) {
		case *linalg.CSR:
			parts[i].x = x.SelectRows(r)
		case linalg.Dense:
			parts[i].x = linalg.Dense{Dense: selectRows(x.Dense, r)}
		default:
			return train, test, fmt.Errorf("%w: a cross-validation needs a matrix with rows", solver.ErrSettings)
		}
	}
	return parts[0], parts[1], nil
}

func (d *Data) selectRows(rows []int) Data {
	s := Data{Classes: d.Classes}
	for _, i := range rows {
		s.Labels = append(s.Labels, d.Labels[i])
		if d.Weights != nil {
			s.Weights = append(s.Weights, d.Weights[i])
		}
	}
	if d.Aux != nil {
		s.Aux = selectRows(d.Aux, rows)
	}
	return s
}

func selectRows(a *mat.Dense, rows []int) *mat.Dense {
	_, cols := a.Dims()
	selected := mat.NewDense(len(rows), cols, nil)
	for to, from := range rows {
		selected.SetRow(to, a.RawRowView(from))
	}
	return selected
}

// hold fits a candidate to one part and adds its results on the other.
func (s *Search) hold(ctx context.Context, c *Candidate, parts [2]part, t *tally) error {
	settings, run := s.Method, s.Solver
	settings.Xi, settings.Ridge, run.Rank = c.Xi, c.Ridge, c.Rank
	method, err := New(parts[0].data, settings)
	if err != nil {
		return err
	}
	r, err := solver.Solve(ctx, parts[0].x, run, method)
	if err != nil {
		return err
	}
	prediction, err := method.Model(r).Predict(parts[1].x, parts[1].data.Aux)
	if err != nil {
		return err
	}
	t.add(prediction, parts[1].data)
	return ctx.Err()
}

// tally sums the results of the folds.
type tally struct {
	loss, right, weight float64
	means               []float64 // of the folds
}

func (t *tally) add(p *Prediction, data Data) {
	of := labels{of: data.Labels, weights: data.Weights}
	var loss, weight float64
	for i, y := range data.Labels {
		w := of.weight(i)
		loss -= w * math.Log(max(p.Probabilities.At(i, y), leastProbability))
		weight += w
		if p.Classes[i] == y {
			t.right += w
		}
	}
	t.loss += loss
	t.weight += weight
	if weight > 0 {
		t.means = append(t.means, loss/weight)
	}
}

func (t *tally) finish(c *Candidate) {
	c.LogLoss, c.Accuracy = t.loss/t.weight, t.right/t.weight
	var squares float64
	for _, m := range t.means {
		squares += (m - c.LogLoss) * (m - c.LogLoss)
	}
	folds := float64(len(t.means))
	c.StandardError = math.Sqrt(squares / (folds * max(1, folds-1)))
	if slices.ContainsFunc(t.means, math.IsNaN) {
		c.LogLoss = math.Inf(1) // a run that is not finite is never chosen
	}
}
