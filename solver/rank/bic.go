package rank

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
)

// RunSettings controls SquaredResiduals and Stabilities. Zero values mean what the fields say.
type RunSettings struct {
	// Factors are the candidates.
	Factors []int
	// Runs is the number of runs for each candidate, for Stabilities.
	Runs int
	// Seed is that of the first run of each candidate; the next ones have Seed + 1, Seed + 2 …
	Seed uint64
	// Threads is the number of fits at a time; 0 means GOMAXPROCS.
	Threads int
	// Progress, when not nil, is called after each fit, one call at a time.
	Progress func(done, total int)
}

// SquaredResiduals returns ‖X − GFᵀ‖² for each candidate, in the order of Factors: the squares of BIC1. It returns the errors of
// fit, and the cause of ctx if that ends first.
func SquaredResiduals(ctx context.Context, x mat.Matrix, fit Fit, s RunSettings) ([]float64, error) {
	squares := make([]float64, len(s.Factors))
	err := each(ctx, jobs{len(squares), s.Threads, s.Progress}, func(ctx context.Context, i int) error {
		topics, scores, err := fit(ctx, x, s.Factors[i], s.Seed)
		if err == nil {
			squares[i] = solver.SquaredResidual(x, topics, scores)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return squares, nil
}

// Size is that of a matrix: n rows, p columns, and how many of its n·p cells are observed.
type Size struct{ Rows, Columns, Observed int }

// BIC1 returns the Bayesian information criterion of a factorization with k factors whose squared residuals over the
// observed cells sum to S,
//
//	log S + k·(n+p)/N·log(N/(n+p)),  N the number of observed cells.
//
// Less is better. It is the BIC₁ of K. C. Lam et al., "Interpretable factorization of clinical questionnaires", section 4.1,
// where N is n·p; it comes from P. Stoica and Y. Selén, "Model-order selection", 2004. It is meaningful for least squares only,
// and S = 0 gives −∞.
func BIC1(squares float64, s Size, factors int) float64 {
	ends, cells := float64(s.Rows+s.Columns), float64(s.Observed)
	return math.Log(squares) + float64(factors)*ends/cells*math.Log(cells/ends)
}
