package factoranalysis_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/factoranalysis"
)

// If the model holds, P is uniform, a 90 % interval of RMSEA has its low end at 0 in 95 % of samples, and CFI and TLI
// are near 1.
func TestFitOfATrueModel(t *testing.T) {
	t.Parallel()
	const samples = 200
	random := rand.New(rand.NewPCG(21, 0))
	var small, excluded float64
	for range samples {
		x := oneFactor(random, 300, 8, 0.6)
		m := fit(t, x, factoranalysis.Settings{Factors: 1, Extraction: factoranalysis.MaximumLikelihood})
		if m.Fit.DF != 20 || m.Fit.CFI < 0.9 || m.Fit.TLI < 0.9 {
			t.Fatalf("fit %+v", m.Fit)
		}
		if m.Fit.P < 0.5 {
			small++
		}
		if m.Fit.RMSEA.Low > 0 {
			excluded++
		}
	}
	// Bounds are three standard errors of a share in 200 samples.
	if share := small / samples; math.Abs(share-0.5) > 0.11 {
		t.Errorf("share of P below .5: %v", share)
	}
	if share := excluded / samples; share > 0.05+0.047 {
		t.Errorf("share of intervals above 0: %v, want .05", share)
	}
}

// Chi-square of residuals of a regression counts the coefficients: the mean of a group among 20 is 19 more than a
// common mean.
func TestFitOfResiduals(t *testing.T) {
	t.Parallel()
	const samples, n, groups = 200, 100, 20
	random := rand.New(rand.NewPCG(22, 0))
	var ratio float64
	for range samples {
		x := oneFactor(random, n, 8, 0.6)
		means := make([]float64, groups)
		for j := range 8 {
			clear(means)
			for i := range n {
				means[i%groups] += x.At(i, j) / (n / groups)
			}
			for i := range n {
				x.Set(i, j, x.At(i, j)-means[i%groups])
			}
		}
		m := fit(t, x,
			factoranalysis.Settings{Factors: 1, Extraction: factoranalysis.MaximumLikelihood, Regressed: groups - 1})
		ratio += m.Fit.ChiSquare / float64(m.Fit.DF) / samples
	}
	// three standard errors of a mean of chi-square over its 20 degrees of freedom are .067
	if math.Abs(ratio-1) > 0.08 {
		t.Errorf("mean chi-square is %.3f times the degrees of freedom", ratio)
	}
}

// With answers missing at random, chi-square of pairwise correlations is too large for the number of participants.
func TestFitWithMissingAnswers(t *testing.T) {
	t.Parallel()
	const samples = 200
	shares := []float64{0, 0.3}
	if os.Getenv("WARDCAST_LONG") != "" {
		shares = []float64{0, 0.02, 0.05, 0.1, 0.3} // for docs/results.md
	}
	for _, missing := range shares {
		random := rand.New(rand.NewPCG(23, 0))
		var ratio, small, rmsea float64
		for range samples {
			x := oneFactor(random, 400, 10, 0.7)
			x.Apply(func(_, _ int, v float64) float64 {
				if random.Float64() < missing {
					return math.NaN()
				}
				return v
			}, x)
			m := fit(t, x, factoranalysis.Settings{Factors: 1, Extraction: factoranalysis.MaximumLikelihood})
			ratio, rmsea = ratio+m.Fit.ChiSquare/float64(m.Fit.DF)/samples, rmsea+m.Fit.RMSEA.Value/samples
			if m.Fit.P < 0.05 {
				small += 1. / samples
			}
		}
		t.Logf("%2.0f %% missing: chi-square/df %.2f, P below .05 in %.3f, mean RMSEA %.3f", 100*missing,
			ratio, small, rmsea)
		if missing == 0 && math.Abs(ratio-1) > 0.05 || missing == 0.3 && ratio < 1.5 {
			t.Errorf("%v missing: mean chi-square is %.3f times the degrees of freedom", missing, ratio)
		}
	}
}

func oneFactor(random *rand.Rand, n, p int, loading float64) *mat.Dense {
	x := mat.NewDense(n, p, nil)
	for i := range n {
		f := random.NormFloat64()
		for j := range p {
			x.Set(i, j, loading*f+math.Sqrt(1-loading*loading)*random.NormFloat64())
		}
	}
	return x
}

