package elasticnet

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/wardcast/wardcast/internal/folds"
	"github.com/wardcast/wardcast/solver"
)

// Choice is a model at the λ that cross-validation chose.
type Choice struct {
	// Lambda are the penalties that were tried, falling, with their errors on held-out rows: see CV.
	Lambda, Deviance, StandardError []float64
	// At is the index of the λ chosen: with the smallest deviance, or by OneSE the largest within one standard error.
	At           int
	Intercept    float64
	Coefficients []float64 // of the columns of X, from all rows
	// OutOfFold holds the log-odds of every row from the model of the other folds: with OneSE at the λ chosen,
	// otherwise at that of the smallest deviance on the rows of the other folds, as CV.CrossFitted.
	OutOfFold []float64
}

// Turned reports whether the smallest deviance is not that of the last λ, so that smaller λ need not be tried.
func (c *Choice) Turned() bool {
	return slices.Index(c.Deviance, slices.Min(c.Deviance)) < len(c.Deviance)-1
}

const (
	// stride is how many steps of Settings.NLambda lie between the λ tried first; the best is then sought in between.
	stride          = 4
	searchTolerance = 5 // how many times the tolerance is enough to find the best λ
)

// Choose fits the rows outside each fold by falling λ until the deviance of the held-out rows rises, seeks the best λ
// by a parabola through the three around the smallest deviance, and fits all rows at that λ. It is meant for many rows:
// its cost for each λ is some tens of reads of B, where CrossValidate reads all entries of X and a copy of them for
// each fold.
//
// Of the settings it takes Alpha, PenaltyFactors, NLambda, LambdaMinRatio, OneSE, Tolerance and Threads; columns are
// penalized as they are. The minimum at each λ is that of CrossValidate, to the tolerance: a step that promises to
// lower the objective by less than Tolerance times the null model's ends the search. Folds run on up to
// Settings.Threads goroutines, whose number does not change a bit. The errors are those of CrossValidate, and a λ that
// is not solved is one.
func (x *Product) Choose(ctx context.Context, y []bool, foldOf []int, s Settings) (*Choice, error) {
	s = s.withDefaults(x.n, x.p)
	if err := s.check(x.p); err != nil {
		return nil, err
	}
	if s.Standardize || s.Lambda != nil {
		return nil, fmt.Errorf("%w: a product of matrices is fitted as it is, along a computed path",
			solver.ErrSettings)
	}
	if len(y) != x.n || len(foldOf) != x.n {
		return nil, fmt.Errorf("%w: %d labels and %d fold numbers for %d rows", solver.ErrShape, len(y),
			len(foldOf), x.n)
	}
	count, err := folds.Count(foldOf)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", solver.ErrShape, err)
	}
	c := &search{x: x, y: y, folds: foldOf, settings: s, squares: x.squares(), models: make([]*quasiNewton, count)}
	return c.run(ctx)
}

type search struct {
	x        *Product
	y        []bool
	folds    []int
	settings Settings
	squares  []float64
	models   []*quasiNewton // by fold, on the rows outside it
	tried    []trial        // λ falling
}

type trial struct {
	lambda, deviance, standardError float64
	held                            []float64   // sum of the deviances of each fold's rows
	beta                            [][]float64 // by fold
}

func (c *search) run(ctx context.Context) (*Choice, error) {
	all, err := c.model(everyRow, c.settings.Threads)
	if err != nil {
		return nil, err
	}
	if status := all.solve(ctx, unpenalizedOnly, c.settings.Tolerance); status != Complete {
		return nil, c.failed(ctx, "the unpenalized columns", status)
	}
	if err := c.eachFold(func(f int) (err error) {
		c.models[f], err = c.model(func(i int) bool { return c.folds[i] != f }, 1)
		return err
	}); err != nil {
		return nil, err
	}
	if err := c.descend(ctx, all.largest()); err != nil {
		return nil, err
	}
	if err := c.refine(ctx); err != nil {
		return nil, err
	}
	at := c.best()
	if c.settings.OneSE {
		bound := c.tried[at].deviance + c.tried[at].standardError
		at = slices.IndexFunc(c.tried, func(t trial) bool { return t.deviance <= bound })
	}
	return c.finish(ctx, all, at)
}

const unpenalizedOnly = math.MaxFloat32 // a λ that keeps every penalized coefficient at 0

func (c *search) model(keep func(int) bool, threads int) (*quasiNewton, error) {
	l, err := newLoss(c.x, c.y, threads, keep)
	if err != nil {
		return nil, err
	}
	sums, rows := l.classSums()
	factors := append(c.settings.factors(c.x.p, sums, rows), 0) // none for the intercept
	q := newQuasiNewton(l, c.settings, factors, c.squares)
	copy(q.notPositive, c.settings.NotPositive)
	return q, nil
}

func (c *search) eachFold(work func(f int) error) error {
	return eachFold(c.settings.Threads, len(c.models), work)
}

func (c *search) failed(ctx context.Context, what string, status Status) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("fitting %s: %w", what, status.Err())
}

