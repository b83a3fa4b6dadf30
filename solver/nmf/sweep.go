package nmf

import (
	"runtime"
	"sync"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// noCurvature is a curvature that counts as none, in units of the largest: a topic of rounding errors, 1e-16 as long as
// another, would take scores without bound.
const noCurvature = 1e-32

// sweep makes one round of coordinate descent over the entries of A ≥ 0, row by row, on
//
//	½·tr(A·Q·Aᵀ) − tr(Aᵀ·C) + w·ΣA,
//
// where A and C are r×k and Q is k×k, positive semi-definite: each entry in turn becomes the best one for the others. For
// Q = FᵀF and C = X·F this is ½‖X − A·Fᵀ‖² + w·‖A‖₁, and a round over columns of all rows at once (HALS) is the same
// arithmetic, since the rows do not touch one another. Negative entries become least, which is 0 for the best. An entry of no curvature becomes 0 if
// it is penalized, and else stays. The cost is r·k² multiply-adds.
func sweep(a, c, q *mat.Dense, w, least float64) {
	rows, k := a.Dims()
	var none float64
	for t := range k {
		none = max(none, noCurvature*q.At(t, t))
	}
	parallel(rows, func(from, to int) {
		for i := from; i < to; i++ {
			row, cross := a.RawRowView(i), c.RawRowView(i)
			for t := range k {
				curvature := q.RawRowView(t)
				if d := curvature[t]; d > none {
					if row[t] += (cross[t] - w - dot(row, curvature)) / d; row[t] < 0 {
						row[t] = least
					}
				} else if w > 0 {
					row[t] = 0
				}
			}
		}
	})
}

// parallelBlock is the number of rows that a goroutine takes at a time.
const parallelBlock = 64

// parallel calls work for the ranges of parallelBlock rows that cover [0, rows), on as many goroutines as may run.
func parallel(rows int, work func(from, to int)) {
	blocks := (rows + parallelBlock - 1) / parallelBlock
	workers := min(runtime.GOMAXPROCS(0), blocks)
	some := func(first int) {
		for block := first; block < blocks; block += workers {
			work(block*parallelBlock, min((block+1)*parallelBlock, rows))
		}
	}
	if workers == 1 {
		some(0)
		return
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { some(w) })
	}
	wg.Wait()
}

// dot returns the inner product of slices of one length.
func dot(a, b []float64) float64 {
	return blas64.Dot(blas64.Vector{N: len(a), Inc: 1, Data: a}, blas64.Vector{N: len(b), Inc: 1, Data: b})
}
