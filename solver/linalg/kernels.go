package linalg

import (
	"sync"

	"gonum.org/v1/gonum/blas/blas64"
)

// kernels are the inner loops in the vector instructions of one processor, or in Go if lanes is 0.
//
// Element (i, j) of a product is the sum over t ascending of a[i,t]·b[t,j], by one fused multiply-add each in assembly,
// so that AVX2 and AVX-512 give the same bits; in Go four products are added before the sum. Each differs from the
// exact product by at most (k+1)·2⁻⁵²·(|A|·|B|)ᵢⱼ for an inner dimension k. Every term counts: 0·NaN is NaN.
type kernels struct {
	name  string
	lanes int // float64s in a vector, 0 for Go

	// The functions of the assembly. Tiles of the product have 1, 2, 4 … rows, and box works on as many vectors, at
	// most lanes.
	product func(rows, vectors, m, k int, a *float64, aRow, aCol int, b *float64, bRow int, c *float64,
		cRow, last int, add bool)
	sparse func(vectors, rows int, indptr *int, indices *int32, values, d *float64, dRow int, dst *float64,
		dstRow, last int)
	logistic  func(n int, dst, m *float64) (softplus float64)
	box       func(vectors, k, rounds int, x, c *float64, row int, gram, inverse *float64, upper float64)
	surrogate func(n int, answers, fit, multipliers, constants *float64) (squared float64)
}

// best is the fastest set that this processor runs: AVX-512, AVX2 with FMA, or Go.
var best = levels()[0]

const (
	// tileVectors and sparseVectors are the most vectors of a call.
	tileVectors   = 3
	sparseVectors = 10

	// A block of A with depth inner terms and height rows stays in the second-level cache. A panel of B with depth
	// inner terms stays in the first.
	depth  = 256
	height = 192

	// With strides of minPackB and minPackA elements or more, every row lies on its own memory page, so blocks are
	// first copied into one piece. Copying a panel of B pays from minPackRows rows on.
	minPackB    = 512
	minPackA    = 512
	minPackRows = 32

	// sparseCols is the width of the panels if a product with a sparse matrix needs several. A panel of 5,000 rows
	// stays in the second-level cache.
	sparseCols = 40

	// groupSize is the number of sums that the assembly adds to in turn. It gives the same bits for every number of
	// lanes.
	groupSize = 8

	// maxEntries bounds the entries of a call: assembly cannot be preempted, so garbage collection must wait for it.
	maxEntries = 1 << 16
)

// view is a matrix of any strides: element (i, j) is Data[i·row + j·col].
type view struct {
	data     []float64
	row, col int
}

func rowMajor(a blas64.General) view   { return view{a.Data, a.Stride, 1} }
func transposed(a blas64.General) view { return view{a.Data, 1, a.Stride} }

func (v view) from(i, j int) view {
	v.data = v.data[i*v.row+j*v.col:]
	return v
}

// multiply stores A·B in C, or adds it: A is C.Rows×B.Rows. C shares no memory with either.
func (l *kernels) multiply(c blas64.General, a view, b blas64.General, add bool) {
	m, n, k := c.Rows, c.Cols, b.Rows
	if m == 0 || n == 0 {
		return
	}
	if k == 0 || l.lanes == 0 {
		multiplyGo(c, a, b, add)
		return
	}
	packA, packB := a.row == 1 && a.col >= minPackA, b.Stride >= minPackB && m >= minPackRows
	var copyA, copyB []float64
	if packA || packB {
		buffer := borrow(depth * (height + tileVectors*l.lanes))
		defer buffers.Put(buffer)
		copyA, copyB = (*buffer)[:depth*height], (*buffer)[depth*height:]
	}
	for t := 0; t < k; t += depth {
		inner := min(depth, k-t)
		for i := 0; i < m; i += height {
			rows := min(height, m-i)
			left := a.from(i, t)
			if packA {
				left = pack(copyA, left, rows, inner)
			}
			for j, panels := 0, l.panels(n, tileVectors); panels > 0; panels-- {
				vectors := (l.vectors(n-j) + panels - 1) / panels
				width := min(vectors*l.lanes, n-j)
				right, rightRow := b.Data[t*b.Stride+j:], b.Stride
				if packB {
					pack(copyB, view{right, 1, b.Stride}, width, inner)
					right, rightRow = copyB, width
				}
				l.tiles(rows, inner, left, right, rightRow, c.Data[i*c.Stride+j:], c.Stride, width, add || t > 0)
				j += width
			}
		}
	}
}

// tiles multiplies m rows with one panel, the tallest tiles first.
func (l *kernels) tiles(m, k int, a view, b []float64, bRow int, c []float64, cRow, width int, add bool) {
	vectors := l.vectors(width)
	last := width - (vectors-1)*l.lanes
	i := 0
	for height := l.lanes; i < m; height /= 2 {
		if rows := (m - i) / height * height; rows > 0 {
			l.product(height, vectors, rows, k, &a.data[i*a.row], a.row, a.col, &b[0], bRow, &c[i*cRow],
				cRow, last, add)
			i += rows
		}
	}
}

