package icqf

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/icqf"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/nmf"
	"github.com/wardcast/wardcast/solver/rank"
)

// The methods and the criteria of table 1.
const (
	nameICQF = "icqf"
	nameL1   = "l1-nmf"
	nameFA   = "fa-promax"

	byBCV      = "bcv"      // blockwise cross-validation, least error
	byBIC      = "bic"      // BIC₁
	byParallel = "parallel" // Horn's parallel analysis
	byMAP      = "map"      // Velicer's minimum average partial
)

const (
	// beta is the default of the authors' program. For ℓ1-NMF the penalty of the scores is β and that of the loadings
	// β·n/p, as in their program without a bound on the scores.
	beta = 0.1
	// relTol ends fits of the whole questionnaire.
	relTol = 1e-5
	// The matrix is completed every completionUpdates updates, at most mostCompletions times. A fit ends earlier when
	// calmCompletions relative changes of the objective in a row are at most completionRelTol; with 1e-5 the number of
	// factors with the least error is the same.
	completionUpdates = 2
	mostCompletions   = 250
	calmCompletions   = 3
	completionRelTol  = 1e-4
)

// Methods returns the methods of the paper's table, each of which has two criteria.
func Methods() []string { return []string{nameICQF, nameL1, nameFA} }

// detector finds the number of factors.
type detector struct {
	method, criterion string
	find              func(ctx context.Context, x *mat.Dense, t *Table1) (int, error)
}

func detectors() []detector {
	return []detector{
		{nameICQF, byBCV, func(ctx context.Context, x *mat.Dense, t *Table1) (int, error) {
			return crossValidated(ctx, x, rank.ICQF(icqf.Data{Max: top}, icqf.Settings{Seed: t.Seed}), t)
		}},
		{nameL1, byBCV, func(ctx context.Context, x *mat.Dense, t *Table1) (int, error) {
			return crossValidated(ctx, x, completion{t.Seed}.prepare, t)
		}},
		{nameICQF, byBIC, icqfByBIC},
		{nameL1, byBIC, l1ByBIC},
		{nameFA, byParallel, func(ctx context.Context, x *mat.Dense, t *Table1) (found int, err error) {
			a, err := rank.Parallel(ctx, x, rank.ParallelSettings{Jobs: rank.Jobs{Seed: t.Seed}})
			if err == nil {
				found = a.Suggested
			}
			return found, err
		}},
		{nameFA, byMAP, func(ctx context.Context, x *mat.Dense, _ *Table1) (int, error) {
			c, err := factoranalysis.Correlate(ctx, x, factoranalysis.Pearson, 0)
			if err != nil {
				return 0, err
			}
			n, _ := x.Dims()
			squares, _, err := rank.FilledMAP(ctx, c, n)
			if err != nil {
				return 0, err
			}
			return floats.MinIdx(squares), nil
		}},
	}
}

// crossValidated returns the number of factors with the least error over 10 folds, each of 10 of 100 blocks.
func crossValidated(ctx context.Context, x *mat.Dense, m rank.Method, t *Table1) (int, error) {
	choice, err := rank.BlockwiseCV(ctx, x, m,
		rank.Settings{Factors: t.Factors, Betas: []float64{beta}, Jobs: rank.Jobs{Seed: t.Seed}})
	if err != nil {
		return 0, err
	}
	return choice.Lowest.Factors, nil
}

// leastBIC returns the number of factors with the least BIC₁, the first of equal ones.
func leastBIC(x *mat.Dense, candidates []int, squares func(k int) (float64, error)) (int, error) {
	n, p := x.Dims()
	chosen, least := 0, math.Inf(1)
	for _, k := range candidates {
		s, err := squares(k)
		if err != nil {
			return 0, err
		}
		if bic := rank.BIC1(s, n, p, k); bic < least {
			chosen, least = k, bic
		}
	}
	return chosen, nil
}

