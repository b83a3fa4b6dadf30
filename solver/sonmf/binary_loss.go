package sonmf

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
)

const (
	// lossLanes is the number of ranges of documents that are summed apart. It is fixed, so that the sums do not depend
	// on GOMAXPROCS.
	lossLanes = 8
	// tileRows and tileColumns bound the cells of M that a lane holds at a time, 1 MiB: they stay in the cache.
	tileRows, tileColumns = 128, 1024
)

// lossPoint is a pair of factors and what one pass over the cells tells about it.
type lossPoint struct {
	topics, scores                 *mat.Dense
	topicsGradient, scoresGradient *mat.Dense
	curvature                      []float64  // Σⱼ σ(mᵢⱼ)·(1 − σ(mᵢⱼ)) = Σⱼ |eᵢⱼ|·(1 − |eᵢⱼ|) of each document
	scoresCurvature                *mat.Dense // where it is not nil, Σⱼ σ(mᵢⱼ)·(1 − σ(mᵢⱼ))·f²ⱼₜ for each score
	objective                      float64
}

func newLossPoint(topics, scores *mat.Dense) *lossPoint {
	n, _ := scores.Dims()
	return &lossPoint{
		topics: topics, scores: scores,
		topicsGradient: newLike(topics), scoresGradient: newLike(scores),
		curvature: make([]float64, n),
	}
}

// logisticLoss is the objective of Binary as a function of the factors,
//
//	f(F, G) = Σᵢⱼ log(1 + exp(mᵢⱼ)) − xᵢⱼ·mᵢⱼ, M = G·Fᵀ,
//
// with its gradients EᵀG in F and E·F in G, E = σ(M) − X.
//
// M and E are never formed as a whole: each lane walks over its documents by tiles of 128×1024 cells. Beside the tile a
// lane holds a gradient in F, so that the working memory is 8·p·k numbers. One pass costs three products of n·p·k
// multiply-adds and n·p logistic functions; the entries of a sparse X are visited one by one.
type logisticLoss struct {
	x          linalg.Operator
	transposed *mat.Dense // Fᵀ, k×p
	squared    *mat.Dense // the squares of the entries of F, for scoresCurvature
	lanes      []*lossLane
}

// lossLane adds up some of the documents.
type lossLane struct {
	from, to int        // documents
	gradient *mat.Dense // EᵀG, p×k
	loss     float64

	cells, products []float64 // of a tile, of EᵀG of a tile
	next            []int     // of each document of the tile, the first entry not yet visited

	// Parts of the above and of the point, for the products of a tile.
	tile, cross, scores, scoresGradient, topics, topicsGradient, transposed mat.Dense
}

func newLogisticLoss(x linalg.Operator, k int) *logisticLoss {
	n, p := x.Dims()
	l := &logisticLoss{x: x, transposed: mat.NewDense(k, p, nil)}
	size := (n + lossLanes - 1) / lossLanes
	rows, columns := min(tileRows, size), min(tileColumns, p)
	for from := 0; from < n; from += size {
		l.lanes = append(l.lanes, &lossLane{
			from: from, to: min(from+size, n),
			gradient: mat.NewDense(p, k, nil),
			cells:    make([]float64, rows*columns),
			products: make([]float64, columns*k),
			next:     make([]int, rows),
		})
	}
	return l
}

// evaluate computes all of a point from its factors.
func (l *logisticLoss) evaluate(at *lossPoint) {
	l.transposed.Copy(at.topics.T())
	at.scoresGradient.Zero()
	if at.scoresCurvature != nil {
		if l.squared == nil {
			l.squared = newLike(at.topics)
		}
		l.squared.MulElem(at.topics, at.topics)
		at.scoresCurvature.Zero()
	}
	workers := min(runtime.GOMAXPROCS(0), len(l.lanes))
	if workers < 2 {
		for _, lane := range l.lanes {
			lane.evaluate(l, at)
		}
	} else {
		var wg sync.WaitGroup
		var taken atomic.Int64
		for range workers {
			wg.Go(func() {
				for {
					lane := int(taken.Add(1)) - 1
					if lane >= len(l.lanes) {
						return
					}
					l.lanes[lane].evaluate(l, at)
				}
			})
		}
		wg.Wait()
	}
	at.objective = 0
	at.topicsGradient.Zero()
	for _, lane := range l.lanes {
		at.objective += lane.loss
		at.topicsGradient.Add(at.topicsGradient, lane.gradient)
	}
}

