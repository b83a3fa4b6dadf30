package linalg

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Standardized is the n×p matrix (X − 1·Meansᵀ)·diag(Scales), by products with X alone: a sparse X stays sparse.
type Standardized struct {
	x      Operator
	means  []float64
	scales []float64
	norm   float64
}

// NewStandardized returns the matrix for p means and p scales, which it keeps. X must be a *CSR or a Dense. The means and
// deviations of training are those for new documents too.
func NewStandardized(x Operator, means, scales []float64) *Standardized {
	n, p := x.Dims()
	if len(means) != p || len(scales) != p {
		panic(errShape)
	}
	s := &Standardized{x: x, means: means, scales: scales}
	shifts, sums, squares := columnShifts(x)
	for j, m := range means {
		m -= shifts[j]
		s.norm += scales[j] * scales[j] * max(0, squares[j]-2*m*sums[j]+float64(n)*m*m)
	}
	return s
}

// ColumnMoments returns the mean of each column of a *CSR or a Dense with n rows and its standard deviation,
// √(Σ(xᵢⱼ − mean)²/n), exactly 0 where all entries are equal. For n = 0 both are 0.
func ColumnMoments(x Operator) (means, deviations []float64) {
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

// columnShifts returns of each column of n rows an entry s, 0 where there are zeros that are not stored, and the sums
// Σᵢ (xᵢⱼ − s) and Σᵢ (xᵢⱼ − s)². Those of a column of equal entries are exactly 0.
func columnShifts(x Operator) (shifts, sums, squares []float64) {
	n, p := x.Dims()
	shifts, sums, squares = make([]float64, p), make([]float64, p), make([]float64, p)
	add := func(j int, v float64) {
		v -= shifts[j]
		sums[j] += v
		squares[j] += v * v
	}
	switch x := x.(type) {
	case *CSR:
		stored := make([]int, p)
		for c, j := range x.Indices {
			if stored[j]++; stored[j] == n {
				shifts[j] = x.Values[c]
			}
		}
		for c, j := range x.Indices {
			add(int(j), x.Values[c])
		}
	case Dense:
		for i := range n {
			row := x.RawRowView(i)
			if i == 0 {
				copy(shifts, row)
			}
			for j, v := range row {
				add(j, v)
			}
		}
	default:
		panic("linalg: column sums need entries")
	}
	return shifts, sums, squares
}

// Dims returns n and p.
func (s *Standardized) Dims() (n, p int) { return s.x.Dims() }

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
	s.x.MulTo(dst, scaled)
	for i := range n {
		row := dst.RawRowView(i)
		for t, v := range offset {
			row[t] -= v
		}
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
	s.x.MulTransTo(dst, d)
	for j := range p {
		row := dst.RawRowView(j)
		for t, v := range sums {
			row[t] = s.scales[j] * (row[t] - s.means[j]*v)
		}
	}
}