func icqfByBIC(ctx context.Context, x *mat.Dense, t *Table1) (int, error) {
	settings := icqf.Settings{Rank: slices.Max(t.Factors), L1: beta, RelTol: relTol, Seed: t.Seed}
	problem, err := icqf.Prepare(icqf.Data{Answers: x, Max: top}, settings)
	if err != nil {
		return 0, err
	}
	n, p := x.Dims()
	return leastBIC(x, t.Factors, func(k int) (float64, error) {
		settings.Rank = k
		r, err := problem.Fit(ctx, settings)
		if err != nil {
			return 0, err
		}
		return r.ReconstructionError * float64(n*p), failed(ctx, r.Status)
	})
}

func l1ByBIC(ctx context.Context, x *mat.Dense, t *Table1) (int, error) {
	method, err := l1NMF()
	if err != nil {
		return 0, err
	}
	return leastBIC(x, t.Factors, func(k int) (float64, error) {
		r, err := solver.Solve(ctx, x, solver.Settings{Rank: k, RelTol: relTol, Seed: t.Seed}, method)
		if err != nil {
			return 0, err
		}
		return solver.SquaredResidual(x, r.Topics, r.Scores), failed(ctx, r.Status)
	})
}

// failed returns the reason why a fit cannot be used. A fit that reached the limit of updates can.
func failed(ctx context.Context, s solver.Status) error {
	switch s {
	case solver.Cancelled:
		return context.Cause(ctx)
	case solver.NonFinite:
		return s.Err()
	}
	return nil
}

func l1NMF() (solver.Method, error) {
	onTopics, onScores := float64(beta*participants/items), float64(beta)
	return nmf.NewL1(&onTopics, &onScores)
}

// completion is ℓ1-NMF of the observed cells as a rank.Method: every few updates the reconstruction replaces the
// missing cells. The objective over the observed cells never rises.
type completion struct{ seed uint64 }

// prepare is the rank.Method.
func (c completion) prepare(training *mat.Dense, _ int) (rank.Fitter, error) {
	method, err := l1NMF()
	return completed{c, training, method}.fit, err
}

// completed is a training matrix.
type completed struct {
	completion
	training *mat.Dense
	method   solver.Method
}

// fit is the rank.Fitter.
func (c completed) fit(ctx context.Context, candidate solver.Candidate) (*mat.Dense, bool, error) {
	x := mat.DenseCopyOf(c.training)
	n, p := x.Dims()
	var missing [][2]int
	for j := range p {
		sum, first := 0.0, len(missing)
		for i := range n {
			if v := x.At(i, j); math.IsNaN(v) {
				missing = append(missing, [2]int{i, j})
			} else {
				sum += v
			}
		}
		of := missing[first:]
		for _, cell := range of { // the mean of the observed ones
			x.Set(cell[0], j, sum/float64(max(1, n-len(of))))
		}
	}
	s := solver.Settings{Rank: candidate.Factors, MaxIter: completionUpdates, RelTol: -1, Seed: c.seed}
	reconstruction := mat.NewDense(n, p, nil)
	calm, last := 0, math.Inf(1)
	for round := 0; round < mostCompletions && calm < calmCompletions; round++ {
		r, err := solver.Solve(ctx, x, s, c.method)
		if err == nil {
			err = failed(ctx, r.Status)
		}
		if err != nil {
			return nil, false, err
		}
		s.StartTopics, s.StartScores = r.Topics, r.Scores
		linalg.Threads(0).MulTo(reconstruction, r.Scores, mat.DenseCopyOf(r.Topics.T()))
		for _, cell := range missing {
			x.Set(cell[0], cell[1], reconstruction.At(cell[0], cell[1]))
		}
		if calm++; last-r.Objective > completionRelTol*r.Objective {
			calm = 0
		}
		last = r.Objective
	}
	return reconstruction, calm == calmCompletions, nil
}