// What a smoothed matrix or too many factors leave undefined is NaN.
func TestFitUndefined(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(22, 0))
	factors := map[int]int{3: 1, 12: 1, 4: 2} // by the number of items
	for name, x := range map[string]*mat.Dense{
		"saturated":                    oneFactor(random, 100, 3, 0.7),
		"more items than participants": oneFactor(random, 10, 12, 0.7),
		"more parameters than figures": oneFactor(random, 100, 4, 0.7),
	} {
		_, p := x.Dims()
		g := fit(t, x, factoranalysis.Settings{Factors: factors[p]}).Fit
		never := []float64{g.RMSEA.Value, g.RMSEA.Low, g.RMSEA.High, g.TLI, g.CFI, g.P}
		if p != 3 {
			never = append(never, g.BIC, g.ChiSquare)
		} else if math.IsNaN(g.ChiSquare) {
			t.Errorf("%s: no chi-square", name)
		}
		if math.IsNaN(g.RMSR) || slices.ContainsFunc(never, func(v float64) bool { return v == v }) {
			t.Errorf("%s: %+v", name, g)
		}
	}
}

// Minres and maximum likelihood agree on correlations that factors make exactly, and maximum likelihood has the larger
// likelihood on others.
func TestMaximumLikelihood(t *testing.T) {
	t.Parallel()
	x, truth := planted(2000, 12, 2, 0)
	rows := make([][]float64, 12)
	for j := range rows {
		rows[j] = truth.RawRowView(j)
	}
	settings := factoranalysis.Settings{Factors: 2, Rotation: factoranalysis.RotateVarimax}
	minres := fit(t, x, settings)
	settings.Extraction = factoranalysis.MaximumLikelihood
	ml := fit(t, x, settings)
	order, signs := match(ml.Loadings, rows)
	near(t, "loadings", columns(ml.Loadings, order, signs), rows, 0.08)
	if !ml.Converged || ml.Fit.ChiSquare >= minres.Fit.ChiSquare || ml.Fit.RMSR <= minres.Fit.RMSR {
		t.Errorf("converged %v, chi-square %v and %v by minres, RMSR %v and %v", ml.Converged, ml.Fit.ChiSquare,
			minres.Fit.ChiSquare, ml.Fit.RMSR, minres.Fit.RMSR)
	}
	wide, _ := planted(20, 30, 2, 0)
	if _, err := factoranalysis.Fit(t.Context(), wide, settings); !errors.Is(err, factoranalysis.ErrSingular) {
		t.Errorf("more items than participants: error %v", err)
	}
}

// The planted structure comes back with its factor correlations.
func TestOblimin(t *testing.T) {
	t.Parallel()
	x, truth := planted(6000, 18, 3, 0.4)
	rows := make([][]float64, 18)
	for j := range rows {
		rows[j] = truth.RawRowView(j)
	}
	m := fit(t, x, factoranalysis.Settings{Factors: 3, Rotation: factoranalysis.RotateOblimin})
	order, signs := match(m.Loadings, rows)
	near(t, "loadings", columns(m.Loadings, order, signs), rows, 0.07)
	phi := columns(mat.DenseCopyOf(columns(m.Phi, order, signs).T()), order, signs)
	near(t, "factor correlations", phi, [][]float64{{1, 0.4, 0.4}, {0.4, 1, 0.4}, {0.4, 0.4, 1}}, 0.06)
}

