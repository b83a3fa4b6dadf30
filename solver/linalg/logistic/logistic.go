// Package logistic evaluates the logistic loss of a matrix of 0 and 1 whose log-odds are a product of two factors: the
// objective of the binary factorizations, with its derivatives.
//
// X is n×p, Topics is p×k, Scores is n×k. A Loss is for one goroutine at a time and runs its own goroutines. The bits
// do not depend on GOMAXPROCS.
package logistic

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/linalg"
)

const (
	// laneCount is the number of ranges of documents with separate sums. It is fixed: GOMAXPROCS must not matter.
	laneCount = 8
	// tileRows and tileColumns bound the cells of M that a lane holds at a time, 1 MiB: they stay in the cache.
	tileRows, tileColumns = 128, 1024
)

const serial = linalg.Threads(1) // a lane has one goroutine

// Point is a pair of factors with the objective and the derivatives that one pass over the cells computes. M =
// Scores·Topicsᵀ and E = σ(M) − X. Derivatives whose field is nil are not computed.
type Point struct {
	Topics, Scores *mat.Dense // F and G, which are read

	Objective       float64
	TopicsGradient  *mat.Dense // EᵀG, p×k
	ScoresGradient  *mat.Dense // E·F, n×k
	Curvature       []float64  // of document i Σⱼ σ(mᵢⱼ)·(1 − σ(mᵢⱼ)) = Σⱼ |eᵢⱼ|·(1 − |eᵢⱼ|)
	ScoresCurvature *mat.Dense // Σⱼ σ(mᵢⱼ)·(1 − σ(mᵢⱼ))·f²ⱼₜ for each score, n×k
}

// Loss is the objective as a function of the factors,
//
//	f(F, G) = Σᵢⱼ log(1 + exp(mᵢⱼ)) − xᵢⱼ·mᵢⱼ, M = G·Fᵀ.
//
// M and E are never formed as a whole. The documents are divided into 8 ranges, and each range holds one tile of
// 128×1024 cells at a time and a gradient with respect to F: 8·p·k numbers. A pass costs n·p logistic functions and a
// product of n·p·k multiply-adds, and one such product more for each matrix of derivatives. The entries of a sparse X
// are visited one by one. No log-odds overflow.
type Loss struct {
	rows       func(i int) (columns []int32, values []float64)
	threads    linalg.Threads
	work       int        // the cells
	transposed *mat.Dense // Fᵀ, k×p
	squared    *mat.Dense // the squares of the entries of F, for ScoresCurvature
	lanes      []*lane
}

// lane adds up some of the documents.
type lane struct {
	from, to int        // documents
	gradient *mat.Dense // EᵀG, p×k, if requested
	loss     float64

	cells, products []float64 // of a tile, of EᵀG of a tile
	next            []int     // of each document of the tile, the first entry not yet visited

	// Parts of the above and of the point, for the products of a tile.
	tile, cross, left, right, sum mat.Dense
}

// New returns the loss for X of 0 and 1 and factors of k columns.
func New(x mat.Matrix, k int) *Loss {
	n, p := x.Dims()
	l := &Loss{rows: linalg.RowsOf(x), threads: linalg.ThreadsOf(x), work: n * p, transposed: mat.NewDense(k, p, nil)}
	size := (n + laneCount - 1) / laneCount
	rows, columns := min(tileRows, size), min(tileColumns, p)
	for from := 0; from < n; from += size {
		l.lanes = append(l.lanes, &lane{
			from: from, to: min(from+size, n),
			cells:    make([]float64, rows*columns),
			products: make([]float64, columns*k),
			next:     make([]int, rows),
		})
	}
	return l
}

// Evaluate computes the objective and the derivatives of a point from its factors.
func (l *Loss) Evaluate(at *Point) {
	l.transposed.Copy(at.Topics.T())
	if at.ScoresGradient != nil {
		at.ScoresGradient.Zero()
	}
	if at.ScoresCurvature != nil {
		if l.squared == nil {
			l.squared = mat.DenseCopyOf(at.Topics)
		}
		l.squared.MulElem(at.Topics, at.Topics)
		at.ScoresCurvature.Zero()
	}
	k, _ := l.transposed.Dims()
	l.threads.Parallel(len(l.lanes), l.work*k, func(from, to int) {
		for _, w := range l.lanes[from:to] {
			w.evaluate(l, at)
		}
	})
	at.Objective = 0
	if at.TopicsGradient != nil {
		at.TopicsGradient.Zero()
	}
	for _, w := range l.lanes {
		at.Objective += w.loss
		if at.TopicsGradient != nil {
			at.TopicsGradient.Add(at.TopicsGradient, w.gradient)
		}
	}
}

