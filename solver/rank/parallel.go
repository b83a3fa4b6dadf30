package rank

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/factoranalysis"
)

// DefaultDraws is the number of random data sets unless told otherwise.
const DefaultDraws = 100

// percentile is the quantile of the random eigenvalues that an eigenvalue of the data must exceed.
const percentile = 0.95

// ParallelSettings controls Parallel. Zero values mean what the fields say.
type ParallelSettings struct {
	Jobs
	// Correlation is the kind of correlation; "" means Pearson.
	Correlation factoranalysis.Kind
	// Draws is the number of random data sets; 0 means DefaultDraws.
	Draws int
}

// ParallelAnalysis is the outcome of Parallel.
type ParallelAnalysis struct {
	// Suggested is the number of leading eigenvalues that exceed their reference.
	Suggested int
	// Eigenvalues are those of the data and Reference the percentiles of the random ones, each descending, p.
	Eigenvalues, Reference []float64
	// Correlations are those of the data.
	Correlations *factoranalysis.Correlations
}

// Parallel compares the eigenvalues of the data with those of random data without any factor: J. L. Horn, "A rationale and
// test for the number of factors in factor analysis", 1965, with a percentile in place of the mean (L. W. Glorfeld, 1995).
// Eigenvalues are those of the correlations with the communalities of one minres factor on the diagonal. Draws have the shape
// of x, n×p, and its missing answers: independent normal variables, or for Polychoric the answers of each item permuted among
// those who gave one (A. Buja and N. Eyuboglu, 1992).
//
// Draw d uses the generator of Seed and d, so that the outcome does not depend on the number of threads. When ctx ends, its
// cause is returned. Errors are those of Correlate; a negative number of draws wraps solver.ErrSettings. The cost is that of
// Correlate and a one-factor solution for each draw.
func Parallel(ctx context.Context, x mat.Matrix, s ParallelSettings) (*ParallelAnalysis, error) {
	s.Correlation, s.Draws = cmp.Or(s.Correlation, factoranalysis.Pearson), cmp.Or(s.Draws, DefaultDraws)
	if s.Draws < 0 {
		return nil, fmt.Errorf("%w: %d draws", solver.ErrSettings, s.Draws)
	}
	data, err := factoranalysis.Correlate(ctx, x, s.Correlation, s.Threads)
	if err != nil {
		return nil, fmt.Errorf("correlating: %w", err)
	}
	p := data.R.SymmetricDim()
	a := &ParallelAnalysis{Correlations: data, Reference: make([]float64, p)}
	if a.Eigenvalues, err = eigenvalues(ctx, data.R); err != nil {
		return nil, fmt.Errorf("finding eigenvalues: %w", err)
	}
	random := make([][]float64, s.Draws)
	err = s.each(ctx, s.Draws, func(ctx context.Context, d int) (err error) {
		random[d], err = s.draw(ctx, x, d)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("drawing random answers: %w", err)
	}
	sample := make([]float64, s.Draws)
	for m := range p {
		for d := range sample {
			sample[d] = random[d][m]
		}
		slices.Sort(sample)
		a.Reference[m] = stat.Quantile(percentile, stat.Empirical, sample, nil)
	}
	for a.Suggested < p && a.Eigenvalues[a.Suggested] > a.Reference[a.Suggested] {
		a.Suggested++
	}
	return a, nil
}

// eigenvalues returns those of the reduced correlations, descending.
func eigenvalues(ctx context.Context, r *mat.SymDense) ([]float64, error) {
	values, err := factoranalysis.ReducedEigenvalues(ctx, r, 1)
	slices.Reverse(values)
	return values, err
}

// draw returns the eigenvalues of the d-th random data set.
func (s *ParallelSettings) draw(ctx context.Context, x mat.Matrix, d int) ([]float64, error) {
	n, p := x.Dims()
	random := rand.New(rand.NewPCG(s.Seed, uint64(d)))
	y := mat.DenseCopyOf(x)
	var known []int
	for j := range p {
		known = known[:0]
		for i := range n {
			if !math.IsNaN(x.At(i, j)) {
				known = append(known, i)
			}
		}
		for e, i := range known {
			if s.Correlation != factoranalysis.Polychoric {
				y.Set(i, j, random.NormFloat64())
				continue
			}
			other := known[e+random.IntN(len(known)-e)]
			v := y.At(i, j)
			y.Set(i, j, y.At(other, j))
			y.Set(other, j, v)
		}
	}
	c, err := factoranalysis.Correlate(ctx, y, s.Correlation, 1)
	if err != nil {
		return nil, err
	}
	return eigenvalues(ctx, c.R)
}
