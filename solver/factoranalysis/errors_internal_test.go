package factoranalysis

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/linalg"
)

// The derivatives of a rotation by differences of its short forms are those of the rotation itself, and a turn of the
// factors changes nothing.
func TestNear(t *testing.T) {
	t.Parallel()
	const p, k = 12, 3
	r := rand.New(rand.NewPCG(5, 9))
	loadings := mat.NewDense(p, k, nil)
	loadings.Apply(func(i, f int, _ float64) float64 {
		if i%k == f {
			return .6 + .1*r.Float64()
		}
		return .25 * r.NormFloat64()
	}, loadings)
	moved := func(by float64) *mat.Dense {
		out, r := linalg.NewLike(loadings), rand.New(rand.NewPCG(6, 9))
		out.Apply(func(_, _ int, v float64) float64 { return v + by*r.NormFloat64() }, loadings)
		return out
	}
	derivative := func(of rotation, plus, minus *mat.Dense) (all []float64) {
		a, phiA := of(plus)
		b, phiB := of(minus)
		all = append(all, a.RawMatrix().Data...)
		floats.Sub(all, b.RawMatrix().Data)
		if phiA != nil {
			rest := append([]float64{}, phiA.RawMatrix().Data...)
			floats.Sub(rest, phiB.RawMatrix().Data)
			all = append(all, rest...)
		}
		floats.Scale(1/(2*difference), all)
		return all
	}
	const tolerance = 1e-3 // the rotation ends at 1e-8 or so, where rounding hides what is left: 1e-4 of a difference
	target := linalg.NewLike(loadings)
	target.Apply(func(i, f int, _ float64) float64 {
		if i%k == f {
			return math.NaN()
		}
		return 0
	}, target)
	for _, by := range rotations(target) {
		if by.near == nil {
			continue
		}
		near := by.near(loadings)
		got := derivative(near, moved(difference), moved(-difference))
		want := derivative(by.rotate, moved(difference), moved(-difference))
		if !floats.EqualApprox(got, want, tolerance) {
			t.Errorf("%s: %v, want %v", by.name, got, want)
		}
		turned := func(angle float64) *mat.Dense {
			out := mat.DenseCopyOf(loadings)
			turn(out, 0, 2, angle)
			return out
		}
		if still := derivative(near, turned(difference), turned(-difference)); floats.Norm(still, 2) > tolerance {
			t.Errorf("%s: a turn changes %v", by.name, still)
		}
	}
}
