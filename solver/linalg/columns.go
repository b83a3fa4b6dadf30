package linalg

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/lists"
)

// RowOrder returns the rows of a matrix in ascending order of their entries, NaN before every number. Equal rows are
// ordered by the rows of b, unless b is nil, and then by their place.
func RowOrder(a, b *mat.Dense) []int {
	rows, _ := a.Dims()
	return Order(rows, func(i, j int) int {
		if c := slices.Compare(a.RawRowView(i), a.RawRowView(j)); c != 0 || b == nil {
			return c
		}
		return slices.Compare(b.RawRowView(i), b.RawRowView(j))
	})
}

// Order returns 0 … n−1 in the order of compare, equal ones by their size.
func Order(n int, compare func(i, j int) int) []int {
	order := Indices(n)
	slices.SortStableFunc(order, compare)
	return order
}

// Indices returns 0 … n−1.
func Indices(n int) []int {
	return lists.Make(n, func(i int) int { return i })
}

// SelectRows returns a copy of these rows of a matrix in the order given; rows may repeat. It returns nil for a nil
// matrix.
func SelectRows(a *mat.Dense, rows []int) *mat.Dense {
	if a == nil {
		return nil
	}
	_, cols := a.Dims()
	out := mat.NewDense(len(rows), cols, nil)
	for to, from := range rows {
		out.SetRow(to, a.RawRowView(from))
	}
	return out
}

// SelectColumns returns a copy of these columns of a matrix in the order given.
func SelectColumns(a *mat.Dense, columns []int) *mat.Dense {
	rows, _ := a.Dims()
	out := mat.NewDense(rows, len(columns), nil)
	for to, from := range columns {
		for i := range rows {
			out.Set(i, to, a.At(i, from))
		}
	}
	return out
}

// Directions returns the columns of a matrix at length one, those that are zero or not finite as 0.
func Directions(a *mat.Dense) *mat.Dense {
	rows, k := a.Dims()
	out := mat.NewDense(rows, k, nil)
	for c := range k {
		length := mat.Norm(a.ColView(c), 2)
		if !(length > 0) || math.IsInf(length, 1) {
			continue
		}
		for j := range rows {
			out.Set(j, c, a.At(j, c)/length)
		}
	}
	return out
}

// Cosine returns the cosine of the angle between column s of A and column t of B, 0 if one of them is 0.
func Cosine(a, b *mat.Dense, s, t int) float64 {
	f, g := a.ColView(s), b.ColView(t)
	if lengths := mat.Norm(f, 2) * mat.Norm(g, 2); lengths > 0 {
		return mat.Dot(f, g) / lengths
	}
	return 0
}

// NewLike returns a zero matrix of the shape of a.
func NewLike(a *mat.Dense) *mat.Dense {
	rows, cols := a.Dims()
	return mat.NewDense(rows, cols, nil)
}

// ColumnSquares returns the sum of the squares of each column.
func ColumnSquares(a *mat.Dense) []float64 {
	rows, cols := a.Dims()
	squares := make([]float64, cols)
	for i := range rows {
		for j, v := range a.RawRowView(i) {
			squares[j] += v * v
		}
	}
	return squares
}

// Extremes returns the least and the greatest of the numbers that are not NaN; +Inf and −Inf if there is none.
func Extremes(values []float64) (least, greatest float64) {
	least, greatest = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v == v {
			least, greatest = min(least, v), max(greatest, v)
		}
	}
	return least, greatest
}

// LargestEntries returns the entry of largest magnitude of each column, the first of several.
func LargestEntries(a *mat.Dense) []float64 {
	rows, cols := a.Dims()
	largest := make([]float64, cols)
	for i := range rows {
		for j, v := range a.RawRowView(i) {
			if math.Abs(v) > math.Abs(largest[j]) {
				largest[j] = v
			}
		}
	}
	return largest
}

// Signs returns 1 or −1 for each column, the sign of its largest entry.
func Signs(a *mat.Dense) []float64 {
	signs := LargestEntries(a)
	for t, v := range signs {
		signs[t] = math.Copysign(1, v)
	}
	return signs
}

// Columns returns columns [from, to) of a matrix as a view.
func Columns(a *mat.Dense, from, to int) *mat.Dense {
	return a.Slice(0, a.RawMatrix().Rows, from, to).(*mat.Dense)
}

// ScaleColumns stores A·diag(factors) in dst, which may be A.
func ScaleColumns(dst, a *mat.Dense, factors []float64) {
	rows, _ := a.Dims()
	for i := range rows {
		floats.MulTo(dst.RawRowView(i), a.RawRowView(i), factors)
	}
}

// ColumnMeans returns the mean of the entries that are not NaN in each column, 0 for a column without any.
func ColumnMeans(a mat.Matrix) []float64 {
	rows, cols := a.Dims()
	means := make([]float64, cols)
	for j := range means {
		seen := 0.0
		for i := range rows {
			if v := a.At(i, j); !math.IsNaN(v) {
				means[j] += v
				seen++
			}
		}
		means[j] /= max(seen, 1)
	}
	return means
}

// SampleMoments returns the mean and the standard deviation (divisor n−1) of the entries that are not NaN in each
// column; the deviation of fewer than two is 0.
func SampleMoments(a mat.Matrix) (means, deviations []float64) {
	rows, cols := a.Dims()
	means, deviations = ColumnMeans(a), make([]float64, cols)
	for j, mean := range means {
		var seen, squares float64
		for i := range rows {
			if v := a.At(i, j); !math.IsNaN(v) {
				seen++
				squares += (v - mean) * (v - mean)
			}
		}
		deviations[j] = math.Sqrt(squares / max(seen-1, 1))
	}
	return means, deviations
}

// Centred returns the matrix minus these column means; nil stands for its own means.
func Centred(a *mat.Dense, means []float64) *mat.Dense {
	if means == nil {
		means = ColumnMeans(a)
	}
	out := mat.DenseCopyOf(a)
	out.Apply(func(_, j int, v float64) float64 { return v - means[j] }, out)
	return out
}

// Filled returns the matrix with the value of its column in place of each NaN.
func Filled(a *mat.Dense, values []float64) *mat.Dense {
	out := mat.DenseCopyOf(a)
	out.Apply(func(_, j int, v float64) float64 {
		if math.IsNaN(v) {
			return values[j]
		}
		return v
	}, out)
	return out
}

// MostlyNegative reports whether the product of the sums of squares of the negative entries of a column of A and of B
// is larger than that of the positive ones. Non-negative starts use it to choose the better half of a pair of singular
// vectors (NNDSVD; Boutsidis and Gallopoulos 2008).
func MostlyNegative(a, b *mat.Dense, column int) bool {
	positive, negative := 1.0, 1.0
	for _, m := range []*mat.Dense{a, b} {
		var above, below float64
		for i := range m.RawMatrix().Rows {
			if v := m.At(i, column); v > 0 {
				above += v * v
			} else {
				below += v * v
			}
		}
		positive, negative = positive*above, negative*below
	}
	return negative > positive
}
