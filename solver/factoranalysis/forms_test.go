package factoranalysis_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/factoranalysis"
)

// Maximum likelihood fits two forms that share a third of the items, as minres does: with 0 in the place of the
// correlations that nobody tells, they would have no inverse.
func TestMaximumLikelihoodOfForms(t *testing.T) {
	t.Parallel()
	const loading = .7
	random := rand.New(rand.NewPCG(1, 2))
	x := mat.NewDense(600, 18, nil)
	x.Apply(func(i, j int, _ float64) float64 {
		if i%2 == 0 && j < 6 || i%2 == 1 && j >= 12 {
			return math.NaN()
		}
		return math.Sqrt(1-loading*loading) * random.NormFloat64()
	}, x)
	for i := range 600 {
		factor := loading * random.NormFloat64()
		for j := range 18 {
			x.Set(i, j, x.At(i, j)+factor)
		}
	}
	for _, kind := range []factoranalysis.Kind{factoranalysis.Pearson, factoranalysis.FullInformation} {
		m, err := factoranalysis.Fit(t.Context(), x, factoranalysis.Settings{
			Factors: 1, Correlation: kind, Extraction: factoranalysis.MaximumLikelihood,
		})
		if err != nil {
			t.Fatal(kind, err)
		}
		for j := range 18 {
			if l := math.Abs(m.Loadings.At(j, 0)); !m.Converged || math.Abs(l-loading) > .1 {
				t.Errorf("%s: item %d loads %.3f, not %v", kind, j, l, loading)
			}
		}
	}
}
