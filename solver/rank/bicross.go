package rank

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/folds"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/matrix"
)

// Fit factorizes an n×p matrix with this number of factors and seed of the start. It must be safe for concurrent use.
type Fit func(ctx context.Context, x mat.Matrix, factors int, seed uint64) (topics, scores *mat.Dense, err error)

// BiCrossSettings controls BiCrossValidate. Zero values mean the defaults that the fields name. Seed is the seed of the
// groups and of every fit.
type BiCrossSettings struct {
	Jobs
	// Factors are the candidates.
	Factors []int
	// Folds is the number of groups of rows and of groups of columns; each pair of groups is held out once. 0 means 3.
	Folds int
	// NonNegativeTopics and NonNegativeScores are set for factors that the method keeps non-negative.
	NonNegativeTopics, NonNegativeScores bool
}

const (
	// defaultFolds keeps 4/9 of the cells for the fit.
	defaultFolds = 3

	// groupStream is the second word of the generator's seed.
	groupStream = 0x6269_6376

	// dependent is a share of the largest eigenvalue of a Gram matrix. Eigenvalues up to it count as 0.
	dependent = 1e-12
)

// BiCrossValidate returns the error of each candidate, in the order of Factors, for methods that do not accept missing
// cells. It holds one copy of the matrix for each thread. With the rows and columns of a fold held out, X is
//
//	A B   A held out, D factorized into scores G and topics F, D ≈ GFᵀ,
//	C D
//
// and A is compared with ĜF̂ᵀ, where Ĝ are the scores that best fit B by the topics F, and F̂ the topics that best fit
// C by the scores G, both by least squares, non-negative if the method's factors are. Error is the mean over the folds
// of the mean squared error of the cells of A; StandardError comes from the deviation between folds.
//
// Source: A. B. Owen and P. O. Perry, "Bi-cross-validation of the SVD and the nonnegative matrix factorization", 2009,
// section 3 and, for non-negative factors, section 5.
//
// A matrix that is neither a *matrix.CSR nor a *mat.Dense is copied once through At. Candidates below 1 or above
// MostBiCross are errors that wrap solver.ErrSettings. It also returns ErrFit, the errors of fit, and the cause of ctx
// if that ends first.
func BiCrossValidate(ctx context.Context, x mat.Matrix, fit Fit, s BiCrossSettings) ([]solver.ErrorPoint, error) {
	n, p := x.Dims()
	s.Folds = cmp.Or(s.Folds, defaultFolds)
	if s.Folds < 2 || s.Folds > min(n, p) {
		return nil, fmt.Errorf("%w: %d folds for %d rows and %d columns", solver.ErrSettings, s.Folds, n, p)
	}
	largest := MostBiCross(n, p, s.Folds)
	for _, k := range s.Factors {
		if k < 1 || k > largest {
			return nil, fmt.Errorf("%w: %d factors; %d folds of %d rows and %d columns leave room for %d",
				solver.ErrSettings, k, s.Folds, n, p, largest)
		}
	}
	if dense, sparse := linalg.Stored(x); sparse != nil {
		x = sparse
	} else {
		x = dense
	}
	random := rand.New(rand.NewPCG(s.Seed, groupStream))
	rows, columns := folds.Random(random, n, s.Folds), folds.Random(random, p, s.Folds)

	all, count := s.Folds*s.Folds, len(s.Factors)
	errs := make([]float64, all*count)
	parts := make([]func() (*corners, error), all)
	for f := range parts {
		parts[f] = shared(count, func() (*corners, error) { return split(x, rows, columns, f/s.Folds, f%s.Folds), nil })
	}
	// The jobs go fold by fold, so that few folds are in memory at a time.
	err := s.Each(ctx, len(errs), func(ctx context.Context, job int) error {
		f, c := job/count, count-1-job%count
		q, err := parts[f]()
		if err == nil {
			errs[c*all+f], err = q.error(ctx, fit, s.Factors[c], &s)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cross-validating: %w", err)
	}
	return lists.Make(count, func(c int) solver.ErrorPoint {
		return newPoint(solver.Candidate{Factors: s.Factors[c]}, errs[c*all:(c+1)*all])
	}), nil
}

// MostBiCross returns the largest number of factors that BiCrossValidate can fit to an n×p matrix with this many folds.
func MostBiCross(n, p, folds int) int {
	return min(n-(n+folds-1)/folds, p-(p+folds-1)/folds)
}

type corners struct{ a, b, c, d mat.Matrix }

// split returns the parts for the rows in fold r of rowFolds and the columns in fold s of columnFolds.
func split(x mat.Matrix, rowFolds, columnFolds []int, r, s int) *corners {
	keptRows, rows := folds.Split(rowFolds, r)
	keptColumns, columns := folds.Split(columnFolds, s)
	return &corners{
		a: part(x, rows, columns), b: part(x, rows, keptColumns),
		c: part(x, keptRows, columns), d: part(x, keptRows, keptColumns),
	}
}

// part returns the sub-matrix of ascending rows and columns.
func part(x mat.Matrix, rows, columns []int) mat.Matrix {
	if x, ok := x.(*mat.Dense); ok {
		return linalg.SelectColumns(linalg.SelectRows(x, rows), columns)
	}
	_, p := x.Dims()
	place := slices.Repeat([]int32{-1}, p)
	for c, j := range columns {
		place[j] = int32(c)
	}
	return x.(*matrix.CSR).SelectRows(rows).MapColumns(place, len(columns))
}

// serial is for products inside a job, because several jobs run at a time.
const serial = linalg.Threads(1)

// error returns the mean squared error of A.
func (q *corners) error(ctx context.Context, fit Fit, factors int, s *BiCrossSettings) (float64, error) {
	topics, scores, err := fit(ctx, q.d, factors, s.Seed)
	if err != nil {
		return 0, err
	}
	held, p := q.a.Dims()
	newScores, newTopics := mat.NewDense(held, factors, nil), mat.NewDense(p, factors, nil)
	linalg.OperatorOf(q.b, serial).MulTo(newScores, topics)
	linalg.OperatorOf(q.c, serial).MulTransTo(newTopics, scores)
	if err := leastSquares(newScores, topics, s.NonNegativeScores); err != nil {
		return 0, err
	}
	if err := leastSquares(newTopics, scores, s.NonNegativeTopics); err != nil {
		return 0, err
	}
	mean := solver.SquaredResidual(linalg.OperatorOf(q.a, serial), newTopics, newScores) / float64(held*p)
	if mean-mean != 0 {
		return 0, fmt.Errorf("%w: %v for %d factors", ErrFit, mean, factors)
	}
	return mean, nil
}

// leastSquares replaces each row bᵀ of products, b = Mᵀy, by the coefficients z that minimize ‖y − Mz‖, non-negative
// ones or those of least length.
func leastSquares(products, m *mat.Dense, nonNegative bool) error {
	_, k := m.Dims()
	gram := serial.Gram(m)
	if nonNegative {
		serial.NonNegative(products, gram)
		return nil
	}
	values, vectors, ok := linalg.Eigen(mat.NewSymDense(k, gram.RawMatrix().Data))
	if !ok {
		return fmt.Errorf("fitting held-out rows: %w", solver.NonFinite.Err())
	}
	var rotated mat.Dense
	rotated.Mul(products, vectors)
	rotated.Apply(func(_, t int, v float64) float64 {
		if values[t] <= dependent*values[k-1] {
			return 0
		}
		return v / values[t]
	}, &rotated)
	products.Mul(&rotated, vectors.T())
	return nil
}
