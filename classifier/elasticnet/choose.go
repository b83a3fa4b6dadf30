package elasticnet

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/wardcast/wardcast/internal/folds"
	"github.com/wardcast/wardcast/internal/lists"
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
	if len(y) != x.n {
		return nil, fmt.Errorf("%w: %d labels for %d rows", solver.ErrShape, len(y), x.n)
	}
	return x.choose(ctx, y, foldOf, s, nil)
}

func (x *Product) choose(ctx context.Context, y []bool, foldOf []int, s Settings, remote *meeting) (*Choice, error) {
	s = s.withDefaults(len(y), x.p)
	if err := s.check(x.p); err != nil {
		return nil, err
	}
	if s.Standardize || s.Lambda != nil {
		return nil, fmt.Errorf("%w: a product of matrices is fitted as it is, along a computed path",
			solver.ErrSettings)
	}
	if len(foldOf) != len(y) {
		return nil, fmt.Errorf("%w: %d labels and %d fold numbers", solver.ErrShape, len(y), len(foldOf))
	}
	count, err := folds.Count(foldOf)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", solver.ErrShape, err)
	}
	c := &search{
		x: x, y: y, folds: foldOf, settings: s, squares: x.squares(), models: make([]*quasiNewton, count),
		remote: remote,
	}
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
	remote   *meeting       // has the rows, of which x then holds a sample; or nil
}

type trial struct {
	lambda, deviance, standardError float64
	held                            []float64   // sum of the deviances of each fold's rows
	beta                            [][]float64 // by fold
}

func (c *search) run(ctx context.Context) (*Choice, error) {
	all, err := c.model(everyFold, c.settings.Threads)
	if err != nil {
		return nil, err
	}
	if err := c.solve(ctx, all, unpenalizedOnly, c.settings.Tolerance); err != nil {
		return nil, err
	}
	if err := c.eachFold(func(f int) (err error) {
		c.models[f], err = c.model(f, 1)
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

// model returns the model of the rows outside a fold.
func (c *search) model(fold, threads int) (*quasiNewton, error) {
	l := newLoss(c.x, c.y, threads, c.folds, fold)
	if err := l.check(); err != nil {
		return nil, err
	}
	l.remote = c.remote
	base, rows, err := l.classSums()
	if err != nil {
		return nil, err
	}
	var sums [2][]float64
	for class := range sums {
		sums[class] = make([]float64, c.x.p)
		c.x.addFeatures(sums[class], base[class])
	}
	factors := append(c.settings.factors(c.x.p, sums, rows), 0) // none for the intercept
	q := newQuasiNewton(l, c.settings, factors, c.squares)
	copy(q.notPositive, c.settings.NotPositive)
	return q, nil
}

func (c *search) eachFold(work func(f int) error) error {
	if c.remote == nil {
		return eachFold(c.settings.Threads, len(c.models), work)
	}
	c.remote.enter(len(c.models))
	return eachFold(len(c.models), len(c.models), func(f int) error {
		defer c.remote.enter(-1)
		return work(f)
	})
}

// solve moves the estimate of a model to the minimum at λ.
func (c *search) solve(ctx context.Context, m *quasiNewton, lambda, tolerance float64) error {
	status := m.solve(ctx, lambda, tolerance)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case c.remote != nil && c.remote.failed() != nil:
		return c.remote.failed()
	case status != Complete:
		return fmt.Errorf("fitting lambda %v: %w", lambda, status.Err())
	}
	return nil
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
		err := c.solve(ctx, m, lambda, tolerance)
		if err == nil {
			t.beta[f] = slices.Clone(m.beta)
			deviances[f], sizes[f], err = c.deviance(f, m.beta)
		}
		return err
	}); err != nil {
		return err
	}
	t.held = deviances
	t.deviance, t.standardError = foldMean(deviances, sizes)
	c.tried = slices.Insert(c.tried, place, t)
	return nil
}

// here returns the rows in this process.
func (c *search) here() Shard { return Shard{Product: c.x, Y: c.y, Folds: c.folds} }

// at returns the point of a fold at its coefficients.
func (c *search) at(f int, beta []float64) Point {
	return Point{Fold: f, Held: true, Base: c.x.base(beta[:c.x.p]), Intercept: beta[c.x.p]}
}

// deviance returns the sum of the deviances of the rows of a fold, and their number.
func (c *search) deviance(f int, beta []float64) (sum, rows float64, err error) {
	at := c.at(f, beta)
	if c.remote != nil {
		s := c.remote.slope(at)
		return s.Loss, s.Rows, c.remote.failed()
	}
	s := c.here().deviance(at)
	return s.Loss, s.Rows, nil
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

// finish fits all rows, from the mean of the folds on, and predicts the held-out ones.
func (c *search) finish(ctx context.Context, all *quasiNewton, at int) (*Choice, error) {
	chosen := c.tried[at]
	out := &Choice{At: at}
	for _, t := range c.tried {
		out.Lambda, out.Deviance, out.StandardError = append(out.Lambda, t.lambda), append(out.Deviance, t.deviance),
			append(out.StandardError, t.standardError)
	}
	held := lists.Map(c.tried, func(t trial) []float64 { return t.held })
	mean := make([]float64, c.x.p+1)
	points := make([]Point, len(chosen.beta))
	for f, beta := range chosen.beta {
		for j, b := range beta {
			mean[j] += b / float64(len(chosen.beta))
		}
		if !c.settings.OneSE {
			beta = c.tried[leastWithout(f, held)].beta[f]
		}
		points[f] = c.at(f, beta)
	}
	var rows Remote = c.here()
	if c.remote != nil {
		rows = c.remote
	}
	var err error
	if out.OutOfFold, err = rows.LogOdds(points); err != nil {
		return nil, err
	}
	all.start(mean)
	if err := c.solve(ctx, all, chosen.lambda, c.settings.Tolerance); err != nil {
		return nil, err
	}
	out.Coefficients, out.Intercept = all.beta[:c.x.p], all.beta[c.x.p]
	return out, nil
}
