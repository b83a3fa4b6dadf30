package rank

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/svd"
)

func randomMatrix(n, p int, seed uint64) *mat.Dense {
	random := rand.New(rand.NewPCG(seed, 0))
	x := mat.NewDense(n, p, nil)
	x.Apply(func(_, _ int, _ float64) float64 { return random.NormFloat64() }, x)
	return x
}

// marked returns the folds of n rows: 1 for these, 0 for others.
func marked(n int, these []int) []int {
	of := make([]int, n)
	for _, i := range these {
		of[i] = 1
	}
	return of
}

// For the singular value decomposition the estimate of A is B·D⁺·C, D⁺ the pseudo-inverse of the rank k part of D:
// equation 3.1 of Owen and Perry.
func TestBiCrossIsTheDefinition(t *testing.T) {
	t.Parallel()
	const k = 3
	x := randomMatrix(14, 11, 2)
	rows, columns := []int{0, 3, 4, 9}, []int{1, 2, 10}
	q := split(x, marked(14, rows), marked(11, columns), 1, 1)
	got, err := q.error(t.Context(),
		func(ctx context.Context, x mat.Matrix, factors int, _ uint64) (*mat.Dense, *mat.Dense, error) {
			r, err := solver.Solve(ctx, x, solver.Settings{Rank: factors}, svd.Method{})
			if err != nil {
				return nil, nil, err
			}
			return r.Topics, r.Scores, nil
		}, k, &BiCrossSettings{})
	if err != nil {
		t.Fatal(err)
	}
	dense := func(x mat.Matrix) *mat.Dense { return x.(*mat.Dense) }
	var svd mat.SVD
	svd.Factorize(dense(q.d), mat.SVDThin)
	var u, v, scaled, inverse, estimate mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	values := svd.Values(nil)
	scaled.Apply(func(_, t int, w float64) float64 {
		if t >= k {
			return 0
		}
		return w / values[t]
	}, &v)
	inverse.Mul(&scaled, u.T())
	estimate.Product(dense(q.b), &inverse, dense(q.c))
	var want float64
	for a, i := range rows {
		for b, j := range columns {
			d := x.At(i, j) - estimate.At(a, b)
			want += d * d / 12
		}
	}
	if math.Abs(got-want) > 1e-9*want {
		t.Errorf("error %v, want %v", got, want)
	}
}

// At a non-negative least squares solution no coefficient can be changed for the better.
func TestNonNegativeLeastSquares(t *testing.T) {
	t.Parallel()
	m, products := randomMatrix(20, 5, 3), randomMatrix(8, 5, 4)
	m.Apply(func(_, _ int, v float64) float64 { return math.Abs(v) }, m) // neighbours that compete
	b := mat.DenseCopyOf(products)
	if err := leastSquares(products, m, true); err != nil {
		t.Fatal(err)
	}
	gram := mat.NewDense(5, 5, nil)
	gram.Mul(m.T(), m)
	var slopes mat.Dense
	slopes.Mul(products, gram)
	slopes.Sub(&slopes, b)
	zeros := 0
	slopes.Apply(func(i, t2 int, slope float64) float64 {
		switch z := products.At(i, t2); {
		case z < 0:
			t.Errorf("coefficient %v", z)
		case z == 0:
			zeros++
			if slope < -1e-7 {
				t.Errorf("row %d: slope %v at 0", i, slope)
			}
		case math.Abs(slope) > 1e-6:
			t.Errorf("row %d: slope %v at %v", i, slope, z)
		}
		return slope
	}, &slopes)
	if zeros == 0 || zeros == 40 {
		t.Errorf("%d of 40 coefficients are 0: the test sees one case alone", zeros)
	}
}
