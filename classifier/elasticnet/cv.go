package elasticnet

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/wardcast/wardcast/internal/folds"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

// CV is a path with the errors of its λ on held-out rows.
type CV struct {
	// Path is fitted on all rows. It may hold more λ than were cross-validated.
	*Path
	// Deviance is, per λ, the mean over the held-out rows of −2·ln(likelihood), with probabilities clipped to [1e-5,
	// 1−1e-5]. StandardError is its standard error over the K folds, with w_f the weight of fold f:
	//
	//	√( Σ_f w_f (deviance_f − deviance)² / Σ_f w_f / (K−1) )
	//
	// They are glmnet's cvm and cvsd, and end before the first λ that was not solved on every fold.
	Deviance, StandardError []float64
	// IndexMin is the largest λ of the smallest deviance, Index1SE the largest within one standard error of it.
	IndexMin, Index1SE int

	problem Problem
	folds   []int
	models  []*fitter   // by fold, on the rows outside it
	sums    [][]float64 // of the deviances of each λ, by fold
}

// Turned reports whether the smallest deviance is not that of the last λ, so that smaller λ need not be tried.
func (cv *CV) Turned() bool { return cv.IndexMin < len(cv.Deviance)-1 }

const clippedProbability = 1e-5 // glmnet's smallest distance of a held-out probability from 0 and 1

// likelihood returns the clipped probability of a held-out label.
func likelihood(eta float64, positive bool) float64 {
	p := min(max(linalg.Sigmoid(eta), clippedProbability), 1-clippedProbability)
	if !positive {
		p = 1 - p
	}
	return p
}

// CrossValidate fits the path on all rows, which gives the λ, and then on the rows outside each fold. Row i is held out
// by fold foldOf[i]; folds count from 0 and none may be empty. If a fold's path ends early as Flat or Saturated, its
// last model stands for the smaller λ.
//
// Folds run on up to Settings.Threads goroutines, each with a copy of its rows. The errors are those of Fit, and
// solver.ErrShape or ErrOneClass for folds that cannot be used.
func CrossValidate(ctx context.Context, p Problem, foldOf []int, s Settings) (*CV, error) {
	s, err := prepare(p, s)
	if err != nil {
		return nil, err
	}
	if len(foldOf) != p.Design.n {
		return nil, fmt.Errorf("%w: %d fold numbers for %d rows", solver.ErrShape, len(foldOf), p.Design.n)
	}
	count, err := folds.Count(foldOf)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", solver.ErrShape, err)
	}
	cv := &CV{problem: p, folds: slices.Clone(foldOf), models: make([]*fitter, count)}
	all, err := newFitter(ctx, p, s, everyRow)
	if err != nil {
		return nil, err
	}
	cv.Path = all.Path
	lambda := sequence(all.last, s)
	step := len(lambda)
	if s.Turn && s.Lambda == nil {
		step = turnLength
	}
	for len(lambda) > 0 && !all.ended && (len(cv.Deviance) == 0 || cv.IndexMin >= len(cv.Deviance)-turnLength) {
		next := lambda[:min(step, len(lambda))]
		lambda = lambda[len(next):]
		if err := all.extend(ctx, next); err != nil {
			return nil, err
		}
		if err := cv.extend(ctx, s, next); err != nil {
			return nil, err
		}
		if cv.measure(); len(cv.Deviance) < len(cv.Lambda) {
			break
		}
	}
	bound := cv.Deviance[cv.IndexMin] + cv.StandardError[cv.IndexMin]
	cv.Index1SE = slices.IndexFunc(cv.Deviance, func(v float64) bool { return v <= bound })
	return cv, nil
}

func (cv *CV) extend(ctx context.Context, s Settings, lambda []float64) error {
	return eachFold(s.Threads, len(cv.models), func(f int) (err error) {
		if cv.models[f] == nil {
			cv.models[f], err = newFitter(ctx, cv.problem, s, func(i int) bool { return cv.folds[i] != f })
		}
		if err == nil {
			err = cv.models[f].extend(ctx, lambda)
		}
		return err
	})
}

