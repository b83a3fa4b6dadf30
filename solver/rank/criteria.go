package rank

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/linalg"
)

// degenerate is the partial variance of an item up to which it may be rounding.
const degenerate = 1e-10

// MAP is the minimum average partial test on correlations R, p×p: W. F. Velicer, "Determining the number of components
// from the matrix of partial correlations", 1976, and with fourth powers W. F. Velicer, C. A. Eaton and J. L.
// Fava, 2000.
//
// Entry m is the mean of the squares, or of the fourth powers, of the correlations that remain after the first m
// principal components are removed. The lists begin with R itself and end with p−2 components, or before a component
// that leaves nothing of some item. The m with the least mean is the number of components. The cost is p³.
func MAP(r *mat.SymDense) (squares, fourthPowers []float64, err error) {
	p := r.SymmetricDim()
	values, vectors, ok := linalg.Eigen(r)
	if !ok {
		return nil, nil, fmt.Errorf("finding components: %w", linalg.ErrEigen)
	}
	rest := mat.NewSymDense(p, nil)
	rest.CopySym(r)
	for m := 0; m <= p-2; m++ {
		if m > 0 {
			rest.SymRankOne(rest, -values[p-m], vectors.ColView(p-m))
		}
		second, fourth, ok := partial(rest)
		if !ok {
			break
		}
		squares, fourthPowers = append(squares, second), append(fourthPowers, fourth)
	}
	return squares, fourthPowers, nil
}

// FilledMAP returns MAP of correlations of which some may be unknown: these are filled in from the fewest factors for
// which MAP chooses no more components, see Fill. The lists end with half as many components as items or participants,
// at least 1: with few participants, what remains after more is rounding.
func FilledMAP(ctx context.Context, c *factoranalysis.Correlations, participants int) (squares, fourthPowers []float64,
	err error,
) {
	_, err = filled(ctx, c, func() (int, error) {
		if squares, fourthPowers, err = MAP(c.R); err != nil {
			return 0, err
		}
		end := min(len(squares), 1+max(1, min(participants, c.R.SymmetricDim())/2))
		squares, fourthPowers = squares[:end], fourthPowers[:end]
		return floats.MinIdx(squares), nil
	})
	return squares, fourthPowers, err
}

// partial returns the means of the second and fourth powers of the correlations of a covariance matrix.
func partial(c *mat.SymDense) (squares, fourth float64, ok bool) {
	p := c.SymmetricDim()
	for i := range p {
		if c.At(i, i) <= degenerate {
			return 0, 0, false
		}
		for j := range i {
			v := c.At(i, j) * c.At(i, j) / (c.At(i, i) * c.At(j, j))
			squares += v
			fourth += v * v
		}
	}
	pairs := float64(p*(p-1)) / 2
	return squares / pairs, fourth / pairs, true
}

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
