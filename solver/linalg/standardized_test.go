package linalg_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/matrix"
)

// The products are those of the matrix written out, for a sparse and a dense X, and the columns have mean 0 and
// deviation 1.
func TestStandardized(t *testing.T) {
	t.Parallel()
	const n, p, k = 40, 6, 3
	random := rand.New(rand.NewPCG(1, 1))
	x := mat.NewDense(n, p, nil)
	indptr, indices, values := []int{0}, []int32(nil), []float64(nil)
	for i := range n {
		for j := range p {
			if v := random.NormFloat64() + float64(j); random.IntN(3) > 0 {
				x.Set(i, j, v)
				indices, values = append(indices, int32(j)), append(values, v)
			}
		}
		indptr = append(indptr, len(values))
	}
	sparse, err := matrix.NewCSR(n, p, indptr, indices, values)
	if err != nil {
		t.Fatal(err)
	}
	means, scales := linalg.ColumnMoments(linalg.Dense{Dense: x})
	for j := range scales {
		scales[j] = 1 / scales[j]
	}
	want := mat.NewDense(n, p, nil)
	want.Apply(func(i, j int, _ float64) float64 { return (x.At(i, j) - means[j]) * scales[j] }, want)
	for j := range p {
		column := want.ColView(j)
		if sum, norm := mat.Sum(column), mat.Norm(column, 2); math.Abs(sum) > 1e-12 || math.Abs(norm*norm/n-1) > 1e-12 {
			t.Errorf("column %d: sum %g, squares %g", j, sum, norm*norm)
		}
	}

	right, left := mat.NewDense(p, k, nil), mat.NewDense(n, k, nil)
	for _, m := range []*mat.Dense{right, left} {
		m.Apply(func(_, _ int, _ float64) float64 { return random.NormFloat64() }, m)
	}
	var product, transposed mat.Dense
	product.Mul(want, right)
	transposed.Mul(want.T(), left)
	for _, operator := range []mat.Matrix{sparse, x} {
		s := linalg.NewStandardized(operator, means, scales)
		got, gotTransposed := mat.NewDense(n, k, nil), mat.NewDense(p, k, nil)
		s.MulTo(got, right)
		s.MulTransTo(gotTransposed, left)
		if !mat.EqualApprox(got, &product, 1e-12) || !mat.EqualApprox(gotTransposed, &transposed, 1e-12) {
			t.Errorf("%T: other products than of the matrix written out", operator)
		}
		if norm := mat.Norm(want, 2); math.Abs(s.NormSquared()/(norm*norm)-1) > 1e-12 {
			t.Errorf("%T: squared norm %g, want %g", operator, s.NormSquared(), norm*norm)
		}
	}
}

// TestColumnMomentsOfConstants: equal entries deviate by exactly 0, so that no rounding error becomes a divisor.
func TestColumnMomentsOfConstants(t *testing.T) {
	t.Parallel()
	const n = 7
	x := mat.NewDense(n, 3, nil)
	for i := range n {
		x.SetRow(i, []float64{0.1, 0, 1e6 + float64(i%2)})
	}
	var values []float64
	var indices []int32
	indptr := []int{0}
	for i := range n {
		for j, v := range x.RawRowView(i) {
			if v != 0 {
				indices, values = append(indices, int32(j)), append(values, v)
			}
		}
		indptr = append(indptr, len(indices))
	}
	sparse, err := matrix.NewCSR(n, 3, indptr, indices, values)
	if err != nil {
		t.Fatal(err)
	}
	for _, operator := range []mat.Matrix{x, sparse} {
		means, deviations := linalg.ColumnMoments(operator)
		if means[0] != 0.1 || deviations[0] != 0 || means[1] != 0 || deviations[1] != 0 {
			t.Errorf("%T: means %v, deviations %v of constants", operator, means[:2], deviations[:2])
		}
		if want := math.Sqrt(3.0 / 7 * 4 / 7); math.Abs(deviations[2]/want-1) > 1e-12 {
			t.Errorf("%T: deviation %v, want %v", operator, deviations[2], want)
		}
	}
}
