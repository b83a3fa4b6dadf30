package rank

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
)

// RunSettings controls SquaredResiduals and Stabilities. Zero values mean the defaults that the fields name. Seed is
// the seed of the first run of each candidate and larger by 1 in each further run.
type RunSettings struct {
	Jobs
	// Factors are the candidates.
	Factors []int
	// Runs is the number of runs for each candidate, for Stabilities.
	Runs int
}

// run returns the result of the function of for every run, the runs of a candidate one after the other.
func run[T any](ctx context.Context, x mat.Matrix, fit Fit, s RunSettings,
	of func(topics, scores *mat.Dense) T,
) ([]T, error) {
	out := make([]T, len(s.Factors)*s.Runs)
	err := s.Each(ctx, len(out), func(ctx context.Context, i int) error {
		topics, scores, err := fit(ctx, x, s.Factors[i/s.Runs], s.Seed+uint64(i%s.Runs))
		if err == nil {
			out[i] = of(topics, scores)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// SquaredResiduals returns ‖X − GFᵀ‖² for each candidate, in the order of Factors: the squares of BIC1. It returns the
// errors of fit, and the cause of ctx if that ends first.
func SquaredResiduals(ctx context.Context, x mat.Matrix, fit Fit, s RunSettings) ([]float64, error) {
	s.Runs = 1
	return run(ctx, x, fit, s,
		func(topics, scores *mat.Dense) float64 { return solver.SquaredResidual(x, topics, scores) })
}

// BIC1 returns the Bayesian information criterion of a factorization of an n×p matrix with k factors whose squared
// residuals sum to S,
//
//	log S + k·(n+p)/np·log(np/(n+p)).
//
// Less is better. It is the BIC₁ of K. C. Lam et al., "Interpretable factorization of clinical questionnaires", section
// 4.1, and comes from P. Stoica and Y. Selén, "Model-order selection", 2004. It is meaningful for least squares only,
// and S = 0 gives −∞.
func BIC1(squares float64, n, p, factors int) float64 {
	ends, cells := float64(n+p), float64(n*p)
	return math.Log(squares) + float64(factors)*ends/cells*math.Log(cells/ends)
}
