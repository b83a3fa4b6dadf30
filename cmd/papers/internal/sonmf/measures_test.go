package sonmf

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func TestSubspaceDistance(t *testing.T) {
	t.Parallel()
	const angle = 0.4
	line := mat.NewDense(3, 1, []float64{5, 0, 0})
	turned := mat.NewDense(3, 1, []float64{math.Cos(angle), math.Sin(angle), 0})
	plane := mat.NewDense(3, 2, []float64{1, 1, 0, 1, 0, 0})
	for name, c := range map[string]struct {
		a, b *mat.Dense
		want float64
	}{
		"lines at an angle":          {line, turned, math.Sqrt2 * math.Sin(angle)},
		"a line and itself":          {line, line, 0},
		"a line in a plane":          {plane, line, 1},
		"a plane and its other base": {plane, mat.NewDense(3, 2, []float64{0, 3, 7, 0, 0, 0}), 0},
		"a dependent column": {
			mat.NewDense(3, 2, []float64{1, 2, 1, 2, 0, 0}), mat.NewDense(3, 1, []float64{1, 1, 0}), 0,
		},
		"a column of zeros": {
			mat.NewDense(3, 2, []float64{1, 0, 1, 0, 0, 0}), mat.NewDense(3, 1, []float64{1, 1, 0}), 0,
		},
		"nothing and a plane":         {mat.NewDense(3, 2, nil), plane, math.Sqrt2},
		"columns of unlike lengths":   {mat.NewDense(3, 2, []float64{1e-9, 0, 0, 1e9, 0, 0}), plane, 0},
		"a plane and what is without": {plane, mat.NewDense(3, 1, []float64{0, 0, -2}), math.Sqrt(3)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, pair := range [][2]*mat.Dense{{c.a, c.b}, {c.b, c.a}} {
				got, err := subspaceDistance(pair[0], pair[1])
				if err != nil || math.Abs(got-c.want) > 1e-7 {
					t.Errorf("got %v, %v, want %v", got, err, c.want)
				}
			}
		})
	}
}

// TestSubspaceDistanceByDefinition forms the projections of equation (9).
func TestSubspaceDistanceByDefinition(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	draw := func(k int) *mat.Dense {
		m := mat.NewDense(12, k, nil)
		for i := range m.RawMatrix().Data {
			m.RawMatrix().Data[i] = random.Float64()
		}
		return m
	}
	projection := func(a *mat.Dense) *mat.Dense {
		var gram, solved, h mat.Dense
		gram.Mul(a.T(), a)
		if err := solved.Solve(&gram, a.T()); err != nil {
			t.Fatal(err)
		}
		h.Mul(a, &solved)
		return &h
	}
	for _, k := range []int{1, 3, 5} {
		a, b := draw(3), draw(k)
		var difference mat.Dense
		difference.Sub(projection(a), projection(b))
		want := mat.Norm(&difference, 2)
		if got, err := subspaceDistance(a, b); err != nil || math.Abs(got-want) > 1e-9 {
			t.Errorf("%d columns: got %v, %v, want %v", k, got, err, want)
		}
	}
}

func TestOtherMeasures(t *testing.T) {
	t.Parallel()
	m := mat.NewDense(2, 3, []float64{0, -1e-10, 1e-10, 2e-10, -1, math.Inf(1)})
	if got := sparsity(m); got != 50 {
		t.Errorf("sparsity %v %%, want 50: entries up to 1e-10 count", got)
	}
	if got := orthogonality(mat.NewDense(2, 2, []float64{1, 1, 0, 1})); math.Abs(got-3) > 1e-12 {
		t.Errorf("orthogonal residual %v, want 3: AᵀA − I is {0, 1; 1, 1}", got)
	}
	// M = G·Fᵀ is 0 and ln 3, so that P is ½ and ¾.
	topics, scores := mat.NewDense(2, 1, []float64{0, math.Log(3)}), mat.NewDense(1, 1, []float64{1})
	if got := probabilityDistance(mat.NewDense(1, 2, []float64{0.2, 0.35}), topics, scores); math.Abs(got-0.5) > 1e-12 {
		t.Errorf("distance of the probabilities %v, want 0.5", got)
	}
}