// The factor lies within 1.96 errors of its score in 95 % of participants, with answers missing too.
func TestScoresErrors(t *testing.T) {
	t.Parallel()
	const n, p, loading = 4000, 6, 0.7
	random := rand.New(rand.NewPCG(23, 0))
	x, factor := mat.NewDense(n, p, nil), make([]float64, n)
	for i := range n {
		factor[i] = random.NormFloat64()
		for j := range p {
			x.Set(i, j, loading*factor[i]+math.Sqrt(1-loading*loading)*random.NormFloat64())
		}
	}
	m := fit(t, x, factoranalysis.Settings{Factors: 1})
	for name, x := range map[string]*mat.Dense{"complete": x, "missing": punched(x, 0.5)} {
		scores, errs, err := m.ScoresErrors(x)
		if err != nil {
			t.Fatal(err)
		}
		var inside, scored float64
		for i := range n {
			known := 0
			for _, v := range x.RawRowView(i) {
				if !math.IsNaN(v) {
					known++
				}
			}
			// 1 − S/(1+S), S = known·λ²/(1−λ²), is the error's square for equal loadings.
			want := math.Sqrt(1 / (1 + float64(known)*loading*loading/(1-loading*loading)))
			if known == 0 {
				if !math.IsNaN(errs.At(i, 0)) {
					t.Errorf("%s: error %v without an answer", name, errs.At(i, 0))
				}
				continue
			}
			if math.Abs(errs.At(i, 0)-want) > 0.03 {
				t.Fatalf("%s: error %v of %d answers, want %v", name, errs.At(i, 0), known, want)
			}
			scored++
			if math.Abs(scores.At(i, 0)-factor[i]) <= 1.96*errs.At(i, 0) {
				inside++
			}
		}
		if share := inside / scored; math.Abs(share-0.95) > 0.012 { // three standard errors
			t.Errorf("%s: %v of factors within the interval", name, share)
		}
	}
}

// A scorer that was written down and read back gives the same bits.
func TestScorerIsPlainData(t *testing.T) {
	t.Parallel()
	x, _ := planted(300, 9, 2, 0.3)
	wide, _ := planted(20, 30, 2, 0)
	for name, x := range map[string]*mat.Dense{"regular": x, "smoothed": wide} {
		m := fit(t, x, factoranalysis.Settings{Factors: 2})
		stored := factoranalysis.Scorer{
			Loadings: mat.DenseCopyOf(m.Loadings), Phi: mat.DenseCopyOf(m.Phi), Uniquenesses: m.Uniquenesses,
			Means: m.Means, Deviations: m.Deviations,
		}
		if m.ScoreCorrelations != nil {
			text, err := json.Marshal(m.ScoreCorrelations.RawSymmetric().Data)
			if err != nil {
				t.Fatal(err)
			}
			var data []float64
			if err := json.Unmarshal(text, &data); err != nil {
				t.Fatal(err)
			}
			stored.ScoreCorrelations = mat.NewSymDense(9, data)
		}
		fresh := punched(x, 0.2)
		scores, errs, err := m.ScoresErrors(fresh)
		if err != nil {
			t.Fatal(err)
		}
		again, errsAgain, err := stored.ScoresErrors(fresh)
		if err != nil || !sameBits(scores, again) || !sameBits(errs, errsAgain) {
			t.Errorf("%s: other scores, error %v", name, err)
		}
	}
}

func sameBits(a, b *mat.Dense) bool {
	for i, v := range a.RawMatrix().Data {
		if math.Float64bits(v) != math.Float64bits(b.RawMatrix().Data[i]) {
			return false
		}
	}
	return true
}

