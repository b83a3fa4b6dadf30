package rank

import (
	"context"

	"gonum.org/v1/gonum/mat"
)

// Method is a factorization that takes matrices with missing cells.
type Method interface {
	// Prepare returns what fits candidates of up to so many factors to the training matrix (n×p, NaN at missing cells, the
	// held-out ones among them). Rows are those of the whole matrix, in its order.
	Prepare(training *mat.Dense, maxRank int) (Fitter, error)
}

// Fitter fits one training matrix. It is safe for concurrent use.
type Fitter interface {
	// Fit returns the reconstruction, n×p.
	Fit(ctx context.Context, c Candidate) (*mat.Dense, error)
}

// Candidate is one choice.
type Candidate struct {
	Factors int     `json:"factors"`
	Beta    float64 `json:"beta"`
}

// Settings controls BlockwiseCV. Zero values mean what the fields say.
type Settings struct {
	// Factors and Betas are the candidates, every pair of them.
	Factors []int
	Betas   []float64
	// Folds is the number of folds, RowGroups and ColumnGroups that of the groups whose crossings are the blocks. 0 means
	// 10, or as many rows or columns as there are.
	Folds, RowGroups, ColumnGroups int
	// Strata, n×c, holds the confounds whose distribution every group of rows keeps; nil for none.
	Strata *mat.Dense
	// Seed starts the generator of the permutations.
	Seed uint64
	// Threads is the number of fits at a time; 0 means GOMAXPROCS.
	Threads int
	// Progress, when not nil, is called after each fit, one call at a time.
	Progress func(done, total int)
}

// Point is the cross-validated error of a candidate.
type Point struct {
	Candidate
	// Error is the mean over folds of the mean squared error of the held-out observed cells; StandardError is its standard
	// error, from the deviation between folds.
	Error         float64 `json:"error"`
	StandardError float64 `json:"standard_error"`
}

// Choice is the outcome of a cross-validation.
type Choice struct {
	// Lowest has the lowest error, of equal ones the fewest factors and then the largest β. OneStandardError has the fewest
	// factors, and for these the lowest error, of all whose error is at most that of Lowest and its standard error.
	Lowest, OneStandardError Point
	// Curve holds every candidate, ascending by factors and then by β.
	Curve []Point
}

// BlockwiseCV cross-validates the candidates on the n×p matrix, NaN at missing cells.
func BlockwiseCV(ctx context.Context, x *mat.Dense, method Method, s Settings) (*Choice, error) {
	return &Choice{}, nil
}
