package linalg

import (
	"sort"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/matrix"
)

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
	parallelRows(x.Threads, n, len(values)*d.RawMatrix().Cols, sparseProduct{best, dst.RawMatrix(), rowsOf{indptr, indices, values}, d.RawMatrix()})
}

// MulTransTo stores Xᵀ·D in dst by the rows of the transposed matrix.
func (x Sparse) MulTransTo(dst, d *mat.Dense) { Sparse{x.Transpose(), x.Threads}.MulTo(dst, d) }

// rowsOf are the arrays of a CSR.
type rowsOf struct {
	indptr  []int
	indices []int32
	values  []float64
}

// within returns the end ≤ to of a range of rows that begins at the first: the longest range with at most this many entries and
// this many rows, but at least one row.
func (x *rowsOf) within(entries, first, to int) int {
	to = min(to, first+entries)
	return first + 1 + sort.Search(to-first-1, func(i int) bool { return x.indptr[first+i+2]-x.indptr[first] > entries })
}

type sparseProduct struct {
	*kernels
	dst blas64.General
	x   rowsOf
	d   blas64.General
}

func (p sparseProduct) rows(from, to int) { p.multiplySparse(p.dst, &p.x, p.d, from, to) }