// evaluate adds up the lane's documents.
func (lane *lossLane) evaluate(l *logisticLoss, at *lossPoint) {
	_, p := l.x.Dims()
	lane.loss = 0
	lane.gradient.Zero()
	rows := len(lane.next)
	for top := lane.from; top < lane.to; top += rows {
		bottom := min(top+rows, lane.to)
		clear(at.curvature[top:bottom])
		clear(lane.next)
		for left := 0; left < p; left += tileColumns {
			lane.visit(l, at, bounds{top, bottom, left, min(left+tileColumns, p)})
		}
	}
}

// bounds is a tile of cells: rows [top, bottom) and columns [left, right).
type bounds struct{ top, bottom, left, right int }

// visit adds up one tile.
func (lane *lossLane) visit(l *logisticLoss, at *lossPoint, b bounds) {
	rows, columns := b.bottom-b.top, b.right-b.left
	k, _ := l.transposed.Dims()
	data := lane.cells[:rows*columns]
	lane.tile.SetRawMatrix(blas64.General{Rows: rows, Cols: columns, Stride: columns, Data: data})
	lane.cross.SetRawMatrix(blas64.General{Rows: columns, Cols: k, Stride: k, Data: lane.products[:columns*k]})
	all := bounds{b.top, b.bottom, 0, k}
	alias(&lane.scores, at.scores, all)
	alias(&lane.scoresGradient, at.scoresGradient, all)
	alias(&lane.topics, at.topics, bounds{b.left, b.right, 0, k})
	alias(&lane.topicsGradient, lane.gradient, bounds{b.left, b.right, 0, k})
	alias(&lane.transposed, l.transposed, bounds{0, k, b.left, b.right})

	linalg.MulTo(&lane.tile, &lane.scores, &lane.transposed)
	lane.flip(l.x, b)
	lane.loss += linalg.LogisticTo(data, data)
	lane.flip(l.x, b)
	lane.advance(l.x, b)
	for i := range rows {
		row := blas64.Vector{N: columns, Inc: 1, Data: data[i*columns : (i+1)*columns]}
		at.curvature[b.top+i] += blas64.Asum(row) - blas64.Dot(row, row)
	}
	linalg.AddMulTo(&lane.scoresGradient, &lane.tile, &lane.topics)
	linalg.InnerTo(&lane.cross, &lane.tile, &lane.scores)
	lane.topicsGradient.Add(&lane.topicsGradient, &lane.cross)
	if at.scoresCurvature != nil {
		for c, e := range data {
			data[c] = math.Abs(e) * (1 - math.Abs(e))
		}
		alias(&lane.scoresGradient, at.scoresCurvature, all)
		alias(&lane.topics, l.squared, bounds{b.left, b.right, 0, k})
		linalg.AddMulTo(&lane.scoresGradient, &lane.tile, &lane.topics)
	}
}

// flip changes the sign of the tile's cells with xᵢⱼ = 1. With −m in them, their loss is softplus(−m) = log(1 + exp(m)) − m
// without cancellation, and −σ(−m) = σ(m) − 1 is their entry of E.
func (lane *lossLane) flip(x linalg.Operator, b bounds) {
	columns := b.right - b.left
	for i := range b.bottom - b.top {
		row := lane.cells[i*columns : (i+1)*columns]
		switch x := x.(type) {
		case *linalg.CSR:
			entries, values := x.Row(b.top + i)
			for e := lane.next[i]; e < len(entries) && int(entries[e]) < b.right; e++ {
				row[int(entries[e])-b.left] *= 1 - 2*values[e]
			}
		case linalg.Dense:
			for j, v := range x.RawRowView(b.top + i)[b.left:b.right] {
				row[j] *= 1 - 2*v
			}
		}
	}
}

// advance leaves the entries of a sparse X in the tile behind.
func (lane *lossLane) advance(x linalg.Operator, b bounds) {
	sparse, ok := x.(*linalg.CSR)
	if !ok {
		return
	}
	for i := range b.bottom - b.top {
		entries, _ := sparse.Row(b.top + i)
		for lane.next[i] < len(entries) && int(entries[lane.next[i]]) < b.right {
			lane.next[i]++
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
