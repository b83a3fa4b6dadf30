package factoranalysis

import (
	"testing"

	"gonum.org/v1/gonum/mat"
)

// A search for the likeliest factors that cannot begin says nothing of the ones that it should have begun with.
func TestLikeliestLeavesItsStart(t *testing.T) {
	t.Parallel()
	identity := mat.NewSymDense(2, []float64{1, 0, 0, 1})
	c := &Correlations{Raw: identity, standardized: &Saturated{Mean: []float64{0, 0}, Covariance: identity}}
	from := &extraction{loadings: mat.NewDense(2, 1, []float64{1.5, 1.5}), converged: true}
	e, _, _, err := c.likeliest(t.Context(), from, 1)
	if err != nil || e.converged || !from.converged {
		t.Errorf("converged %t, the start %t: %v", e.converged, from.converged, err)
	}
}
