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

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/linalg"
)

// DefaultDraws is the default number of random data sets.
const DefaultDraws = 100

// percentile is the quantile of the random eigenvalues that an eigenvalue of the data must exceed.
const percentile = 0.95

// ParallelSettings controls Parallel. Zero values mean the defaults that the fields name.
type ParallelSettings struct {
	Jobs
	// Correlation is the kind of correlation; "" means Pearson. Draws of FullInformation have Pearson's: of independent
	// items, both have the same errors.
	Correlation factoranalysis.Kind
	// Observed, if not nil, are these correlations of the data.
	Observed *factoranalysis.Correlations
	// Draws is the number of random data sets; 0 means DefaultDraws.
	Draws int
	// Components uses the eigenvalues of the Pearson correlations themselves, as Horn did, instead of common factors. A
	// missing answer is then replaced by the mean of its item.
	Components bool
	// Strict counts factors of Pearson correlations that exceed their reference with either of two diagonals:
	// communalities of one factor, and squared multiple correlations. Draws permute the answers of each item.
	Strict bool
}

// axisRounds is the number of rounds of principal axis factoring for the communalities of one factor if Strict.
const axisRounds = 50

// ParallelAnalysis is the outcome of Parallel.
type ParallelAnalysis struct {
	// Suggested is the number of leading eigenvalues that exceed their reference.
	Suggested int
	// Eigenvalues are those of the data and Reference the percentiles of the random ones, each descending, p. If
	// Strict, they belong to the diagonal with fewer of them, the communalities if both have as many.
	Eigenvalues, Reference []float64
	// Correlations are those of the data; nil for Components.
	Correlations *factoranalysis.Correlations
}

