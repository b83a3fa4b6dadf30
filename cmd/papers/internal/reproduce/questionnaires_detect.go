package reproduce

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/icqf"
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
	// questionnaireBeta is the default of the authors' program. For ℓ1-NMF it weighs the scores by β and the loadings by
	// β·n/p, as the program does without a bound on the scores.
	questionnaireBeta = 0.1
	// questionnaireRelTol ends fits of the whole questionnaire.
	questionnaireRelTol = 1e-5
	// completionUpdates is the number of updates between completions of the matrix, and mostCompletions that of these. A
	// fit ends before at calmCompletions relative changes of the objective in a row of at most completionRelTol; at 1e-5
	// the least error is at as many factors.
	completionUpdates = 2
	mostCompletions   = 250
	calmCompletions   = 3
	completionRelTol  = 1e-4
)

// detector finds the number of factors.
type detector struct {
	method, criterion string
	find              func(ctx context.Context, x *mat.Dense, s *QuestionnairesSettings) (int, error)
}

func detectors() []detector {
	return []detector{
		{nameICQF, byBCV, func(ctx context.Context, x *mat.Dense, s *QuestionnairesSettings) (int, error) {
			return crossValidated(ctx, x, rank.ICQF{Data: icqf.Data{Max: questionnaireTop}, Settings: icqf.Settings{Seed: s.Seed}}, s)
		}},
		{nameL1, byBCV, func(ctx context.Context, x *mat.Dense, s *QuestionnairesSettings) (int, error) {
			return crossValidated(ctx, x, completion{s.Seed}, s)
		}},
		{nameICQF, byBIC, icqfByBIC},
		{nameL1, byBIC, l1ByBIC},
		{nameFA, byParallel, func(ctx context.Context, x *mat.Dense, s *QuestionnairesSettings) (int, error) {
			a, err := rank.Parallel(ctx, x, rank.ParallelSettings{Seed: s.Seed})
			if err != nil {
				return 0, err
			}
			return a.Suggested, nil
		}},
		{nameFA, byMAP, func(_ context.Context, x *mat.Dense, _ *QuestionnairesSettings) (int, error) {
			c, err := factoranalysis.Correlate(x, factoranalysis.Pearson, 0)
			if err != nil {
				return 0, err
			}
			a, err := rank.MAP(c.R)
			if err != nil {
				return 0, err
			}
			return a.Suggested, nil
		}},
	}
}

// crossValidated returns the number of factors of the least error over 10 folds of 10 of 100 blocks.
func crossValidated(ctx context.Context, x *mat.Dense, m rank.Method, s *QuestionnairesSettings) (int, error) {
	choice, err := rank.BlockwiseCV(ctx, x, m, rank.Settings{Factors: s.Factors, Betas: []float64{questionnaireBeta}, Seed: s.Seed})
	if err != nil {
		return 0, err
	}
	return choice.Lowest.Factors, nil
}

// leastBIC returns the number of factors of the least BIC₁, of equal ones the first.
func leastBIC(x *mat.Dense, candidates []int, squares func(k int) (float64, error)) (int, error) {
	n, p := x.Dims()
	chosen, least := 0, math.Inf(1)
	for _, k := range candidates {
		s, err := squares(k)
		if err != nil {
			return 0, err
		}
		if bic := rank.BIC1(s, rank.Size{Rows: n, Columns: p, Observed: n * p}, k); bic < least {
			chosen, least = k, bic
		}
	}
	return chosen, nil
}

func icqfByBIC(ctx context.Context, x *mat.Dense, s *QuestionnairesSettings) (int, error) {
	settings := icqf.Settings{L1: questionnaireBeta, RelTol: questionnaireRelTol, Seed: s.Seed}
	for _, k := range s.Factors {
		settings.Rank = max(settings.Rank, k)
	}
	problem, err := icqf.Prepare(icqf.Data{Answers: x, Max: questionnaireTop}, settings)
	if err != nil {
		return 0, err
	}
	n, p := x.Dims()
	return leastBIC(x, s.Factors, func(k int) (float64, error) {
		settings.Rank = k
		r, err := problem.Fit(ctx, settings)
		if err != nil {
			return 0, err
		}
		return r.ReconstructionError * float64(n*p), failed(ctx, r.Status)
	})
}

func l1ByBIC(ctx context.Context, x *mat.Dense, s *QuestionnairesSettings) (int, error) {
	method, err := questionnaireL1()
	if err != nil {
		return 0, err
	}
	whole := x
	return leastBIC(x, s.Factors, func(k int) (float64, error) {
		r, err := solver.Solve(ctx, whole, solver.Settings{Rank: k, RelTol: questionnaireRelTol, Seed: s.Seed}, method)
		if err != nil {
			return 0, err
		}
		return solver.SquaredResidual(whole, r.Topics, r.Scores), failed(ctx, r.Status)
	})
}

// failed returns why a fit is of no use. One that ran out of updates is.
func failed(ctx context.Context, s solver.Status) error {
	switch s {
	case solver.Cancelled:
		return context.Cause(ctx)
	case solver.NonFinite:
		return s.Err()
	}
	return nil
}

func questionnaireL1() (solver.Method, error) {
	return nmf.NewL1(questionnaireBeta*questionnaireParticipants/questionnaireItems, questionnaireBeta)
}

// completion is ℓ1-NMF of the observed cells as a rank.Method: the reconstruction stands in for missing cells, anew after
// some updates, by which the objective over the observed cells never rises.
type completion struct{ seed uint64 }

// completed is a training matrix.
type completed struct {
	completion
	training *mat.Dense
	method   solver.Method
}

// Prepare returns what fits a training matrix.
func (c completion) Prepare(training *mat.Dense, _ int) (rank.Fitter, error) {
	method, err := questionnaireL1()
	return completed{c, training, method}, err
}

// Fit returns the reconstruction.
func (c completed) Fit(ctx context.Context, candidate rank.Candidate) (*mat.Dense, bool, error) {
	x := mat.DenseCopyOf(c.training)
	n, p := x.Dims()
	var missing [][2]int
	for j := range p {
		sum, observed, first := 0.0, 0, len(missing)
		for i := range n {
			if v := x.At(i, j); math.IsNaN(v) {
				missing = append(missing, [2]int{i, j})
			} else {
				sum, observed = sum+v, observed+1
			}
		}
		for _, cell := range missing[first:] {
			x.Set(cell[0], j, sum/float64(max(1, observed)))
		}
	}
	s := solver.Settings{Rank: candidate.Factors, MaxIter: completionUpdates, RelTol: -1, Seed: c.seed}
	reconstruction := mat.NewDense(n, p, nil)
	calm, last := 0, math.Inf(1)
	for round := 0; round < mostCompletions && calm < calmCompletions; round++ {
		r, err := solver.Solve(ctx, x, s, c.method)
		if err != nil {
			return nil, false, err
		}
		if err := failed(ctx, r.Status); err != nil {
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
