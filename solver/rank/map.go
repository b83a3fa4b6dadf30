package rank

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

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
// which MAP chooses no more components, see Fill.
func FilledMAP(ctx context.Context, c *factoranalysis.Correlations) (squares, fourthPowers []float64, err error) {
	_, err = filled(ctx, c, func() (int, error) {
		if squares, fourthPowers, err = MAP(c.R); err != nil {
			return 0, err
		}
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
