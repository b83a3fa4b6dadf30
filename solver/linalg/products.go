package linalg

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Threads is the largest number of goroutines for a computation; 0 means GOMAXPROCS. Its methods are the products of
// dense matrices. Their bits are the same for every number.
type Threads int

// minParallel is the number of multiply-adds below which a second goroutine costs more than it saves.
const minParallel = 1 << 16

// Limit returns the number of goroutines: at least 1.
func (t Threads) Limit() int {
	if t > 0 {
		return int(t)
	}
	return runtime.GOMAXPROCS(0)
}

// Parallel calls work on disjoint ranges that cover [0, n), on several goroutines if flops, the multiply-adds of all
// calls, is large enough to pay for them. The ranges depend on the number of goroutines: for bits that do not, work
// must compute element i the same way in every range, and the caller must sum over elements afterwards. Parallel
// returns after all calls.
func (t Threads) Parallel(n, flops int, work func(from, to int)) {
	parallelRows(t, n, flops, ranges(work))
}

type ranges func(from, to int)

func (work ranges) rows(from, to int) { work(from, to) }

// parallelRows calls work.rows for consecutive ranges that cover [0, n). The ranges only decide which goroutine
// computes a row, never how. It allocates only if there is a second goroutine.
func parallelRows[W interface{ rows(from, to int) }](t Threads, n, flops int, work W) {
	if flops >= minParallel {
		if workers := min(t.Limit(), n); workers > 1 {
			spread(n, workers, work.rows)
			return
		}
	}
	work.rows(0, n)
}

func spread(n, workers int, work func(from, to int)) {
	// More ranges than workers, because rows of text differ in length.
	chunk := max(1, n/(8*workers))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				to := int(next.Add(int64(chunk)))
				if to-chunk >= n {
					return
				}
				work(to-chunk, min(to, n))
			}
		})
	}
	wg.Wait()
}

// MulTo stores A·B in dst; A is n×p, B is p×k, dst is n×k and shares no memory with either.
//
// It panics if dst is A or B. On one thread nothing is allocated.
func (t Threads) MulTo(dst, a, b *mat.Dense) {
	_, p := a.Dims()
	best.mulTo(t, dst, rowMajor(a.RawMatrix()), a, b, p, false)
}

// AddMulTo adds A·B to dst, under the conditions of MulTo.
func (t Threads) AddMulTo(dst, a, b *mat.Dense) {
	_, p := a.Dims()
	best.mulTo(t, dst, rowMajor(a.RawMatrix()), a, b, p, true)
}

// GramTo stores AᵀA in dst; A is p×k, dst is k×k. dst is exactly symmetric.
//
// Blocks of rows are summed separately and their sums added in ascending order, so the bits do not depend on the number
// of threads. The cost is p·k²/2 multiply-adds; nothing is allocated on one thread.
func (t Threads) GramTo(dst, a *mat.Dense) { best.innerTo(t, dst, a, a, true) }

// Gram returns AᵀA in a new matrix.
func (t Threads) Gram(a *mat.Dense) *mat.Dense {
	_, k := a.Dims()
	gram := mat.NewDense(k, k, nil)
	t.GramTo(gram, a)
	return gram
}

// InnerTo stores AᵀB in dst; A is p×k, B is p×l, dst is k×l. It sums like GramTo, at p·k·l multiply-adds.
func (t Threads) InnerTo(dst, a, b *mat.Dense) { best.innerTo(t, dst, a, b, false) }

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

// Covariances returns the covariances of the columns of X, n×p, each over the rows without NaN in either of them, and
// the mean number of these rows over all pairs of columns.
//
// With Z the columns of X, centred at the means of their numbers and 0 for NaN, and M 1 for numbers and 0 for NaN, the
// sums over common rows are entries of ZᵀZ, ZᵀM and MᵀM.
func (t Threads) Covariances(x *mat.Dense) (c *mat.SymDense, pairs float64) {
	n, p := x.Dims()
	z, m := mat.NewDense(n, p, nil), mat.NewDense(n, p, nil)
	means := ColumnMeans(x)
	for i := range n {
		for j, v := range x.RawRowView(i) {
			if !math.IsNaN(v) {
				z.Set(i, j, v-means[j])
				m.Set(i, j, 1)
			}
		}
	}
	products, counts, sums := t.Gram(z), t.Gram(m), mat.NewDense(p, p, nil)
	t.InnerTo(sums, z, m)
	c = mat.NewSymDense(p, nil)
	for i := range p {
		for j := range i + 1 {
			count := counts.At(i, j)
			c.SetSym(i, j, (products.At(i, j)-sums.At(i, j)*sums.At(j, i)/count)/(count-1))
			if j < i {
				pairs += count / float64(p*(p-1)/2)
			}
		}
	}
	return c, pairs
}
