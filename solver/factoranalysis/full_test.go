package factoranalysis_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/solver/factoranalysis"
)

// twoFactors returns n answers to six items of each of two factors that correlate .4, with loadings of .5 to .8.
func twoFactors(n int, seed uint64) *mat.Dense {
	r := rand.New(rand.NewPCG(seed, 9))
	const items, phi = 12, 0.4
	x := mat.NewDense(n, items, nil)
	for i := range n {
		first := r.NormFloat64()
		factors := [2]float64{first, phi*first + math.Sqrt(1-phi*phi)*r.NormFloat64()}
		for j := range items {
			l := plantedLoading(j)
			x.Set(i, j, 3+2*(l*factors[j/6]+math.Sqrt(1-l*l)*r.NormFloat64()))
		}
	}
	return x
}

func plantedLoading(j int) float64 { return .5 + .06*float64(j%6) }

// branched hides answers because of two others: 30 % are missing.
func branched(x *mat.Dense) *mat.Dense {
	y := mat.DenseCopyOf(x)
	n, _ := x.Dims()
	for i := range n {
		if x.At(i, 0) < 3.4 {
			for j := 7; j < 12; j++ {
				y.Set(i, j, math.NaN())
			}
		}
		if x.At(i, 1) < 1.7 {
			for j := 3; j < 6; j++ {
				y.Set(i, j, math.NaN())
			}
		}
	}
	return y
}

func fitFull(t *testing.T, x *mat.Dense, kind factoranalysis.Kind, k int) *factoranalysis.Model {
	t.Helper()
	m, err := factoranalysis.Fit(t.Context(), x, factoranalysis.Settings{
		Factors: k, Correlation: kind, Rotation: factoranalysis.RotateOblimin, Threads: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Answers missing by branching bias neither loadings nor the correlation of factors nor chi-square of full information;
// they do bias those by pairs.
func TestFullInformationCoversTheTruth(t *testing.T) {
	t.Parallel()
	const samples = 30
	var phis, pairs, ratios []float64
	loadings := make([][]float64, 12)
	for s := range samples {
		x := branched(twoFactors(1000, uint64(s)))
		m := fitFull(t, x, factoranalysis.FullInformation, 2)
		phis, ratios = append(phis, m.Phi.At(0, 1)), append(ratios, m.Fit.ChiSquare/float64(m.Fit.DF))
		pairs = append(pairs, fitFull(t, x, factoranalysis.Pearson, 2).Phi.At(0, 1))
		first := 0
		if math.Abs(m.Loadings.At(0, 1)) > math.Abs(m.Loadings.At(0, 0)) {
			first = 1
		}
		for j := range loadings {
			factor := first
			if j >= 6 {
				factor = 1 - first
			}
			loadings[j] = append(loadings[j], m.Loadings.At(j, factor))
		}
	}
	off := func(values []float64, truth, allowed float64) (float64, float64, bool) {
		mean, deviation := stat.MeanStdDev(values, nil)
		return mean, deviation / math.Sqrt(samples), math.Abs(mean-truth) <= 2*deviation/math.Sqrt(samples)+allowed
	}
	// Oblimin itself loses some .01 of .4 with complete answers, and adds as much to loadings.
	const rotation = .015
	if mean, se, ok := off(phis, .4, rotation); !ok {
		t.Errorf("factors correlate %.3f ± %.3f, planted .4", mean, se)
	}
	if mean, se, ok := off(pairs, .4, 2*rotation); ok {
		t.Errorf("by pairs factors correlate %.3f ± %.3f: nothing is biased here", mean, se)
	}
	for j, values := range loadings {
		if mean, se, ok := off(values, plantedLoading(j), rotation); !ok {
			t.Errorf("item %d loads %.3f ± %.3f, planted %.2f", j, mean, se, plantedLoading(j))
		}
	}
	mean, se, ok := off(ratios, 1, .1)
	if !ok {
		t.Errorf("chi-square is %.3f ± %.3f of its degrees of freedom", mean, se)
	}
	t.Logf("chi-square/df %.3f ± %.3f", mean, se)
}

// Of complete answers full information gives what Pearson's correlations give.
func TestFullInformationComplete(t *testing.T) {
	t.Parallel()
	x := twoFactors(300, 1)
	full, err := factoranalysis.Fit(t.Context(), x, factoranalysis.Settings{
		Factors: 2, Correlation: factoranalysis.FullInformation, Extraction: factoranalysis.MaximumLikelihood,
	})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := factoranalysis.Fit(t.Context(), x, factoranalysis.Settings{
		Factors: 2, Extraction: factoranalysis.MaximumLikelihood,
	})
	if err != nil {
		t.Fatal(err)
	}
	if !mat.EqualApprox(full.Loadings, plain.Loadings, 1e-8) {
		t.Errorf("loadings\n%v, want\n%v", mat.Formatted(full.Loadings), mat.Formatted(plain.Loadings))
	}
	for _, v := range [][2]float64{
		{full.Fit.ChiSquare, plain.Fit.ChiSquare},
		{full.Fit.CFI, plain.Fit.CFI},
		{full.Fit.TLI, plain.Fit.TLI},
		{full.Deviations[3], plain.Deviations[3]},
		{full.Means[3], plain.Means[3]},
	} {
		if !(math.Abs(v[0]-v[1]) <= 1e-6*math.Abs(v[1])) {
			t.Errorf("%v, want %v", v[0], v[1])
		}
	}
}

// Items that nobody answered together have the correlations that the factors imply, and do not count as degrees of
// freedom.
func TestFullInformationApart(t *testing.T) {
	t.Parallel()
	x := twoFactors(2000, 3)
	for i := range 2000 {
		for j := 3; j < 6; j++ {
			x.Set(i, j+i%2*6, math.NaN()) // 3, 4, 5 or 9, 10, 11
		}
	}
	m := fitFull(t, x, factoranalysis.FullInformation, 2)
	if len(m.Correlations.Unknown) != 9 || m.Fit.DF != 43-9 || !m.Converged || !(m.Fit.P > .001) {
		t.Errorf("%d unknown, %d degrees of freedom, converged %t, P %v", len(m.Correlations.Unknown), m.Fit.DF,
			m.Converged, m.Fit.P)
	}
	if r, want := m.Correlations.R.At(4, 10), .4*plantedLoading(4)*plantedLoading(10); math.Abs(r-want) > .08 {
		t.Errorf("items apart correlate %.3f, planted %.3f", r, want)
	}
	few, err := factoranalysis.Correlate(t.Context(), x.Slice(0, 10, 0, 12), factoranalysis.FullInformation, 1)
	if !errors.Is(err, factoranalysis.ErrSingular) {
		t.Errorf("10 participants: %v, %v", few, err)
	}
}
