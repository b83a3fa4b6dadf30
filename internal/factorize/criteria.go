package factorize

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/methods"
	"github.com/wardcast/wardcast/solver/rank"
)

// rounding is the share of Σx² up to which squared residuals are rounding: relative errors of 1e-12 of an entry.
const rounding = 1e-24

// ranking computes a criterion for a factorization.
type ranking struct {
	*RankReport
	options *RankOptions
	x       mat.Matrix
	method  solver.Method
	ranks   []int
	early   atomic.Int64 // runs that met no tolerance
}

// rankTopics fills in the report of bcv, bic, ccc or dispersion.
func (o *RankOptions) rankTopics(ctx context.Context, x mat.Matrix, r *RankReport) error {
	method, _, err := methods.New(o.Method, methods.Settings{})
	if err != nil {
		return err
	}
	s := &r.Settings
	s.Init, s.MaxIter, s.RelTol = cmp.Or(o.Init, solver.InitSVD), cmp.Or(o.MaxIter, solver.DefaultMaxIter), o.RelTol
	c := &ranking{RankReport: r, options: o, x: x, method: method, ranks: o.Ranks}
	n, p := x.Dims()
	most, compute, largest := p, c.stability, true
	switch o.Criterion {
	case BCV:
		s.Folds = cmp.Or(o.Folds, DefaultFolds)
		most, compute, largest = rank.MostBiCross(n, p, s.Folds), c.bcv, false
	case BIC:
		most, compute, largest = min(n, p)-1, c.bic, false // as many topics as documents or terms leave no residual
	default:
		s.Init, s.Runs = solver.InitRandom, cmp.Or(o.Runs, DefaultRuns)
	}
	if len(c.ranks) == 0 {
		for k := 2; k <= max(2, min(defaultMost, most)); k++ {
			c.ranks = append(c.ranks, k)
		}
	}
	if last := c.ranks[len(c.ranks)-1]; last > most {
		return fmt.Errorf("%w: rank %d: %d documents and %d terms leave room for %d", solver.ErrSettings, last, n,
			p, max(most, 0))
	}
	if err := compute(ctx); err != nil {
		return err
	}
	r.Unconverged = int(c.early.Load())
	best := r.choose(largest)
	if best.StandardError != nil {
		within := slices.IndexFunc(r.Curve, func(p RankPoint) bool { return p.Value <= best.Value+*best.StandardError })
		r.OneStandardErrorRank = &r.Curve[within].Rank
	}
	return nil
}

// fit runs the method once, on one thread if their number is given: fits then run in parallel.
func (c *ranking) fit(ctx context.Context, x mat.Matrix, factors int,
	seed uint64,
) (topics, scores *mat.Dense, err error) {
	s := &c.Settings
	r, err := solver.Solve(ctx, x, solver.Settings{
		Rank: factors, Init: s.Init, Seed: seed, MaxIter: s.MaxIter,
		RelTol: solver.TolOrOff(s.RelTol), Threads: min(c.options.Threads, 1),
	}, c.method)
	if err != nil {
		return nil, nil, err
	}
	switch r.Status {
	case solver.Cancelled:
		return nil, nil, context.Cause(ctx)
	case solver.NonFinite:
		return nil, nil, fmt.Errorf("factorizing with %d topics: %w", factors, r.Status.Err())
	}
	if r.Status.Early() {
		c.early.Add(1)
	}
	return r.Topics, r.Scores, nil
}

func (c *ranking) bcv(ctx context.Context) error {
	topics, scores := signs(c.Method)
	curve, err := rank.BiCrossValidate(ctx, c.x, c.fit, rank.BiCrossSettings{
		Factors: c.ranks, Folds: c.Settings.Folds, NonNegativeTopics: topics, NonNegativeScores: scores,
		Jobs: c.options.jobs(),
	})
	if err != nil {
		return err
	}
	n, p := c.x.Dims()
	for i := range curve {
		if curve[i].Error <= rounding*linalg.OperatorOf(c.x, 0).NormSquared()/float64(n*p) {
			curve[i].Error, curve[i].StandardError = 0, 0
		}
		c.Curve = append(c.Curve,
			RankPoint{Rank: curve[i].Factors, Value: curve[i].Error, StandardError: &curve[i].StandardError})
	}
	return nil
}

func (c *ranking) bic(ctx context.Context) error {
	squares, err := rank.SquaredResiduals(ctx, c.x, c.fit, rank.RunSettings{Factors: c.ranks, Jobs: c.options.jobs()})
	n, p := c.x.Dims()
	for i, v := range squares {
		// Residuals that are only rounding count as equal, so none gives −∞.
		v = max(v, rounding*linalg.OperatorOf(c.x, 0).NormSquared(), math.SmallestNonzeroFloat64)
		c.Curve = append(c.Curve, RankPoint{Rank: c.ranks[i], Value: rank.BIC1(v, n, p, c.ranks[i])})
	}
	return err
}

// stability computes ccc or dispersion.
func (c *ranking) stability(ctx context.Context) error {
	all, err := rank.Stabilities(ctx, c.x, c.fit,
		rank.RunSettings{Factors: c.ranks, Runs: c.Settings.Runs, Jobs: c.options.jobs()})
	for i, s := range all {
		value := s.Cophenetic
		if c.Criterion == Dispersion {
			value = s.Dispersion
		}
		c.Curve = append(c.Curve, RankPoint{Rank: c.ranks[i], Value: value})
	}
	return err
}
