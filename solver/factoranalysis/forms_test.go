package factoranalysis_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
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

// Two forms without a common item, which a dozen people linked, have a maximum that the search needs hundreds of rounds
// for. If it ends before it, it says so, not that there is none.
func TestFormsFewLink(t *testing.T) {
	t.Parallel()
	const participants, linking, items, loading = 612, 12, 10, .7
	for seed, want := range map[uint64]string{4: "", 6: "", 15: "", 7: "did not settle in 1000 rounds"} {
		random := rand.New(rand.NewPCG(seed, 77))
		x := mat.NewDense(participants, items, nil)
		for i := range participants {
			factor := random.NormFloat64()
			for j := range items {
				v := loading*factor + math.Sqrt(1-loading*loading)*random.NormFloat64()
				if i < participants-linking && i%2 == j/(items/2) {
					v = math.NaN()
				}
				x.Set(i, j, v)
			}
		}
		_, err := factoranalysis.Correlate(t.Context(), x, factoranalysis.FullInformation, 1)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) ||
			!errors.Is(err, factoranalysis.ErrSingular) || strings.Contains(err.Error(), "inverse")) {
			t.Errorf("sample %d: %v, want %q", seed, err, want)
		}
	}
}