// vectors returns the number of vectors that n elements fill.
func (l *kernels) vectors(n int) int { return (n + l.lanes - 1) / l.lanes }

// panels returns the number of panels of at most this many vectors that n columns need.
func (l *kernels) panels(n, widest int) int { return (l.vectors(n) + widest - 1) / widest }

// pack copies the rows×inner view, whose columns are contiguous, to dst and returns the view of it there.
func pack(dst []float64, a view, rows, inner int) view {
	for t := range inner {
		copy(dst[t*rows:(t+1)*rows], a.data[t*a.col:])
	}
	return view{dst, 1, rows}
}

// multiplyGo is multiply without assembly, by blocks of columns that stay in the cache.
func multiplyGo(c blas64.General, a view, b blas64.General, add bool) {
	for i := 0; i < c.Rows && !add; i++ {
		clear(c.Data[i*c.Stride : i*c.Stride+c.Cols])
	}
	for t := 0; t < b.Rows; t += depth {
		end := min(t+depth, b.Rows)
		for j := 0; j < c.Cols; j += depth {
			width := min(depth, c.Cols-j)
			at := func(t int) []float64 { return b.Data[t*b.Stride+j:][:width] }
			for i := range c.Rows {
				row := c.Data[i*c.Stride+j:][:width]
				left := a.data[i*a.row:]
				t := t
				for ; t+4 <= end; t += 4 {
					four := [4]float64{left[t*a.col], left[(t+1)*a.col], left[(t+2)*a.col], left[(t+3)*a.col]}
					axpy4(&four, at(t), at(t+1), at(t+2), at(t+3), row)
				}
				for ; t < end; t++ {
					axpy(left[t*a.col], at(t), row)
				}
			}
		}
	}
}

// multiplySparse stores rows [from, to) of X·D in those of dst.
func (l *kernels) multiplySparse(dst blas64.General, x *rowsOf, d blas64.General, from, to int) {
	if from == to || dst.Cols == 0 {
		return
	}
	if l.lanes == 0 || len(x.values) == 0 {
		multiplySparseGo(dst, x, d, from, to)
		return
	}
	widest := sparseVectors
	if l.vectors(dst.Cols) > widest {
		widest = sparseCols / l.lanes
	}
	for j, panels := 0, l.panels(dst.Cols, widest); panels > 0; panels-- {
		vectors := (l.vectors(dst.Cols-j) + panels - 1) / panels
		width := min(vectors*l.lanes, dst.Cols-j)
		for first := from; first < to; {
			end := x.within(maxEntries, first, to)
			l.sparse(vectors, end-first, &x.indptr[first], &x.indices[0], &x.values[0], &d.Data[j], d.Stride,
				&dst.Data[first*dst.Stride+j], dst.Stride, width-(vectors-1)*l.lanes)
			first = end
		}
		j += width
	}
}

func multiplySparseGo(dst blas64.General, x *rowsOf, d blas64.General, from, to int) {
	for i := from; i < to; i++ {
		row := dst.Data[i*dst.Stride : i*dst.Stride+dst.Cols]
		clear(row)
		columns, values := x.indices[x.indptr[i]:x.indptr[i+1]], x.values[x.indptr[i]:x.indptr[i+1]]
		at := func(c int) []float64 {
			from := int(columns[c]) * d.Stride
			return d.Data[from : from+d.Cols]
		}
		c := 0
		for ; c+4 <= len(columns); c += 4 {
			axpy4((*[4]float64)(values[c:]), at(c), at(c+1), at(c+2), at(c+3), row)
		}
		for ; c < len(columns); c++ {
			axpy(values[c], at(c), row)
		}
	}
}

// axpy adds a·x to y, which is as long as x.
func axpy(a float64, x, y []float64) {
	x = x[:len(y)]
	for i := range y {
		y[i] += a * x[i]
	}
}

// axpy4 adds a[0]·x0 + … + a[3]·x3 to y, all of one length. Unlike four calls of axpy it loads and stores y only once.
func axpy4(a *[4]float64, x0, x1, x2, x3, y []float64) {
	a0, a1, a2, a3 := a[0], a[1], a[2], a[3]
	x0, x1, x2, x3 = x0[:len(y)], x1[:len(y)], x2[:len(y)], x3[:len(y)]
	for i := range y {
		y[i] += a0*x0[i] + a1*x1[i] + a2*x2[i] + a3*x3[i]
	}
}

// buffers holds the memory that a product needs while it runs.
var buffers sync.Pool

// borrow returns n elements with any content. The caller puts them back to buffers.
func borrow(n int) *[]float64 {
	if b, ok := buffers.Get().(*[]float64); ok && cap(*b) >= n {
		*b = (*b)[:n]
		return b
	}
	b := make([]float64, n)
	return &b
}
