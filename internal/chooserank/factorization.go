package chooserank

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/methods"
	"github.com/wardcast/wardcast/solver/rank"
)

// factorization fills a report by bcv, bic, ccc or dispersion.
func (o *Options) factorization(ctx context.Context, x mat.Matrix, r *Report) error {
	method, _, err := methods.New(o.Method, methods.Settings{})
	if err != nil {
		return err
	}
	s := &r.Settings
	s.Init, s.MaxIter, s.RelTol = cmp.Or(o.Init, solver.InitSVD), cmp.Or(o.MaxIter, solver.DefaultMaxIter), o.RelTol
	task := &task{Options: o, method: method, settings: s}
	n, p := x.Dims()
	most := p
	switch o.Criterion {
	case BCV:
		s.Folds = cmp.Or(o.Folds, DefaultFolds)
		most = min(n-(n+s.Folds-1)/s.Folds, p-(p+s.Folds-1)/s.Folds)
	case BIC:
		most = min(n, p) - 1 // as many topics as documents or terms leave no residual
	case CCC, Dispersion:
		s.Init, s.Runs = solver.InitRandom, cmp.Or(o.Runs, DefaultRuns)
	}
	ranks := o.Ranks
	if len(ranks) == 0 {
		for k := 2; k <= min(defaultMost, most); k++ {
			ranks = append(ranks, k)
		}
	}
	if len(ranks) == 0 || ranks[len(ranks)-1] > most {
		wanted := 2
		if len(ranks) > 0 {
			wanted = ranks[len(ranks)-1]
		}
		return fmt.Errorf("%w: rank %d: %d documents and %d terms leave room for %d", solver.ErrSettings, wanted, n, p, max(most, 0))
	}
	largest := false
	switch o.Criterion {
	case BCV:
		err = task.bcv(ctx, x, ranks, r)
	case BIC:
		err = task.bic(ctx, x, ranks, r)
	default:
		largest = true
		err = task.stability(ctx, x, ranks, r)
	}
	if err != nil {
		return err
	}
	r.Unconverged = int(task.early.Load())
	best := r.choose(largest)
	if best.StandardError != nil {
		within := slices.IndexFunc(r.Curve, func(p Point) bool { return p.Value <= best.Value+*best.StandardError })
		r.OneStandardErrorRank = &r.Curve[within].Rank
	}
	return nil
}

// choose takes the rank of the least value, of equal ones the first, or of the largest value, of equal ones the last, and
// warns of equals.
func (r *Report) choose(largest bool) Point {
	var best Point
	var equal []int
	for i, point := range r.Curve {
		order := cmp.Compare(point.Value, best.Value)
		if largest {
			order = -order
		}
		switch {
		case i == 0 || order < 0:
			best, equal = point, []int{point.Rank}
		case order == 0:
			if equal = append(equal, point.Rank); largest {
				best = point
			}
		}
	}
	if r.Rank = best.Rank; len(equal) > 1 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%v are equal by %s: %d is chosen by rule", equal, r.Criterion, r.Rank))
	}
	return best
}

// rounding is the share of Σx² up to which squared residuals are rounding: relative errors of 1e-12 of an entry.
const rounding = 1e-24

// task is a method with its settings.
type task struct {
	*Options
	method   solver.Method
	settings *Settings
	early    atomic.Int64 // runs that met no tolerance
}

// solve runs the method once.
func (t *task) solve(ctx context.Context, x mat.Matrix, factors int, seed uint64) (*solver.Result, error) {
	r, err := solver.Solve(ctx, x, solver.Settings{Rank: factors, Init: t.settings.Init, Seed: seed, MaxIter: t.settings.MaxIter, RelTol: t.settings.RelTol}, t.method)
	if err != nil {
		return nil, err
	}
	switch r.Status {
	case solver.Cancelled:
		return nil, context.Cause(ctx)
	case solver.NonFinite:
		return nil, fmt.Errorf("factorizing with %d topics: %w", factors, r.Status.Err())
	}
	if r.Status.Early() {
		t.early.Add(1)
	}
	return r, nil
}

func (t *task) bcv(ctx context.Context, x mat.Matrix, ranks []int, r *Report) error {
	fit := func(ctx context.Context, x mat.Matrix, factors int) (topics, scores *mat.Dense, err error) {
		result, err := t.solve(ctx, x, factors, t.Seed)
		if err != nil {
			return nil, nil, err
		}
		return result.Topics, result.Scores, nil
	}
	topics, scores := signs(t.Method)
	curve, err := rank.BiCrossValidate(ctx, x, fit, rank.BiCrossSettings{
		Factors: ranks, Folds: t.settings.Folds, NonNegativeTopics: topics, NonNegativeScores: scores, Seed: t.Seed, Progress: t.Progress,
	})
	if err != nil {
		return err
	}
	n, p := x.Dims()
	for i := range curve {
		if curve[i].Error <= rounding*linalg.OperatorOf(x, 0).NormSquared()/float64(n*p) {
			curve[i].Error, curve[i].StandardError = 0, 0
		}
		r.Curve = append(r.Curve, Point{Rank: curve[i].Factors, Value: curve[i].Error, StandardError: &curve[i].StandardError})
	}
	return nil
}

func (t *task) bic(ctx context.Context, x mat.Matrix, ranks []int, r *Report) error {
	n, p := x.Dims()
	r.Curve = make([]Point, len(ranks))
	return t.each(ctx, len(ranks), func(ctx context.Context, i int) error {
		result, err := t.solve(ctx, x, ranks[i], t.Seed)
		if err != nil {
			return err
		}
		// Residuals of rounding count as alike, and none gives −∞.
		squares := max(solver.SquaredResidual(x, result.Topics, result.Scores), rounding*linalg.OperatorOf(x, 0).NormSquared(), math.SmallestNonzeroFloat64)
		r.Curve[i] = Point{Rank: ranks[i], Value: rank.BIC1(squares, rank.Size{Rows: n, Columns: p, Observed: n * p}, ranks[i])}
		return nil
	})
}

// stability fills in ccc or dispersion. Run s of each rank has the seed Seed + s.
func (t *task) stability(ctx context.Context, x mat.Matrix, ranks []int, r *Report) error {
	runs := t.settings.Runs
	clusters := make([][][]int, len(ranks))
	for i := range clusters {
		clusters[i] = make([][]int, runs)
	}
	err := t.each(ctx, len(ranks)*runs, func(ctx context.Context, job int) error {
		i, run := job/runs, job%runs
		result, err := t.solve(ctx, x, ranks[i], t.Seed+uint64(run))
		if err == nil {
			clusters[i][run] = rank.Assign(result.Topics, result.Scores)
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, k := range ranks {
		s, err := rank.Consensus(clusters[i])
		if err != nil {
			return err
		}
		value := s.Cophenetic
		if t.Criterion == Dispersion {
			value = s.Dispersion
		}
		r.Curve = append(r.Curve, Point{Rank: k, Value: value})
	}
	return nil
}

// each calls work for 0 … n−1, several at a time, until one fails or ctx ends.
func (t *task) each(ctx context.Context, n int, work func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	var mu sync.Mutex
	done := 0
	for i := range n {
		group.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := work(ctx, i); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if done++; t.Progress != nil {
				t.Progress(done, n)
			}
			return nil
		})
	}
	return group.Wait()
}
