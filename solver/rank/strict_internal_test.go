package rank

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/factoranalysis"
)

// Also of items half of which are opposed to the others, so that ones are an eigenvector, but not the leading one, the
// diagonal holds the communalities of minimum residuals.
func TestStrictCommunalities(t *testing.T) {
	t.Parallel()
	const p = 8
	r := mat.NewSymDense(p, nil)
	for i := range p {
		r.SetSym(i, i, 1)
		for j := range i {
			r.SetSym(i, j, []float64{.4, -.1}[(i+j)%2])
		}
	}
	got, err := strict(r)
	if err != nil {
		t.Fatal(err)
	}
	want, err := factoranalysis.ReducedEigenvalues(t.Context(), r, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got[0] {
		if math.Abs(v-want[p-1-i]) > 1e-4 {
			t.Errorf("eigenvalue %d is %v, want %v", i, v, want[p-1-i])
		}
	}
}
