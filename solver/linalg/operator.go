package linalg

import (
	"cmp"
	"sort"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/matrix"
)

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

// Sparse is a sparse n×p matrix as a matrix.Operator.
type Sparse struct {
	*matrix.CSR
	Threads Threads
}

// MulTo stores X·D in dst. The cost is nnz·k multiply-adds; nothing is allocated on one thread.
func (x Sparse) MulTo(dst, d *mat.Dense) {
	n, p := x.Dims()
	checkProduct(dst, d, n, p)
	indptr, indices, values := x.Arrays()
	parallelRows(x.Threads, n, len(values)*d.RawMatrix().Cols,
		sparseProduct{kernels: best, dst: dst.RawMatrix(), x: rowsOf{indptr, indices, values}, d: d.RawMatrix()})
}

// MulTransTo stores Xᵀ·D in dst by the rows of the transposed matrix.
func (x Sparse) MulTransTo(dst, d *mat.Dense) { Sparse{x.Transpose(), x.Threads}.MulTo(dst, d) }

// rowsOf are the arrays of a CSR.
type rowsOf struct {
	indptr  []int
	indices []int32
	values  []float64
}

// within returns the end ≤ to of a range of rows that begins at the first: the longest range with at most this many
// entries and this many rows, but at least one row.
func (x *rowsOf) within(entries, first, to int) int {
	to = min(to, first+entries)
	return first + 1 + sort.Search(to-first-1,
		func(i int) bool { return x.indptr[first+i+2]-x.indptr[first] > entries })
}

type sparseProduct struct {
	*kernels
	dst blas64.General
	x   rowsOf
	d   blas64.General
}

func (p sparseProduct) rows(from, to int) { p.multiplySparse(p.dst, &p.x, p.d, from, to) }

// OperatorOf returns the products of X, as package matrix describes, on this many threads. 0 keeps the number that a
// matrix of this package already has. A matrix with its own products chooses itself how to compute them.
func OperatorOf(x mat.Matrix, threads Threads) matrix.Operator {
	switch x := x.(type) {
	case Dense:
		return Dense{x.Dense, cmp.Or(threads, x.Threads)}
	case Sparse:
		return Sparse{x.CSR, cmp.Or(threads, x.Threads)}
	case *Standardized:
		copied := *x
		copied.by = OperatorOf(x.by, threads)
		return &copied
	case matrix.Operator:
		if threads == 0 {
			return x
		}
		if rows, ok := x.(matrix.Rows); ok {
			return boundRows{bound{x, threads}, rows}
		}
		return bound{x, threads}
	}
	dense, sparse := Stored(x)
	if sparse != nil {
		return Sparse{sparse, threads}
	}
	return Dense{dense, threads}
}

// Stored returns X as a dense or as a sparse matrix; the other result is nil. The result is X itself, or the shared
// transpose of a *matrix.CSR that gonum transposed. Any other matrix is copied through At: n·p numbers.
func Stored(x mat.Matrix) (dense *mat.Dense, sparse *matrix.CSR) {
	switch x := x.(type) {
	case *mat.Dense:
		return x, nil
	case Dense:
		return x.Dense, nil
	case *matrix.CSR:
		return nil, x
	case Sparse:
		return nil, x.CSR
	case mat.Transpose:
		if below, ok := x.Matrix.(*matrix.CSR); ok {
			return nil, below.Transpose()
		}
	}
	return mat.DenseCopyOf(x), nil
}

// ThreadsOf returns the number of threads that OperatorOf was given for X.
func ThreadsOf(x mat.Matrix) Threads {
	switch x := x.(type) {
	case Dense:
		return x.Threads
	case Sparse:
		return x.Threads
	case *Standardized:
		return ThreadsOf(x.by)
	case bound:
		return x.threads
	case boundRows:
		return x.threads
	default:
		return 0
	}
}

// bound is an operator with its own products, and the number of threads for everything else.
type bound struct {
	matrix.Operator
	threads Threads
}

type boundRows struct {
	bound
	matrix.Rows
}

// RowsOf returns matrix.Rows.Row of X, or that of a dense copy if X has no rows.
func RowsOf(x mat.Matrix) func(i int) (columns []int32, values []float64) {
	if rows, ok := OperatorOf(x, 0).(matrix.Rows); ok {
		return rows.Row
	}
	return Dense{Dense: mat.DenseCopyOf(x)}.Row
}

const errShape = "linalg: shape mismatch"

// checkProduct panics unless dst is rows×k and d is inner×k.
func checkProduct(dst, d *mat.Dense, rows, inner int) {
	r, k := dst.Dims()
	di, dk := d.Dims()
	if r != rows || di != inner || k != dk {
		panic(errShape)
	}
}
