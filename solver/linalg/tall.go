package linalg

import (
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

const (
	// One goroutine sums the inner products of gramRows rows. maxGramBlocks bounds the number of partial sums in
	// memory. Both are fixed, so that the sums do not depend on GOMAXPROCS.
	gramRows      = 512
	maxGramBlocks = 32

	// gramPanel is the number of columns of a Gram matrix that are computed down to the diagonal at once.
	gramPanel = 48

	errAlias = "linalg: the result shares memory with an operand"
)

// mulTo stores the product of the view left of a, whose inner dimension is given, and b in dst, or adds it.
func (l *kernels) mulTo(t Threads, dst *mat.Dense, left view, a, b *mat.Dense, inner int, add bool) {
	n, p := a.Dims()
	checkProduct(dst, b, n+p-inner, inner)
	out, right := dst.RawMatrix(), b.RawMatrix()
	checkApart(out, a.RawMatrix())
	checkApart(out, right)
	parallelRows(t, out.Rows, out.Rows*inner*out.Cols, denseProduct{kernels: l, c: out, a: left, b: right, add: add})
}

type denseProduct struct {
	*kernels
	c blas64.General
	a view
	b blas64.General

	add bool
}

func (p denseProduct) rows(from, to int) {
	p.multiply(rowRange(p.c, from, to), p.a.from(from, 0), p.b, p.add)
}

// checkApart panics if dst and a begin at the same element.
func checkApart(dst, a blas64.General) {
	if len(dst.Data) > 0 && len(a.Data) > 0 && &dst.Data[0] == &a.Data[0] {
		panic(errAlias)
	}
}

// innerTo stores AᵀB in dst; symmetric says that B is A.
func (l *kernels) innerTo(t Threads, dst, a, b *mat.Dense, symmetric bool) {
	out, left, right := dst.RawMatrix(), a.RawMatrix(), b.RawMatrix()
	if left.Rows != right.Rows || out.Rows != left.Cols || out.Cols != right.Cols {
		panic(errShape)
	}
	checkApart(out, left)
	checkApart(out, right)
	rows, size := left.Rows, out.Rows*out.Cols
	if size == 0 {
		return
	}
	blockRows := max(gramRows, (rows+maxGramBlocks-1)/maxGramBlocks)
	blocks := max(1, (rows+blockRows-1)/blockRows)
	buffer := borrow(blocks * size)
	defer buffers.Put(buffer)
	parts := *buffer
	parallelRows(t, blocks, rows*size,
		innerProduct{kernels: l, parts: parts, a: left, b: right, blockRows: blockRows, symmetric: symmetric})
	for b := 1; b < blocks; b++ {
		axpy(1, parts[b*size:(b+1)*size], parts[:size])
	}
	for i := range out.Rows {
		row := out.Data[i*out.Stride : i*out.Stride+out.Cols]
		copy(row, parts[i*out.Cols:])
		if symmetric {
			for j := range i {
				row[j] = parts[j*out.Cols+i]
			}
		}
	}
}

// innerProduct stores partial sums of AᵀB one after another. For AᵀA it computes the upper half and some entries below
// the diagonal.
type innerProduct struct {
	*kernels
	parts     []float64
	a, b      blas64.General
	blockRows int
	symmetric bool
}

func (p innerProduct) rows(from, to int) {
	k, l := p.a.Cols, p.b.Cols
	for block := from; block < to; block++ {
		first, end := block*p.blockRows, min((block+1)*p.blockRows, p.a.Rows)
		left, right := rowRange(p.a, first, end), rowRange(p.b, first, end)
		c := blas64.General{Rows: k, Cols: l, Stride: l, Data: p.parts[block*k*l : (block+1)*k*l]}
		if !p.symmetric {
			p.multiply(c, transposed(left), right, false)
			continue
		}
		for j := 0; j < k; j += gramPanel {
			width := min(gramPanel, k-j)
			c := blas64.General{Rows: j + width, Cols: width, Stride: l, Data: c.Data[j:]}
			p.multiply(c, transposed(left),
				blas64.General{Rows: right.Rows, Cols: width, Stride: right.Stride, Data: right.Data[j:]}, false)
		}
	}
}

// rowRange returns rows [from, to) of a as a view.
func rowRange(a blas64.General, from, to int) blas64.General {
	last := from*a.Stride + max(0, to-from-1)*a.Stride + a.Cols
	return blas64.General{Rows: to - from, Cols: a.Cols, Stride: a.Stride, Data: a.Data[from*a.Stride : last]}
}

// Dot returns Σ aᵢⱼ·bᵢⱼ of two matrices of one shape, summed row by row.
func Dot(a, b *mat.Dense) float64 {
	rows, cols := a.Dims()
	if r, c := b.Dims(); r != rows || c != cols {
		panic(errShape)
	}
	var sum float64
	for i := range rows {
		sum += floats.Dot(a.RawRowView(i), b.RawRowView(i))
	}
	return sum
}
