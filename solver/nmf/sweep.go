package nmf

import (
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
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
// arithmetic, since the rows do not touch one another. Negative entries become least, which is 0 for the best. An entry of
// no curvature becomes 0 if it is penalized, and else stays. The cost is r·k² multiply-adds.
func sweep(a, c, q *mat.Dense, w, least float64) {
	rows, k := a.Dims()
	var none float64
	for t := range k {
		none = max(none, noCurvature*q.At(t, t))
	}
	linalg.Threads(0).Parallel(rows, rows*k*k, func(from, to int) {
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

// dot returns the inner product of slices of one length.
func dot(a, b []float64) float64 {
	return blas64.Dot(blas64.Vector{N: len(a), Inc: 1, Data: a}, blas64.Vector{N: len(b), Inc: 1, Data: b})
}
