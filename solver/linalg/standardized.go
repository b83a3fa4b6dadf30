package linalg

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/matrix"
)

// Standardized is the n×p matrix (X − 1·Meansᵀ)·diag(Scales). Its products are computed from those of X, so a sparse X
// stays sparse.
type Standardized struct {
	x      mat.Matrix
	by     matrix.Operator // X by its products
	means  []float64
	scales []float64
	norm   float64
}

// NewStandardized returns the matrix for p means and p scales, which it keeps. New documents use those of training.
func NewStandardized(x mat.Matrix, means, scales []float64) *Standardized {
	n, p := x.Dims()
	if len(means) != p || len(scales) != p {
		panic(errShape)
	}
	s := &Standardized{x: x, by: OperatorOf(x, 0), means: means, scales: scales}
	shifts, sums, squares := columnShifts(x)
	for j, m := range means {
		m -= shifts[j]
		s.norm += scales[j] * scales[j] * max(0, squares[j]-2*m*sums[j]+float64(n)*m*m)
	}
	return s
}

// ColumnMoments returns the mean of each column of X, with n rows, and its standard deviation,
// √(Σ(xᵢⱼ − mean)²/n), exactly 0 if all entries are equal. For n = 0 both are 0.
func ColumnMoments(x mat.Matrix) (means, deviations []float64) {
	n, p := x.Dims()
	deviations = make([]float64, p)
	if n == 0 {
		return make([]float64, p), deviations
	}
	shifts, sums, squares := columnShifts(x)
	means = shifts
	for j, sum := range sums {
		mean := sum / float64(n)
		means[j] += mean
		deviations[j] = math.Sqrt(max(0, squares[j]/float64(n)-mean*mean))
	}
	return means, deviations
}

// columnShifts returns, for each column of n rows, one of its entries s and the sums Σᵢ (xᵢⱼ − s) and Σᵢ (xᵢⱼ − s)². s
// is 0 if the column has zeros that are not stored. If all entries of a column are equal, its sums are exactly 0.
func columnShifts(x mat.Matrix) (shifts, sums, squares []float64) {
	n, p := x.Dims()
	shifts, sums, squares = make([]float64, p), make([]float64, p), make([]float64, p)
	add := func(j int, v float64) {
		v -= shifts[j]
		sums[j] += v
		squares[j] += v * v
	}
	dense, sparse := Stored(x)
	if sparse != nil {
		stored := make([]int, p)
		_, indices, values := sparse.Arrays()
		for c, j := range indices {
			if stored[j]++; stored[j] == n {
				shifts[j] = values[c]
			}
		}
		for c, j := range indices {
			add(int(j), values[c])
		}
		return shifts, sums, squares
	}
	for i := range n {
		row := dense.RawRowView(i)
		if i == 0 {
			copy(shifts, row)
		}
		for j, v := range row {
			add(j, v)
		}
	}
	return shifts, sums, squares
}

// Dims returns n and p.
func (s *Standardized) Dims() (n, p int) { return s.x.Dims() }

// At returns entry (i, j).
func (s *Standardized) At(i, j int) float64 { return (s.x.At(i, j) - s.means[j]) * s.scales[j] }

// T returns the transposed matrix.
func (s *Standardized) T() mat.Matrix { return mat.Transpose{Matrix: s} }

// NormSquared returns the sum of the squares of the entries.
func (s *Standardized) NormSquared() float64 { return s.norm }

// MulTo stores the product with D in dst: X·D′ − 1·(MeansᵀD′), D′ = diag(Scales)·D. It allocates D′.
func (s *Standardized) MulTo(dst, d *mat.Dense) {
	n, p := s.Dims()
	checkProduct(dst, d, n, p)
	_, k := d.Dims()
	scaled, offset := mat.NewDense(p, k, nil), make([]float64, k)
	for j := range p {
		out := scaled.RawRowView(j)
		for t, v := range d.RawRowView(j) {
			out[t] = s.scales[j] * v
			offset[t] += s.means[j] * out[t]
		}
	}
	s.by.MulTo(dst, scaled)
	for i := range n {
		floats.Sub(dst.RawRowView(i), offset)
	}
}

// MulTransTo stores the product of the transposed matrix with D in dst: diag(Scales)·(XᵀD − Means·(1ᵀD)).
func (s *Standardized) MulTransTo(dst, d *mat.Dense) {
	n, p := s.Dims()
	checkProduct(dst, d, p, n)
	_, k := d.Dims()
	sums := make([]float64, k)
	for i := range n {
		for t, v := range d.RawRowView(i) {
			sums[t] += v
		}
	}
	s.by.MulTransTo(dst, d)
	for j := range p {
		row := dst.RawRowView(j)
		for t, v := range sums {
			row[t] = s.scales[j] * (row[t] - s.means[j]*v)
		}
	}
}
