package linalg

import (
	"math"
	"testing"
)

func TestLogisticTo(t *testing.T) {
	t.Parallel()
	values := []float64{0, math.Copysign(0, -1), 1e-320, -1e-320, 1e-17, 36, -36, 40, -40, 709, -709, 710, -710, 740, -740, 745.2, -745.2, 746, -746, 800, -800, 1e308, -1e308, math.Inf(1), math.Inf(-1)}
	for x := -50.0; x < 50; x += 0.0137 {
		values = append(values, x)
	}
	for _, l := range levels() {
		for _, x := range values {
			e := math.Exp(-math.Abs(x))
			sigma := 1 / (1 + e)
			if x < 0 {
				sigma *= e
			}
			softplus := max(x, 0) + math.Log1p(e)
			dst := make([]float64, 1)
			got := l.logisticTo(dst, []float64{x})
			if ulps(dst[0], sigma) > 4 || ulps(got, softplus) > 4 {
				t.Errorf("%s: σ(%g) = %g, want %g (%d ulp); softplus %g, want %g (%d ulp)", l.name, x, dst[0], sigma, ulps(dst[0], sigma), got, softplus, ulps(got, softplus))
			}
		}
	}
}

// ulps returns the number of float64s between two that are not negative.
func ulps(a, b float64) int64 {
	d := int64(math.Float64bits(a)) - int64(math.Float64bits(b))
	return max(d, -d)
}
