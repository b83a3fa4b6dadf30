package linalg

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// ErrFormat is returned for arrays that are no compressed sparse rows.
var ErrFormat = errors.New("malformed sparse matrix")

// CSR is a sparse n×p matrix in compressed rows: the entries of row i are Values[Indptr[i]:Indptr[i+1]], their
// columns the same range of Indices, ascending and without repeats.
//
// The fields are for reading: they must not be changed, and the elements of the arrays neither, once they make up a CSR. The
// products trust them.
type CSR struct {
	N, P    int
	Indptr  []int     // n+1
	Indices []int32   // nnz
	Values  []float64 // nnz

	transposed func() *CSR // Xᵀ, made when first asked for
	norm       func() float64
}

// NewCSR returns the n×p matrix of these arrays, which it keeps. It returns an error that wraps ErrFormat and
// names the row unless Indptr ascends from 0 to nnz and every row's columns ascend within [0, p); n and p are at
// most 2³¹−1. The values are not looked at: NaN is for callers to refuse. The cost is O(n + nnz).
//
//nolint:revive // five arguments: the sizes and the three arrays are what the format consists of
func NewCSR(n, p int, indptr []int, indices []int32, values []float64) (*CSR, error) {
	if n < 0 || n > math.MaxInt32 || p < 0 || p > math.MaxInt32 || len(indptr) != n+1 || len(indices) != len(values) {
		return nil, fmt.Errorf("%w: %d rows, %d columns, %d row starts, %d columns of entries, %d values", ErrFormat, n, p, len(indptr), len(indices), len(values))
	}
	if indptr[0] != 0 || indptr[n] != len(values) {
		return nil, fmt.Errorf("%w: row starts run from %d to %d, not from 0 to %d", ErrFormat, indptr[0], indptr[n], len(values))
	}
	for i := range n {
		if indptr[i] > indptr[i+1] || indptr[i+1] > len(values) {
			return nil, fmt.Errorf("%w: row %d ends before it starts or past the end", ErrFormat, i)
		}
		last := int32(-1)
		for _, j := range indices[indptr[i]:indptr[i+1]] {
			if j <= last || int(j) >= p {
				return nil, fmt.Errorf("%w: column %d after %d in row %d of width %d", ErrFormat, j, last, i, p)
			}
			last = j
		}
	}
	return newCSR(n, p, indptr, indices, values), nil
}

func newCSR(n, p int, indptr []int, indices []int32, values []float64) *CSR {
	x := &CSR{N: n, P: p, Indptr: indptr, Indices: indices, Values: values}
	x.transposed = sync.OnceValue(x.transpose)
	x.norm = sync.OnceValue(func() float64 {
		var sum float64
		for _, v := range x.Values {
			sum += v * v
		}
		return sum
	})
	return x
}

// Dims returns n and p.
func (x *CSR) Dims() (n, p int) { return x.N, x.P }

// NNZ returns the number of stored entries.
func (x *CSR) NNZ() int { return len(x.Values) }

// Row returns the columns and values of row i. They alias x.
func (x *CSR) Row(i int) (columns []int32, values []float64) {
	from, to := x.Indptr[i], x.Indptr[i+1]
	return x.Indices[from:to], x.Values[from:to]
}

// SelectRows returns the matrix of the given rows, in their order; a row may be taken more than once.
func (x *CSR) SelectRows(rows []int) *CSR {
	indptr := make([]int, len(rows)+1)
	for i, r := range rows {
		indptr[i+1] = indptr[i] + x.Indptr[r+1] - x.Indptr[r]
	}
	indices := make([]int32, 0, indptr[len(rows)])
	values := make([]float64, 0, indptr[len(rows)])
	for _, r := range rows {
		columns, v := x.Row(r)
		indices = append(indices, columns...)
		values = append(values, v...)
	}
	return newCSR(len(rows), x.P, indptr, indices, values)
}

// Transpose returns Xᵀ. It is computed once and shared: row j of it holds column j of X, documents ascending.
// It costs O(p + nnz) and as much memory as X.
func (x *CSR) Transpose() *CSR { return x.transposed() }

func (x *CSR) transpose() *CSR {
	indptr := make([]int, x.P+1)
	for _, j := range x.Indices {
		indptr[j+1]++
	}
	for j := range x.P {
		indptr[j+1] += indptr[j]
	}
	next := append([]int(nil), indptr...)
	indices := make([]int32, len(x.Indices))
	values := make([]float64, len(x.Values))
	for i := range x.N {
		columns, v := x.Row(i)
		for c, j := range columns {
			indices[next[j]] = int32(i)
			values[next[j]] = v[c]
			next[j]++
		}
	}
	t := newCSR(x.P, x.N, indptr, indices, values)
	t.transposed = func() *CSR { return x }
	return t
}

// NormSquared returns the sum of the squares of the entries, summed once in storage order.
func (x *CSR) NormSquared() float64 { return x.norm() }

// MulTo stores X·D in dst. It panics for arrays that NewCSR would refuse for their lengths. The cost is nnz·k multiply-adds; nothing is allocated on one thread.
func (x *CSR) MulTo(dst, d *mat.Dense) {
	checkProduct(dst, d, x.N, x.P)
	if len(x.Indptr) != x.N+1 || x.Indptr[x.N] != len(x.Values) || len(x.Indices) != len(x.Values) {
		panic(errArrays)
	}
	parallelRows(x.N, len(x.Values)*d.RawMatrix().Cols, sparseProduct{best, dst.RawMatrix(), x, d.RawMatrix()})
}

type sparseProduct struct {
	*kernels
	dst blas64.General
	x   *CSR
	d   blas64.General
}

func (p sparseProduct) rows(from, to int) { p.multiplySparse(p.dst, p.x, p.d, from, to) }

// MulTransTo stores Xᵀ·D in dst by the rows of the transposed matrix.
func (x *CSR) MulTransTo(dst, d *mat.Dense) { x.Transpose().MulTo(dst, d) }
