// Package matrix holds the input matrices of the solvers: a sparse matrix, CSR, and small interfaces by which any other
// matrix can offer fast products and rows.
//
// Orientation: X is n×p, rows are documents (participants), columns are terms (items). Every function of the solvers
// that takes a gonum mat.Matrix treats it by its type:
//
//   - *mat.Dense is used without a copy;
//   - *CSR stays sparse;
//   - an Operator is used through its products, and through its rows if it also implements Rows;
//   - gonum's transpose of a *CSR is used as the sparse matrix CSR.Transpose;
//   - any other matrix is read once through At and held as a dense copy: n·p numbers. The few methods that look
//     at single entries treat an Operator without Rows in the same way.
//
// A CSR is immutable and safe for concurrent use.
package matrix

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"
)

// Operator is an n×p matrix X with its own products. Implementations are immutable and safe for concurrent use.
type Operator interface {
	mat.Matrix
	Products
}

// Products are the products of an n×p matrix X.
type Products interface {
	Dims() (n, p int)
	// MulTo stores X·D in dst; D is p×k, dst is n×k and must not share memory with D.
	MulTo(dst, d *mat.Dense)
	// MulTransTo stores Xᵀ·D in dst; D is n×k, dst is p×k and must not share memory with D.
	MulTransTo(dst, d *mat.Dense)
	// NormSquared returns ‖X‖², the sum of the squares of all entries.
	NormSquared() float64
}

// Rows is a matrix whose entries can be read by rows. An Operator may implement it for the methods that look at single
// entries; for those, an Operator that does not is copied through At.
type Rows interface {
	// Row returns the stored entries of row i, ascending by column; nil columns mean that all of them are stored. The
	// slices must not be modified.
	Row(i int) (columns []int32, values []float64)
}

// ErrFormat is returned for arrays that are not compressed sparse rows.
var ErrFormat = errors.New("malformed sparse matrix")

// CSR is a sparse n×p matrix in compressed rows. It implements gonum's mat.Matrix.
type CSR struct {
	n, p    int
	indptr  []int     // n+1
	indices []int32   // nnz
	values  []float64 // nnz

	transposed func() *CSR // Xᵀ, made at the first call
	norm       func() float64
}

var (
	_ mat.Matrix = (*CSR)(nil)
	_ Rows       = (*CSR)(nil)
)

// NewCSR returns the n×p matrix whose row i holds values[indptr[i]:indptr[i+1]] in the columns
// indices[indptr[i]:indptr[i+1]]. It keeps the arrays: they must not be changed afterwards.
//
// It returns an error that wraps ErrFormat and names the row unless indptr ascends from 0 to nnz and the columns of
// each row ascend strictly within [0, p); n and p are at most 2³¹−1. Values are not checked: the solvers refuse NaN
// and infinities. The cost is O(n + nnz).
//
//nolint:revive // five arguments: the format consists of the sizes and the three arrays
func NewCSR(n, p int, indptr []int, indices []int32, values []float64) (*CSR, error) {
	if n < 0 || n > math.MaxInt32 || p < 0 || p > math.MaxInt32 || len(indptr) != n+1 || len(indices) != len(values) {
		return nil, fmt.Errorf("%w: %d rows, %d columns, %d row starts, %d columns of entries, %d values", ErrFormat, n,
			p, len(indptr), len(indices), len(values))
	}
	if indptr[0] != 0 || indptr[n] != len(values) {
		return nil, fmt.Errorf("%w: row starts run from %d to %d, not from 0 to %d", ErrFormat, indptr[0],
			indptr[n], len(values))
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
	x := &CSR{n: n, p: p, indptr: indptr, indices: indices, values: values}
	x.transposed = sync.OnceValue(x.transpose)
	x.norm = sync.OnceValue(func() float64 {
		var sum float64
		for _, v := range x.values {
			sum += v * v
		}
		return sum
	})
	return x
}

// Dims returns n and p.
func (x *CSR) Dims() (n, p int) { return x.n, x.p }

// At returns entry (i, j), 0 if it is not stored. It searches the row: O(log of its length). Like gonum's matrices, it
// panics if i or j is out of range.
func (x *CSR) At(i, j int) float64 {
	if uint(i) >= uint(x.n) {
		panic(mat.ErrRowAccess) //nolint:forbidigo // what mat.Matrix promises
	}
	if uint(j) >= uint(x.p) {
		panic(mat.ErrColAccess) //nolint:forbidigo // what mat.Matrix promises
	}
	columns, values := x.Row(i)
	if at, ok := slices.BinarySearch(columns, int32(j)); ok {
		return values[at]
	}
	return 0
}

// T returns Xᵀ as a view, like gonum's matrices. Transpose returns it as a CSR.
func (x *CSR) T() mat.Matrix { return mat.Transpose{Matrix: x} }

// NNZ returns the number of stored entries.
func (x *CSR) NNZ() int { return len(x.values) }

// Row returns the columns and values of the stored entries of row i. They alias X and must not be modified.
func (x *CSR) Row(i int) (columns []int32, values []float64) {
	from, to := x.indptr[i], x.indptr[i+1]
	return x.indices[from:to], x.values[from:to]
}

// Arrays returns the arrays that X consists of; see NewCSR. They alias X and must not be modified.
func (x *CSR) Arrays() (indptr []int, indices []int32, values []float64) {
	return x.indptr, x.indices, x.values
}

// SelectRows returns the matrix of the given rows in the given order. A row may be taken more than once.
func (x *CSR) SelectRows(rows []int) *CSR {
	indptr := make([]int, len(rows)+1)
	for i, r := range rows {
		indptr[i+1] = indptr[i] + x.indptr[r+1] - x.indptr[r]
	}
	indices := make([]int32, 0, indptr[len(rows)])
	values := make([]float64, 0, indptr[len(rows)])
	for _, r := range rows {
		columns, v := x.Row(r)
		indices = append(indices, columns...)
		values = append(values, v...)
	}
	return newCSR(len(rows), x.p, indptr, indices, values)
}

// MapColumns returns the matrix with p columns whose column place[j] is column j of X. Places ascend; a column with a
// negative place is left out.
func (x *CSR) MapColumns(place []int32, p int) *CSR {
	indptr := make([]int, 1, x.n+1)
	var indices []int32
	var values []float64
	for i := range x.n {
		columns, row := x.Row(i)
		for c, j := range columns {
			if place[j] >= 0 {
				indices, values = append(indices, place[j]), append(values, row[c])
			}
		}
		indptr = append(indptr, len(indices))
	}
	return newCSR(x.n, p, indptr, indices, values)
}

// Transpose returns Xᵀ, whose row j holds column j of X, computed once, at O(p + nnz) and as much memory as X.
func (x *CSR) Transpose() *CSR { return x.transposed() }

func (x *CSR) transpose() *CSR {
	indptr := make([]int, x.p+1)
	for _, j := range x.indices {
		indptr[j+1]++
	}
	for j := range x.p {
		indptr[j+1] += indptr[j]
	}
	next := slices.Clone(indptr)
	indices := make([]int32, len(x.indices))
	values := make([]float64, len(x.values))
	for i := range x.n {
		columns, v := x.Row(i)
		for c, j := range columns {
			indices[next[j]] = int32(i)
			values[next[j]] = v[c]
			next[j]++
		}
	}
	t := newCSR(x.p, x.n, indptr, indices, values)
	t.transposed = func() *CSR { return x }
	return t
}

// NormSquared returns the sum of the squares of the entries, summed once in storage order.
func (x *CSR) NormSquared() float64 { return x.norm() }