// An ended context stops the search for correlations and that for factors.
func TestFitStops(t *testing.T) {
	t.Parallel()
	x, _ := planted(200, 12, 2, 0)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	for _, kind := range []factoranalysis.Kind{factoranalysis.Pearson, factoranalysis.Polychoric} {
		if _, err := factoranalysis.Fit(ctx, likert(x, -1, 0, 1),
			factoranalysis.Settings{Factors: 2, Correlation: kind}); !errors.Is(err, cause) {
			t.Errorf("%s: error %v", kind, err)
		}
	}
	c, err := factoranalysis.Correlate(t.Context(), x, factoranalysis.Pearson, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := factoranalysis.Omega(ctx, c.R, 2); !errors.Is(err, cause) {
		t.Errorf("omega: error %v", err)
	}
	if _, err := factoranalysis.ReducedEigenvalues(ctx, c.R, 2); !errors.Is(err, cause) {
		t.Errorf("eigenvalues: error %v", err)
	}
}

// The variances that factors account for sum to the communalities.
func TestAccounted(t *testing.T) {
	t.Parallel()
	x, _ := planted(300, 12, 3, 0.4)
	m := fit(t, x, factoranalysis.Settings{Factors: 3, Rotation: factoranalysis.RotateOblimin})
	sum := -12.0
	for _, v := range m.Accounted() {
		sum += v
	}
	for _, psi := range m.Uniquenesses {
		sum += psi
	}
	if math.Abs(sum) > 1e-8 {
		t.Errorf("accounted and unique variances sum to 12 %+g", sum)
	}
}

// Equally correlated items have the KMO of their definition, and uncorrelated ones no chi-square.
func TestKMOAndBartlett(t *testing.T) {
	t.Parallel()
	const p, rho = 5, 0.4
	r := mat.NewSymDense(p, nil)
	for i := range p {
		r.SetSym(i, i, 1)
		for j := range i {
			r.SetSym(i, j, rho)
		}
	}
	// Two items given the others correlate ρ/(1+(p−2)ρ).
	partial := rho / (1 + (p-2)*rho)
	want := rho * rho / (rho*rho + partial*partial)
	overall, items := factoranalysis.KMO(r)
	for _, got := range append(items, overall) {
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("KMO %v, want %v", got, want)
		}
	}
	chi, df, _ := factoranalysis.Bartlett(r, 101)
	logDet := (p-1)*math.Log(1-rho) + math.Log(1+(p-1)*rho)
	if want := -(100 - 15.0/6) * logDet; df != 10 || math.Abs(chi-want) > 1e-10 {
		t.Errorf("chi-square %v of %d, want %v of 10", chi, df, want)
	}
	identity := mat.NewSymDense(p, nil)
	for i := range p {
		identity.SetSym(i, i, 1)
	}
	if chi, _, probability := factoranalysis.Bartlett(identity, 50); chi != 0 || probability != 1 {
		t.Errorf("uncorrelated items: chi-square %v, P %v", chi, probability)
	}
	singular := mat.NewSymDense(2, []float64{1, 1, 1, 1})
	overall, items = factoranalysis.KMO(singular)
	if chi, _, _ := factoranalysis.Bartlett(singular, 50); !math.IsNaN(overall) || !math.IsNaN(items[1]) ||
		!math.IsNaN(chi) {
		t.Errorf("singular correlations: KMO %v and %v, chi-square %v", overall, items, chi)
	}
}

// A general and three group factors come back, and with them both coefficients; reversed items change neither.
func TestOmega(t *testing.T) {
	t.Parallel()
	const p, general, group = 12, 0.6, 0.5
	for _, reversed := range []bool{false, true} {
		sign := func(j int) float64 {
			if reversed && j%4 == 1 {
				return -1
			}
			return 1
		}
		r := mat.NewSymDense(p, nil)
		for i := range p {
			for j := range i {
				v := general * general
				if i/4 == j/4 {
					v += group * group
				}
				r.SetSym(i, j, sign(i)*sign(j)*v)
			}
			r.SetSym(i, i, 1)
		}
		const total = p + p*(p-1)*general*general + p*3*group*group
		o, err := factoranalysis.Omega(t.Context(), r, 3)
		if err != nil {
			t.Fatal(err)
		}
		if want := p * p * general * general / total; math.Abs(o.Hierarchical-want) > 1e-6 {
			t.Errorf("hierarchical %v, want %v", o.Hierarchical, want)
		}
		if want := 1 - p*(1-general*general-group*group)/total; math.Abs(o.Total-want) > 1e-6 {
			t.Errorf("total %v, want %v", o.Total, want)
		}
		if want := map[bool]int{true: 3}[reversed]; len(o.Reversed) != want {
			t.Errorf("reversed %v, want %d items", o.Reversed, want)
		}
		for j, g := range o.General {
			if math.Abs(g-general) > 1e-6 {
				t.Errorf("item %d loads %v on the general factor", j, g)
			}
		}
	}
	one := mat.NewSymDense(3, []float64{1, 0.5, 0.5, 0, 1, 0.5, 0, 0, 1})
	if o, err := factoranalysis.Omega(t.Context(), one, 1); err != nil || math.Abs(o.Total-0.75) > 1e-8 ||
		math.Abs(o.Hierarchical-0.75) > 1e-8 {
		t.Errorf("one factor: %+v, error %v", o, err)
	}
	if _, err := factoranalysis.Omega(t.Context(), one, 3); !errors.Is(err, solver.ErrSettings) {
		t.Errorf("three factors of three items: error %v", err)
	}
}