// eachFold calls work for each fold, on several goroutines, and returns the first error in the order of the folds.
func eachFold(threads, count int, work func(f int) error) error {
	errs := make([]error, count)
	linalg.Threads(threads).Parallel(count, math.MaxInt, func(from, to int) {
		for f := from; f < to; f++ {
			errs[f] = work(f)
		}
	})
	for f, err := range errs {
		if err != nil {
			return fmt.Errorf("fitting without fold %d: %w", f, err)
		}
	}
	return nil
}

// measure adds the errors of the λ that are new, and chooses among all.
func (cv *CV) measure() {
	usable := len(cv.Lambda)
	for _, m := range cv.models {
		if m.Status.Err() != nil {
			usable = min(usable, len(m.Lambda))
		}
	}
	weights := make([]float64, len(cv.models))
	for i, f := range cv.folds {
		weights[f] += cv.problem.weight(i)
	}
	for l := len(cv.Deviance); l < usable; l++ {
		deviances := make([]float64, len(cv.models))
		for i, eta := range cv.OutOfFold(l) {
			deviances[cv.folds[i]] -= 2 * cv.problem.weight(i) * math.Log(likelihood(eta, cv.problem.Y[i]))
		}
		mean, deviation := foldMean(deviances, weights)
		cv.sums = append(cv.sums, deviances)
		cv.Deviance = append(cv.Deviance, mean)
		cv.StandardError = append(cv.StandardError, deviation)
		if mean < cv.Deviance[cv.IndexMin] {
			cv.IndexMin = l
		}
	}
}

// foldMean returns the mean of sums over folds and its standard error, without folds of weight 0.
func foldMean(sums, weights []float64) (mean, standardError float64) {
	var total, squares float64
	var folds int
	for f, w := range weights {
		mean += sums[f]
		total += w
		if w > 0 {
			folds++
		}
	}
	mean /= total
	for f, w := range weights {
		if w > 0 {
			squares += w * square(sums[f]/w-mean)
		}
	}
	if folds < 2 {
		return mean, 0
	}
	return mean, math.Sqrt(squares / total / float64(folds-1))
}

// OutOfFold returns the log-odds of every row at index l < len(Deviance) from the model that had not seen the row. At
// IndexMin they look better than those of new rows, because the row had a part in choosing it; see CrossFitted.
func (cv *CV) OutOfFold(l int) []float64 { return cv.outOfFold(func(int) int { return l }) }

// CrossFitted returns the log-odds of every row from the model that had not seen the row, at the λ of the smallest
// deviance on the other folds, so that the row had no part in its choice either.
func (cv *CV) CrossFitted() []float64 {
	return cv.outOfFold(func(fold int) int { return leastWithout(fold, cv.sums) })
}

// leastWithout returns the index of the λ with the smallest sum over the folds but one, the first of several.
func leastWithout(fold int, sums [][]float64) int {
	best, least := 0, math.Inf(1)
	for l, s := range sums {
		if sum := floats.Sum(s) - s[fold]; sum < least {
			best, least = l, sum
		}
	}
	return best
}

// outOfFold returns the log-odds of every row, from the model that had not seen it at an index by fold.
func (cv *CV) outOfFold(index func(fold int) int) []float64 {
	count := len(cv.models)
	columns := cv.problem.Design.columns
	intercepts := make([]float64, count)
	coefficients := make([]float64, count*len(columns)) // by column, then fold
	used := make([]bool, len(columns))
	for f, m := range cv.models {
		at := min(index(f), len(m.Lambda)-1)
		intercepts[f] = m.Intercept[at]
		for c, j := range m.Coefficients[at].Columns {
			coefficients[j*count+f] = m.Coefficients[at].Values[c]
			used[j] = true
		}
	}
	eta := make([]float64, len(cv.folds))
	for i, f := range cv.folds {
		eta[i] = intercepts[f]
		if cv.problem.Offset != nil {
			eta[i] += cv.problem.Offset[i]
		}
	}
	for j, c := range columns {
		if !used[j] {
			continue
		}
		byFold := coefficients[j*count : (j+1)*count]
		for e, v := range c.values {
			i := c.row(e)
			eta[i] += byFold[cv.folds[i]] * v
		}
	}
	return eta
}