// descend tries every stride-th λ of the path until the deviance has turned.
func (c *search) descend(ctx context.Context, largest float64) error {
	if largest == 0 {
		return c.try(ctx, 0, c.settings.Tolerance, 0)
	}
	for lambda := largest; lambda >= turnRatio*largest && c.best() == len(c.tried)-1; lambda *= c.step() {
		if err := c.try(ctx, lambda, searchTolerance*c.settings.Tolerance, len(c.tried)); err != nil {
			return err
		}
	}
	return nil
}

// step returns the ratio of one λ that is tried to the one before.
func (c *search) step() float64 {
	return math.Pow(c.settings.LambdaMinRatio, stride/float64(max(1, c.settings.NLambda-1)))
}

// refine tries the λ at the bottom of the parabola through the best λ and its neighbours, this time to the tolerance.
// At an end of those that were tried there is no parabola; the best λ is fitted again.
func (c *search) refine(ctx context.Context) error {
	at := c.best()
	best, shift := c.tried[at], 0.0
	if at > 0 && at < len(c.tried)-1 {
		before, after := c.tried[at-1].deviance-best.deviance, c.tried[at+1].deviance-best.deviance
		if bend := before + after; bend > 0 {
			shift = (before - after) / (2 * bend) // in strides, from −½ to ½
		}
	}
	if err := c.eachFold(func(f int) error {
		c.models[f].start(best.beta[f])
		return nil
	}); err != nil {
		return err
	}
	place := at
	switch {
	case shift == 0:
		c.tried = slices.Delete(c.tried, at, at+1)
	case shift > 0:
		place++
	}
	return c.try(ctx, best.lambda*math.Pow(c.step(), shift), c.settings.Tolerance, place)
}

// try fits every fold at a λ, which gets a place among those that were tried, and measures the held-out rows.
func (c *search) try(ctx context.Context, lambda, tolerance float64, place int) error {
	t := trial{lambda: lambda, beta: make([][]float64, len(c.models))}
	deviances, sizes := make([]float64, len(c.models)), make([]float64, len(c.models))
	if err := c.eachFold(func(f int) error {
		m := c.models[f]
		if status := m.solve(ctx, lambda, tolerance); status != Complete {
			return c.failed(ctx, fmt.Sprintf("lambda %v", lambda), status)
		}
		t.beta[f] = slices.Clone(m.beta)
		c.heldOut(f, m.beta, func(i int, eta float64) {
			deviances[f] -= 2 * math.Log(likelihood(eta, c.y[i]))
			sizes[f]++
		})
		return nil
	}); err != nil {
		return err
	}
	t.held = deviances
	t.deviance, t.standardError = foldMean(deviances, sizes)
	c.tried = slices.Insert(c.tried, place, t)
	return nil
}

// heldOut calls yield with the log-odds of the rows of a fold.
func (c *search) heldOut(f int, beta []float64, yield func(i int, eta float64)) {
	p := c.x.p
	base := c.x.base(beta[:p])
	for i, fold := range c.folds {
		if fold == f {
			yield(i, beta[p]+c.x.row(i, base))
		}
	}
}

// best returns the index of the largest λ of the smallest deviance, −1 before any was tried.
func (c *search) best() int {
	at := -1
	for l, t := range c.tried {
		if at < 0 || t.deviance < c.tried[at].deviance {
			at = l
		}
	}
	return at
}

// without returns the λ of the smallest deviance on the rows outside a fold.
func (c *search) without(fold int) *trial {
	var best *trial
	least := math.Inf(1)
	for l := range c.tried {
		t := &c.tried[l]
		if sum := floats.Sum(t.held) - t.held[fold]; best == nil || sum < least {
			best, least = t, sum
		}
	}
	return best
}

// finish fits all rows, from the mean of the folds on, and predicts the held-out ones.
func (c *search) finish(ctx context.Context, all *quasiNewton, at int) (*Choice, error) {
	chosen := c.tried[at]
	out := &Choice{At: at, OutOfFold: make([]float64, c.x.n)}
	for _, t := range c.tried {
		out.Lambda, out.Deviance, out.StandardError = append(out.Lambda, t.lambda), append(out.Deviance, t.deviance),
			append(out.StandardError, t.standardError)
	}
	mean := make([]float64, c.x.p+1)
	for f, beta := range chosen.beta {
		for j, b := range beta {
			mean[j] += b / float64(len(chosen.beta))
		}
		if !c.settings.OneSE {
			beta = c.without(f).beta[f]
		}
		c.heldOut(f, beta, func(i int, eta float64) { out.OutOfFold[i] = eta })
	}
	all.start(mean)
	if status := all.solve(ctx, chosen.lambda, c.settings.Tolerance); status != Complete {
		return nil, c.failed(ctx, fmt.Sprintf("lambda %v", chosen.lambda), status)
	}
	out.Coefficients, out.Intercept = all.beta[:c.x.p], all.beta[c.x.p]
	return out, nil
}
