package rank

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/factoranalysis"
)

// Basis says which eigenvalues parallel analysis compares.
type Basis string

// The bases.
const (
	// Components takes the eigenvalues of R, as Horn did.
	Components Basis = "components"
	// Factors takes the eigenvalues of R with the communalities of one minres factor on the diagonal.
	Factors Basis = "factors"
)

// Defaults of ParallelSettings.
const (
	DefaultDraws      = 100
	DefaultPercentile = 0.95
)

// ParallelSettings controls Parallel. Zero values mean what the fields say.
type ParallelSettings struct {
	// Correlation is the kind of correlation; "" means Pearson.
	Correlation factoranalysis.Kind
	// Basis chooses the eigenvalues; "" means Factors.
	Basis Basis
	// Permute draws answers by permuting those of each item, instead of from the normal distribution. Polychoric
	// correlations always permute.
	Permute bool
	// Draws is the number of random data sets; 0 means 100.
	Draws int
	// Percentile, in (0, 1), is the quantile of the random eigenvalues that an eigenvalue of the data must exceed; 0 means
	// 0.95.
	Percentile float64
	// Seed starts the generators.
	Seed uint64
	// Threads is the largest number of goroutines; 0 means GOMAXPROCS.
	Threads int
	// Progress, when not nil, is called after each draw, one call at a time.
	Progress func(done, total int)
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
// Draws have the shape of x, n×p, and its missing answers: independent normal variables, or the answers of each item
// permuted among those who gave one (A. Buja and N. Eyuboglu, 1992).
//
// Draw d uses the generator of Seed and d, so that the outcome does not depend on the number of threads. When ctx ends, its
// cause is returned. Errors are those of Correlate; settings out of range wrap solver.ErrSettings. The cost is that of
// Correlate for each draw, and a one-factor solution for Factors.
func Parallel(ctx context.Context, x *mat.Dense, s ParallelSettings) (*ParallelAnalysis, error) {
	if err := s.complete(); err != nil {
		return nil, err
	}
	data, err := factoranalysis.Correlate(x, s.Correlation, s.Threads)
	if err != nil {
		return nil, fmt.Errorf("correlating: %w", err)
	}
	p := data.R.SymmetricDim()
	a := &ParallelAnalysis{Correlations: data, Reference: make([]float64, p)}
	if a.Eigenvalues, err = s.eigenvalues(data.R); err != nil {
		return nil, fmt.Errorf("finding eigenvalues: %w", err)
	}
	random := make([][]float64, s.Draws)
	err = each(ctx, jobs{s.Draws, s.Threads, s.Progress}, func(_ context.Context, d int) (err error) {
		random[d], err = s.draw(x, d)
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
		a.Reference[m] = stat.Quantile(s.Percentile, stat.Empirical, sample, nil)
	}
	for a.Suggested < p && a.Eigenvalues[a.Suggested] > a.Reference[a.Suggested] {
		a.Suggested++
	}
	return a, nil
}

// complete fills in the defaults.
func (s *ParallelSettings) complete() error {
	s.Correlation, s.Basis = cmp.Or(s.Correlation, factoranalysis.Pearson), cmp.Or(s.Basis, Factors)
	s.Draws, s.Percentile = cmp.Or(s.Draws, DefaultDraws), cmp.Or(s.Percentile, DefaultPercentile)
	s.Permute = s.Permute || s.Correlation == factoranalysis.Polychoric
	switch {
	case s.Basis != Components && s.Basis != Factors:
		return fmt.Errorf("%w: basis %q is neither %s nor %s", solver.ErrSettings, s.Basis, Components, Factors)
	case s.Draws < 0:
		return fmt.Errorf("%w: %d draws", solver.ErrSettings, s.Draws)
	case !(s.Percentile > 0 && s.Percentile < 1):
		return fmt.Errorf("%w: percentile %v is not between 0 and 1", solver.ErrSettings, s.Percentile)
	}
	return nil
}

// eigenvalues returns those of the basis, descending.
func (s *ParallelSettings) eigenvalues(r *mat.SymDense) ([]float64, error) {
	if s.Basis == Factors {
		values, err := factoranalysis.ReducedEigenvalues(r, 1)
		slices.Reverse(values)
		return values, err
	}
	var components mat.EigenSym
	if !components.Factorize(r, false) {
		return nil, errEigen
	}
	values := components.Values(nil)
	slices.Reverse(values)
	return values, nil
}

// draw returns the eigenvalues of the d-th random data set.
func (s *ParallelSettings) draw(x *mat.Dense, d int) ([]float64, error) {
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
			if !s.Permute {
				y.Set(i, j, random.NormFloat64())
				continue
			}
			other := known[e+random.IntN(len(known)-e)]
			v := y.At(i, j)
			y.Set(i, j, y.At(other, j))
			y.Set(other, j, v)
		}
	}
	c, err := factoranalysis.Correlate(y, s.Correlation, 1)
	if err != nil {
		return nil, err
	}
	return s.eigenvalues(c.R)
}

var errEigen = errors.New("eigenvalues of the correlations do not converge")