// Parallel compares the eigenvalues of the data with those of random data without any factor: J. L. Horn, "A rationale
// and test for the number of factors in factor analysis", 1965, with a percentile in place of the mean (L. W. Glorfeld,
// 1995). Eigenvalues are those of the correlations with the communalities of one minres factor on the diagonal, or with
// Components those of the correlations themselves. Draws have the shape of x, n×p, and its missing answers: independent
// normal variables, or for Polychoric the answers of each item permuted among those who gave one (A. Buja and N.
// Eyuboglu, 1992).
//
// Correlations that the data do not tell, as of items that nobody answered together, are filled in from the fewest
// factors that suggest no more than themselves, see Fill; 0 in their place would be more factors.
//
// Draw d uses the generator of Seed and d, so that the outcome does not depend on the number of threads. When ctx ends,
// its cause is returned. Errors are those of Correlate; a negative number of draws, and polychoric Components or
// Strict, wrap solver.ErrSettings. The cost is that of Correlate and a one-factor solution for each draw, with
// Components n·p·min(n, p) + min(n, p)³.
func Parallel(ctx context.Context, x mat.Matrix, s ParallelSettings) (_ *ParallelAnalysis, err error) {
	s.Correlation, s.Draws = cmp.Or(s.Correlation, factoranalysis.Pearson), cmp.Or(s.Draws, DefaultDraws)
	switch {
	case s.Draws < 0:
		return nil, fmt.Errorf("%w: %d draws", solver.ErrSettings, s.Draws)
	case (s.Components || s.Strict) && s.Correlation != factoranalysis.Pearson:
		return nil, fmt.Errorf("%w: components, or factors by Strict, of %s correlations", solver.ErrSettings,
			s.Correlation)
	}
	a := &ParallelAnalysis{Correlations: s.Observed}
	var observed [][]float64
	if s.Components || s.Observed == nil {
		if observed, a.Correlations, err = s.eigenvalues(ctx, x, s.Correlation, s.Threads); err != nil {
			return nil, err
		}
	}
	random := make([][][]float64, s.Draws)
	n, p := x.Dims()
	known := lists.Make(p, func(j int) []int {
		return lists.Where(n, func(i int) bool { return !math.IsNaN(x.At(i, j)) })
	})
	err = s.Each(ctx, s.Draws, func(ctx context.Context, d int) (err error) {
		random[d], err = s.draw(ctx, x, known, d)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("drawing random answers: %w", err)
	}
	references := lists.Make(len(random[0]), func(diagonal int) []float64 {
		return lists.Make(p, func(m int) float64 {
			sample := lists.Map(random, func(eigenvalues [][]float64) float64 { return eigenvalues[diagonal][m] })
			slices.Sort(sample)
			return stat.Quantile(percentile, stat.Empirical, sample, nil)
		})
	})
	if s.Components {
		a.compare(observed, references)
		return a, nil
	}
	_, err = filled(ctx, a.Correlations, func() (int, error) {
		if observed, err = s.reduced(ctx, a.Correlations); err != nil {
			return 0, err
		}
		a.compare(observed, references)
		return a.Suggested, nil
	})
	return a, err
}

// compare stores what the diagonal suggests that suggests the fewest factors.
func (a *ParallelAnalysis) compare(observed, references [][]float64) {
	a.Suggested = math.MaxInt
	for diagonal, eigenvalues := range observed {
		reference, suggested := references[diagonal], 0
		for suggested < len(reference) && eigenvalues[suggested] > reference[suggested] {
			suggested++
		}
		if suggested < a.Suggested {
			a.Suggested, a.Eigenvalues, a.Reference = suggested, eigenvalues, reference
		}
	}
}

// filled returns what is suggested by the correlations once those that are unknown are filled in from 1, 2 … factors,
// until it is no more factors than these.
func filled(ctx context.Context, c *factoranalysis.Correlations, suggest func() (int, error)) (int, error) {
	for k := 1; ; k++ {
		if err := c.Fill(ctx, k); err != nil {
			return 0, fmt.Errorf("filling in unknown correlations: %w", err)
		}
		suggested, err := suggest()
		if err != nil || suggested <= k || len(c.Unknown) == 0 || 2*k >= c.R.SymmetricDim() {
			return suggested, err
		}
	}
}

// eigenvalues returns the eigenvalues of the correlations of x, descending, with each diagonal: reduced, or whole for
// Components.
func (s *ParallelSettings) eigenvalues(ctx context.Context, x mat.Matrix, kind factoranalysis.Kind,
	threads int,
) ([][]float64, *factoranalysis.Correlations, error) {
	if s.Components {
		values, err := components(x)
		return [][]float64{values}, nil, err
	}
	c, err := factoranalysis.Correlate(ctx, x, kind, threads)
	if err != nil {
		return nil, nil, fmt.Errorf("correlating: %w", err)
	}
	values, err := s.reduced(ctx, c)
	return values, c, err
}

// reduced returns the eigenvalues of correlations with each diagonal, descending.
func (s *ParallelSettings) reduced(ctx context.Context, c *factoranalysis.Correlations) ([][]float64, error) {
	if s.Strict {
		return strict(c.R)
	}
	values, err := factoranalysis.ReducedEigenvalues(ctx, c.R, 1)
	if err != nil {
		return nil, fmt.Errorf("finding eigenvalues: %w", err)
	}
	slices.Reverse(values)
	return [][]float64{values}, nil
}

// strict returns the eigenvalues of R, p×p, descending, with the communalities of one factor on its diagonal, and with
// the squared multiple correlations 1 − 1/(R⁻¹)ᵢᵢ. The communalities are those after axisRounds rounds, each of which
// is a step of the power method too: enough for a strong factor, and as many for random answers, at a cost of p² each.
func strict(r *mat.SymDense) ([][]float64, error) {
	p, inverse := r.SymmetricDim(), linalg.Inverse(r) // Correlate returns no singular matrix
	if inverse == nil {
		return nil, linalg.ErrEigen
	}
	reduced, factor, next := mat.NewSymDense(p, nil), mat.NewVecDense(p, nil), mat.NewVecDense(p, nil)
	reduced.CopySym(r)
	random := rand.New(rand.NewPCG(0, 0)) // a start such as ones could be orthogonal to the factor
	for i := range p {
		factor.SetVec(i, random.NormFloat64())
		reduced.SetSym(i, i, 1-1/inverse.At(i, i))
	}
	multiple, failed := descending(reduced)
	for range axisRounds {
		next.MulVec(reduced, factor)
		size := mat.Norm(next, 2)
		factor.ScaleVec(1/size, next)
		for i, v := range factor.RawVector().Data {
			reduced.SetSym(i, i, min(size*v*v, 1))
		}
	}
	values, err := descending(reduced)
	return [][]float64{values, multiple}, cmp.Or(failed, err)
}

// descending returns the eigenvalues of a matrix.
func descending(a *mat.SymDense) ([]float64, error) {
	values, err := linalg.Eigenvalues(a)
	slices.Reverse(values)
	return values, err
}

// components returns the eigenvalues of the correlations between the columns of x, descending. With Z the columns at
// mean 0 and length 1, they are those of ZᵀZ, or of ZZᵀ and zeros if that is smaller.
func components(x mat.Matrix) ([]float64, error) {
	n, p := x.Dims()
	z := mat.DenseCopyOf(x)
	means, scales := linalg.ColumnMeans(z), make([]float64, p)
	for i := range n {
		for j, v := range z.RawRowView(i) {
			v -= means[j]
			if v != v {
				v = 0 // the mean takes the place of a missing answer
			}
			z.Set(i, j, v)
			scales[j] += v * v
		}
	}
	for j, squares := range scales {
		if !(squares > 0) || math.IsInf(squares, 1) {
			return nil, fmt.Errorf("%w: the squared deviations of column %d sum to %v", solver.ErrSettings, j, squares)
		}
		scales[j] = 1 / math.Sqrt(squares)
	}
	linalg.ScaleColumns(z, z, scales)
	if n < p {
		z = mat.DenseCopyOf(z.T())
	}
	size := min(n, p)
	values, err := descending(mat.NewSymDense(size, linalg.Threads(1).Gram(z).RawMatrix().Data))
	return append(values, make([]float64, p-size)...), err
}

// draw returns the eigenvalues of draw d; known are the rows that answered each item.
func (s *ParallelSettings) draw(ctx context.Context, x mat.Matrix, known [][]int, d int) ([][]float64, error) {
	random := rand.New(rand.NewPCG(s.Seed, uint64(d)))
	y := mat.DenseCopyOf(x)
	for j, rows := range known {
		for e, i := range rows {
			if s.Correlation != factoranalysis.Polychoric && !s.Strict {
				y.Set(i, j, random.NormFloat64())
				continue
			}
			other := rows[e+random.IntN(len(rows)-e)]
			v := y.At(i, j)
			y.Set(i, j, y.At(other, j))
			y.Set(other, j, v)
		}
	}
	kind := s.Correlation
	if kind == factoranalysis.FullInformation {
		kind = factoranalysis.Pearson
	}
	values, _, err := s.eigenvalues(ctx, y, kind, 1)
	return values, err
}
