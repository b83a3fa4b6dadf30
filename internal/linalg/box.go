package linalg

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Box is the problem of coordinate descent in a box, many columns at a time: for each column x of X (k×m) and c of C
//
//	minimize ½·xᵀGx − cᵀx subject to 0 ≤ x ≤ Upper.
type Box struct {
	// Gram is G, k×k, symmetric and positive semi-definite.
	Gram *mat.Dense
	// Upper bounds every entry; +Inf is no bound.
	Upper float64
	// Rounds is the number of times that each entry in turn becomes the best one for the others, at k² multiply-adds.
	Rounds int
}

const (
	// BoxColumns is what the number of columns of a Box must be a multiple of. Columns of 0 in both fill up.
	BoxColumns = 8

	// noCurvature is a curvature that counts as none, in units of the largest.
	noCurvature = 1e-32
)

// Improve makes the rounds on the columns of X, k×m, for those of C. An entry of no curvature stays. The columns do not touch
// one another: what becomes of one does not depend on the others, to the last bit. What is no number stays so: a NaN in G or in
// a column leaves NaN there.
//
// It panics where m is no multiple of BoxColumns. Nothing runs on a second goroutine.
func (b *Box) Improve(x, c *mat.Dense) { best.improve(b, x, c) }

func (l *kernels) improve(b *Box, x, c *mat.Dense) {
	k, m := x.Dims()
	if r, s := c.Dims(); r != k || s != m || m%BoxColumns != 0 || b.Gram.RawMatrix().Rows != k || b.Gram.RawMatrix().Cols != k {
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
	for j, width := 0, len(l.box)-1; j < m; width-- {
		for ; j+l.lanes<<width <= m; j += l.lanes << width {
			l.box[width](k, b.Rounds, &left.Data[j], &right.Data[j], left.Stride, &gram[0], &inverse[0], b.Upper)
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
