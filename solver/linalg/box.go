package linalg

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Coordinate descent for least squares in a box. Box works on the columns of a matrix, many at a time in vector
// instructions. DescendRows makes one round on rows, and NonNegative continues to the minimum of each row. Each adds
// the terms of an entry in its own order: another order would change the last bits of factors and errors.

// Box is the problem of coordinate descent in a box, many columns at a time: for each column x of X (k×m) and c of C
//
//	minimize ½·xᵀGx − cᵀx subject to 0 ≤ x ≤ Upper.
type Box struct {
	// Gram is G, k×k, symmetric and positive semi-definite.
	Gram *mat.Dense
	// Upper bounds every entry; +Inf means no bound.
	Upper float64
	// Rounds is the number of rounds. In a round each entry in turn becomes the best one for the others. A round costs
	// k² multiply-adds.
	Rounds int
}

const (
	// BoxColumns divides the number of columns of a Box. Columns of zeros in both matrices fill up the rest.
	BoxColumns = 8

	// noCurvature is a share of the largest curvature. Smaller curvatures count as 0: a column of rounding errors,
	// 1e-16 as long as another, would get entries without bound.
	noCurvature = 1e-32

	// maxRounds and roundTol end NonNegative.
	maxRounds = 1000
	roundTol  = 1e-9
)

// Improve makes the rounds on the columns of X, k×m, for those of C. An entry without curvature stays. The result of a
// column does not depend on other columns, to the last bit. NaN is kept: if G or a column has a NaN, that column ends
// with NaN.
//
// It panics unless m is a multiple of BoxColumns. It uses one goroutine.
func (b *Box) Improve(x, c *mat.Dense) { best.improve(b, x, c) }

func (l *kernels) improve(b *Box, x, c *mat.Dense) {
	k, m := x.Dims()
	if r, s := c.Dims(); r != k || s != m || m%BoxColumns != 0 || b.Gram.RawMatrix().Rows != k ||
		b.Gram.RawMatrix().Cols != k {
		panic(errShape)
	}
	left, right := x.RawMatrix(), c.RawMatrix()
	checkApart(left, right)
	if left.Stride != right.Stride {
		panic(errShape)
	}
	buffer := borrow(k*k + k)
	defer buffers.Put(buffer)
	gram, inverse := (*buffer)[:k*k], (*buffer)[k*k:]
	var none float64
	for t := range k {
		copy(gram[t*k:(t+1)*k], b.Gram.RawRowView(t))
		none = max(none, noCurvature*gram[t*k+t])
	}
	for t := range inverse {
		inverse[t] = 0
		if d := gram[t*k+t]; d > none {
			inverse[t] = 1 / d
		}
	}
	if k == 0 || m == 0 || b.Rounds < 1 {
		return
	}
	if l.lanes == 0 {
		for range b.Rounds {
			boxGo(left.Data, right.Data, left.Stride, m, gram, inverse, b.Upper)
		}
		return
	}
	for j, vectors := 0, l.lanes; j < m; vectors /= 2 {
		for ; j+l.lanes*vectors <= m; j += l.lanes * vectors {
			l.box(vectors, k, b.Rounds, &left.Data[j], &right.Data[j], left.Stride, &gram[0], &inverse[0], b.Upper)
		}
	}
}

func boxGo(x, c []float64, stride, m int, gram, inverse []float64, upper float64) {
	k := len(inverse)
	buffer := borrow(m)
	defer buffers.Put(buffer)
	sums := *buffer
	for t := range k {
		copy(sums, c[t*stride:])
		for s := range k {
			axpy(-gram[t*k+s], x[s*stride:], sums)
		}
		row := x[t*stride:][:m]
		for j, v := range sums {
			row[j] = math.Min(math.Max(row[j]+v*inverse[t], 0), upper)
		}
	}
}

// Rows is the problem of DescendRows,
//
//	minimize ½·tr(A·G·Aᵀ) − tr(Aᵀ·C) + w·ΣA subject to A ≥ 0.
//
// For G = FᵀF and C = X·F this is ½‖X − A·Fᵀ‖² + w·‖A‖₁.
type Rows struct {
	Gram   *mat.Dense // G, k×k, symmetric and positive semi-definite
	Weight float64    // w
	Least  float64    // replaces negative entries; the best value is 0
}

// DescendRows makes one round of coordinate descent over the entries of A, row by row, where A and C are r×k. Each
// entry in turn becomes the best one for the others. Since rows do not depend on one another, this is the same
// arithmetic as hierarchical alternating least squares. An entry without curvature becomes 0 if w > 0, and stays
// otherwise. The cost is r·k² multiply-adds.
func (t Threads) DescendRows(a, c *mat.Dense, by Rows) {
	rows, k := a.Dims()
	var none float64
	for t := range k {
		none = max(none, noCurvature*by.Gram.At(t, t))
	}
	t.Parallel(rows, rows*k*k, func(from, to int) {
		for i := from; i < to; i++ {
			row, cross := a.RawRowView(i), c.RawRowView(i)
			for t := range k {
				curvature := by.Gram.RawRowView(t)
				if d := curvature[t]; d > none {
					if row[t] += (cross[t] - by.Weight - floats.Dot(row, curvature)) / d; row[t] < 0 {
						row[t] = by.Least
					}
				} else if by.Weight > 0 {
					row[t] = 0
				}
			}
		}
	})
}

// NonNegative replaces each row b of B (r×k) by the z ≥ 0 that minimizes ½zᵀGz − bᵀz for G (k×k), symmetric and
// positive semi-definite. It starts at 0 and ends when no entry of z changes by more than 1e-9 of the largest, or after
// 1000 rounds.
func (t Threads) NonNegative(b, gram *mat.Dense) {
	rows, k := b.Dims()
	t.Parallel(rows, rows*k*k*maxRounds/10, func(from, to int) {
		z := make([]float64, k)
		for i := from; i < to; i++ {
			nonNegative(z, b.RawRowView(i), gram)
			copy(b.RawRowView(i), z)
		}
	})
}

func nonNegative(z, b []float64, gram *mat.Dense) {
	clear(z)
	for range maxRounds {
		var change, largest float64
		for t := range z {
			row := gram.RawRowView(t)
			if row[t] <= 0 {
				continue
			}
			slope := -b[t]
			for u, v := range z {
				slope += row[u] * v
			}
			next := max(0, z[t]-slope/row[t])
			change, largest = max(change, math.Abs(next-z[t])), max(largest, next)
			z[t] = next
		}
		if change <= roundTol*largest {
			return
		}
	}
}