func (w *lane) evaluate(l *Loss, at *Point) {
	k, p := l.transposed.Dims()
	w.loss = 0
	if at.TopicsGradient != nil {
		if w.gradient == nil {
			w.gradient = mat.NewDense(p, k, nil)
		}
		w.gradient.Zero()
	}
	rows := len(w.next)
	for top := w.from; top < w.to; top += rows {
		bottom := min(top+rows, w.to)
		if at.Curvature != nil {
			clear(at.Curvature[top:bottom])
		}
		clear(w.next)
		for left := 0; left < p; left += tileColumns {
			w.visit(l, at, bounds{top: top, bottom: bottom, left: left, right: min(left+tileColumns, p)})
		}
	}
}

// bounds is a tile of cells: rows [top, bottom) and columns [left, right).
type bounds struct{ top, bottom, left, right int }

func (w *lane) visit(l *Loss, at *Point, b bounds) {
	rows, columns := b.bottom-b.top, b.right-b.left
	k, _ := l.transposed.Dims()
	data := w.cells[:rows*columns]
	w.tile.SetRawMatrix(blas64.General{Rows: rows, Cols: columns, Stride: columns, Data: data})
	documents, terms := bounds{top: b.top, bottom: b.bottom, left: 0, right: k},
		bounds{top: b.left, bottom: b.right, left: 0, right: k}
	alias(&w.left, at.Scores, documents)
	alias(&w.right, l.transposed, bounds{top: 0, bottom: k, left: b.left, right: b.right})
	serial.MulTo(&w.tile, &w.left, &w.right)
	w.flip(l, b, false)
	w.loss += linalg.LogisticTo(data, data)
	w.flip(l, b, true)

	if at.TopicsGradient != nil {
		w.cross.SetRawMatrix(blas64.General{Rows: columns, Cols: k, Stride: k, Data: w.products[:columns*k]})
		serial.InnerTo(&w.cross, &w.tile, &w.left)
		alias(&w.sum, w.gradient, terms)
		w.sum.Add(&w.sum, &w.cross)
	}
	if at.ScoresGradient != nil {
		w.addProduct(at.ScoresGradient, at.Topics, documents, terms)
	}
	if at.Curvature != nil {
		for i := range rows {
			row := blas64.Vector{N: columns, Inc: 1, Data: data[i*columns : (i+1)*columns]}
			at.Curvature[b.top+i] += blas64.Asum(row) - blas64.Dot(row, row)
		}
	}
	if at.ScoresCurvature != nil {
		for c, e := range data {
			data[c] = math.Abs(e) * (1 - math.Abs(e))
		}
		w.addProduct(at.ScoresCurvature, l.squared, documents, terms)
	}
}

// addProduct adds the product of the tile and the rows of its terms to the rows of its documents.
func (w *lane) addProduct(dst, right *mat.Dense, documents, terms bounds) {
	alias(&w.sum, dst, documents)
	alias(&w.right, right, terms)
	serial.AddMulTo(&w.sum, &w.tile, &w.right)
}

// flip changes the sign of the tile's cells with xᵢⱼ = 1. They then hold −m. Their loss is softplus(−m) = log(1 +
// exp(m)) − m, without cancellation, and their entry of E is −σ(−m) = σ(m) − 1. advance moves past the entries of a
// sparse X in the tile.
func (w *lane) flip(l *Loss, b bounds, advance bool) {
	width := b.right - b.left
	for i := range b.bottom - b.top {
		row := w.cells[i*width : (i+1)*width]
		columns, values := l.rows(b.top + i)
		if columns == nil && len(values) > 0 {
			for j, v := range values[b.left:b.right] {
				row[j] *= 1 - 2*v
			}
		}
		e := w.next[i]
		for ; e < len(columns) && int(columns[e]) < b.right; e++ {
			row[int(columns[e])-b.left] *= 1 - 2*values[e]
		}
		if advance {
			w.next[i] = e
		}
	}
}

// alias makes dst that part of a.
func alias(dst, a *mat.Dense, part bounds) {
	raw := a.RawMatrix()
	raw.Data = raw.Data[part.top*raw.Stride+part.left:]
	raw.Rows, raw.Cols = part.bottom-part.top, part.right-part.left
	dst.SetRawMatrix(raw)
}
