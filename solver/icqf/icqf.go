package icqf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
)

// MinRho is the least ρ for which the augmented Lagrangian provably never rises without clipping Z (proposition 3.1).
const MinRho = math.Sqrt2

var (
	// ErrNoAnswers is returned for a participant, or an item, without an observed answer.
	ErrNoAnswers = errors.New("no answers")
	// ErrConfounds is returned for confounds that do not fit the answers or the model, or are outside [0, 1].
	ErrConfounds = errors.New("confounds out of range")
	// ErrNotOptimal is returned if the search for the scores of a participant does not end.
	ErrNotOptimal = errors.New("minimum not reached")
)

// Data is a questionnaire.
type Data struct {
	// Answers is n×p, a row per participant; NaN is a missing answer.
	Answers *mat.Dense
	// Confounds is n×c in [0, 1], nil for none. The caller adds mirrored columns and an intercept.
	Confounds *mat.Dense
	// Intercept means that the last of the confounds is an intercept, whose loadings have no penalty.
	Intercept bool
	// Min and Max are the range of the answers, 0 ≤ Min < Max; if both are 0, the observed range.
	Min, Max float64
}

// Inner names the algorithm for the two lasso problems of an update.
type Inner string

// The inner algorithms. Both have the same minimum.
const (
	// CoordinateDescent sets one entry at a time to its best value (appendix B).
	CoordinateDescent Inner = "cd"
	// FISTA takes accelerated proximal gradient steps (algorithm 1, with the whole weight of the penalty).
	FISTA Inner = "fista"
)

// DefaultMaxIter is the default limit of updates. An update takes milliseconds, and many factors with a small penalty
// may need thousands of them.
const DefaultMaxIter = 5000

// Settings controls a fit. Zero values mean the defaults that the fields name.
type Settings struct {
	// Rank is the number of factors k, 1 ≤ k ≤ p.
	Rank int
	// L1 is β ≥ 0 of the ℓ1 penalty, L2 that of the ridge. They weigh a score by β and a loading by β·(n/p)·Max, as in
	// the paper, unless Scaled makes them free of the unit of the answers and of their number: see the package comment.
	L1, L2 float64
	Scaled bool
	// MaxLoading bounds all loadings; 0 is no bound. Max of the answers makes every factor an answer pattern.
	MaxLoading float64
	// Inner chooses the inner algorithm; "" means CoordinateDescent.
	Inner Inner
	// Rho is ρ ≥ MinRho of every update; 0 means adapted, never below MinRho.
	Rho float64
	// MaxIter is the largest number of updates; 0 means DefaultMaxIter.
	MaxIter int
	// RelTol ends the fit when the objective changes by no more than RelTol of it for three updates in a row. 0 means
	// solver.DefaultRelTol, 1e-6; a negative one disables it.
	RelTol float64
	// Seed starts the generator of the randomized singular vectors; 0 means solver.DefaultSeed.
	Seed uint64
	// Threads is the largest number of goroutines that compute; 0 means GOMAXPROCS. The bits do not depend on it.
	Threads int
	// Recorder, when not nil, sees every iterate: Topics are the loadings, Scores the scores.
	Recorder solver.Recorder
}

// The questionnaire on which scaled penalties are those of the paper: 120 items answered 0 to 2, like the Child
// Behavior Checklist, to which the paper applies the method.
const (
	ScaledItems = 120
	ScaledMax   = 2
)

// Model scores participants. It is immutable and safe for concurrent use.
type Model struct {
	// Loadings is p×k. ConfoundLoadings is p×c, nil without confounds.
	Loadings, ConfoundLoadings *mat.Dense
	// L1 and L2 weigh the scores.
	L1, L2 float64
	// Answers is the number of answers to which L1 and L2 refer: the penalties of a participant with a answers are
	// multiplied by a/Answers. 0 means the same penalties for any number.
	Answers float64
	// Calibration, if not nil, adapts the penalties to the information about each score.
	Calibration *Calibration
	// Weights holds the weight of the squared error of each item; nil means 1 for all.
	Weights []float64
	// Noise holds the variance of each item's answers about the reconstruction, for StandardErrors.
	Noise []float64
	// Threads is the largest number of goroutines of Score and Reconstruct; 0 means GOMAXPROCS.
	Threads int
}

// Result is the outcome of a fit.
type Result struct {
	Model
	// Scores is n×k.
	Scores *mat.Dense
	// Objective is that of the package comment with every penalty of the fit, recomputed from Scores and loadings.
	Objective float64
	// LoadingsL1 and LoadingsL2 weigh the loadings, as L1 and L2 of the model weigh the scores.
	LoadingsL1, LoadingsL2 float64
	// ReconstructionError is the mean of (M − R)² over the observed answers.
	ReconstructionError float64
	// Outside is the largest distance of R from the range of the answers, 0 if it is within.
	Outside float64
	// Iterations counts the updates, Status says why they ended, Trace holds the objectives from the start on.
	Iterations int
	Status     solver.Status
	Trace      []solver.TracePoint
	// Seconds is the time of the parts of a fit.
	Seconds solver.Seconds
}

// Fit is Prepare and (*Problem).Fit, and refuses a row or a column without answers by an error that wraps ErrNoAnswers.
func Fit(ctx context.Context, data Data, s Settings) (*Result, error) {
	begin := time.Now()
	p, err := Prepare(data, s)
	if err != nil {
		return nil, err
	}
	if err := p.everywhere(); err != nil {
		return nil, fmt.Errorf("fitting a questionnaire: %w", err)
	}
	prepared := time.Since(begin).Seconds()
	r, err := p.Fit(ctx, s)
	if err != nil {
		return nil, err
	}
	r.Seconds.Init += prepared
	return r, nil
}

// everywhere returns an error for a row or a column without answers.
func (p *Problem) everywhere() error {
	n, items := p.filled.Dims()
	seen := make([]bool, items)
	for i := range n {
		answered := false
		for j, v := range p.answers[i*items : (i+1)*items] {
			if v == v {
				answered, seen[j] = true, true
			}
		}
		if !answered {
			return fmt.Errorf("%w in row %d", ErrNoAnswers, i)
		}
	}
	if j := slices.Index(seen, false); j >= 0 {
		return fmt.Errorf("%w in column %d", ErrNoAnswers, j)
	}
	return nil
}
