package linalg

import "gonum.org/v1/gonum/mat"

// Dense is a dense n×p matrix as a matrix.Operator.
type Dense struct {
	*mat.Dense
	Threads Threads
}

// MulTo stores X·D in dst.
func (x Dense) MulTo(dst, d *mat.Dense) { x.Threads.MulTo(dst, x.Dense, d) }

// MulTransTo stores Xᵀ·D in dst.
func (x Dense) MulTransTo(dst, d *mat.Dense) {
	n, _ := x.Dims()
	best.mulTo(x.Threads, dst, transposed(x.RawMatrix()), x.Dense, d, n, false)
}

// Row returns the entries of row i, which alias X, and no columns.
func (x Dense) Row(i int) (columns []int32, values []float64) { return nil, x.RawRowView(i) }

// NormSquared returns the sum of the squares of the entries.
func (x Dense) NormSquared() float64 {
	var sum float64
	for i := range x.RawMatrix().Rows {
		for _, v := range x.RawRowView(i) {
			sum += v * v
		}
	}
	return sum
}

// SelectRows returns a copy of these rows of a matrix in the order given; rows may repeat. It returns nil for a nil matrix.
func SelectRows(a *mat.Dense, rows []int) *mat.Dense {
	if a == nil {
		return nil
	}
	_, cols := a.Dims()
	out := mat.NewDense(len(rows), cols, nil)
	for to, from := range rows {
		out.SetRow(to, a.RawRowView(from))
	}
	return out
}

// Halves returns the sums of squares of the positive and of the negative entries of a column. Non-negative starts use them to
// choose the better half of a pair of singular vectors (NNDSVD; Boutsidis and Gallopoulos 2008).
func Halves(a *mat.Dense, column int) (positive, negative float64) {
	rows, _ := a.Dims()
	for i := range rows {
		if v := a.At(i, column); v > 0 {
			positive += v * v
		} else {
			negative += v * v
		}
	}
	return positive, negative
}
