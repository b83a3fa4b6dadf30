package factoranalysis_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/factoranalysis"
)

// planted draws n participants of p items that load in turn on one of k factors with loadings of .5 to .8, every third
// item keyed the other way round. Factors correlate by phi.
func planted(n, p, k int, phi float64) (x, loadings *mat.Dense) {
	random := rand.New(rand.NewPCG(1, uint64(n*p+k)))
	x, loadings = mat.NewDense(n, p, nil), mat.NewDense(p, k, nil)
	for j := range p {
		v := 0.5 + 0.3*random.Float64()
		if j/k%3 == 2 {
			v = -v
		}
		loadings.Set(j, j%k, v)
	}
	factors := make([]float64, k)
	for i := range n {
		common := random.NormFloat64()
		for t := range factors {
			factors[t] = math.Sqrt(phi)*common + math.Sqrt(1-phi)*random.NormFloat64()
		}
		for j := range p {
			l := loadings.At(j, j%k)
			x.Set(i, j, l*factors[j%k]+math.Sqrt(1-l*l)*random.NormFloat64())
		}
	}
	return x, loadings
}

// likert cuts every column at its thresholds.
func likert(x *mat.Dense, thresholds ...float64) *mat.Dense {
	out := new(mat.Dense)
	out.Apply(func(_, _ int, v float64) float64 {
		category, _ := slices.BinarySearch(thresholds, v)
		return float64(category + 1)
	}, x)
	return out
}

// punched takes a share of the answers out.
func punched(x *mat.Dense, share float64) *mat.Dense {
	random := rand.New(rand.NewPCG(2, 0))
	out := new(mat.Dense)
	out.Apply(func(_, _ int, v float64) float64 {
		if random.Float64() < share {
			return math.NaN()
		}
		return v
	}, x)
	return out
}

// The planted loadings and factor correlations come back, from normal, categorical and missing answers.
func TestFitRecoversFactors(t *testing.T) {
	t.Parallel()
	x, truth := planted(4000, 18, 3, 0.3)
	rows := make([][]float64, 18)
	for j := range rows {
		rows[j] = truth.RawRowView(j)
	}
	for name, c := range map[string]struct {
		x    *mat.Dense
		kind factoranalysis.Kind
	}{
		"normal":             {x, factoranalysis.Pearson},
		"missing":            {punched(x, 0.2), factoranalysis.Pearson},
		"categories":         {likert(x, -1, 0.5, 1.5), factoranalysis.Polychoric},
		"missing categories": {punched(likert(x, -1, 0.5, 1.5), 0.2), factoranalysis.Polychoric},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := fit(t, c.x, factoranalysis.Settings{Factors: 3, Correlation: c.kind})
			if !m.Converged || slices.Min(m.Uniquenesses) == 0.005 || m.Correlations.Smoothed() {
				t.Fatalf("converged %v, uniquenesses %v, smoothed %v", m.Converged, m.Uniquenesses,
					m.Correlations.Smoothed())
			}
			order, signs := match(m.Loadings, rows)
			const sampling = 0.07 // some three standard errors at 4,000 participants, a fifth of the answers missing
			near(t, "loadings", columns(m.Loadings, order, signs), rows, sampling)
			phi := columns(mat.DenseCopyOf(columns(m.Phi, order, signs).T()), order, signs)
			for s := range 3 {
				for u := range s {
					if math.Abs(phi.At(s, u)-0.3) > 2*sampling {
						t.Errorf("factor correlation %v, want 0.3", phi.At(s, u))
					}
				}
			}
		})
	}
}

// Factors stand by the variance they account for, with loadings that sum to 0 or more, and communalities are 1 − ψ.
func TestFitConventions(t *testing.T) {
	t.Parallel()
	x, _ := planted(300, 12, 3, 0.4)
	for _, rotation := range []factoranalysis.Rotation{
		factoranalysis.RotatePromax, factoranalysis.RotateVarimax, factoranalysis.RotateNone,
	} {
		m := fit(t, x, factoranalysis.Settings{Factors: 3, Rotation: rotation})
		var structure, accounted, communalities mat.Dense
		structure.Mul(m.Loadings, m.Phi)
		accounted.Mul(structure.T(), m.Loadings)
		communalities.Mul(&structure, m.Loadings.T())
		for k := range 3 {
			if mat.Sum(m.Loadings.ColView(k)) < 0 || m.Phi.At(k, k) != 1 {
				t.Errorf("%s: factor %d has the other sign, or correlates %v with itself", rotation, k, m.Phi.At(k, k))
			}
			if k > 0 && accounted.At(k, k) > accounted.At(k-1, k-1) {
				t.Errorf("%s: factor %d accounts for %v, the one before for %v", rotation, k, accounted.At(k, k),
					accounted.At(k-1, k-1))
			}
		}
		for j, psi := range m.Uniquenesses {
			if d := communalities.At(j, j) + psi - 1; math.Abs(d) > 1e-8 {
				t.Errorf("%s: communality and uniqueness of item %d sum to 1 %+.1g", rotation, j, d)
			}
		}
	}
}

// An item that is another one twice over has no uniqueness left: its bound holds.
func TestFitOfHeywoodCases(t *testing.T) {
	t.Parallel()
	x, _ := planted(500, 6, 1, 0)
	wide := mat.NewDense(500, 7, nil)
	wide.Slice(0, 500, 0, 6).(*mat.Dense).Copy(x)
	for i := range 500 {
		wide.Set(i, 6, x.At(i, 0)+1e-3*x.At(i, 1))
	}
	m := fit(t, wide, factoranalysis.Settings{Factors: 2})
	if least := slices.Min(m.Uniquenesses); !m.Converged || least != 0.005 {
		t.Errorf("converged %v, least uniqueness %v", m.Converged, least)
	}
}

// Two forms of a questionnaire that share a few items: no participant answered an item of each. The correlations that
// nobody knows do not count, and come out as the factors say.
func TestFitPlannedMissing(t *testing.T) {
	t.Parallel()
	x, truth := planted(6000, 12, 2, 0)
	for i := range 6000 {
		from := 0 // even participants have items 4 … 11, odd ones 0 … 7
		if i%2 == 1 {
			from = 8
		}
		for j := range 4 {
			x.Set(i, from+j, math.NaN())
		}
	}
	m := fit(t, x, factoranalysis.Settings{Factors: 2, Rotation: factoranalysis.RotateVarimax})
	if len(m.Correlations.Unknown) != 16 {
		t.Fatalf("%d unknown pairs, want 16", len(m.Correlations.Unknown))
	}
	rows := make([][]float64, 12)
	for j := range rows {
		rows[j] = truth.RawRowView(j)
	}
	order, signs := match(m.Loadings, rows)
	near(t, "loadings", columns(m.Loadings, order, signs), rows, 0.07)
	var model mat.Dense
	model.Mul(m.Loadings, m.Loadings.T())
	for _, pair := range m.Correlations.Unknown {
		if d := m.Correlations.R.At(pair[0], pair[1]) - model.At(pair[0], pair[1]); math.Abs(d) > 1e-6 {
			t.Errorf("pair %v: %v from what the factors say", pair, d)
		}
	}
	// The residuals are those of the 50 pairs with answers, whose correlations are recomputed here.
	var squares, pairs float64
	for i := range 12 {
		for j := range i {
			var a, b []float64
			for row := range 6000 {
				if v, w := x.At(row, i), x.At(row, j); !math.IsNaN(v + w) {
					a, b = append(a, v), append(b, w)
				}
			}
			if len(a) > 0 {
				d := stat.Correlation(a, b, nil) - model.At(i, j)
				squares, pairs = squares+d*d, pairs+1
			}
		}
	}
	if want := math.Sqrt(squares / pairs); pairs != 50 || math.Abs(m.Fit.RMSR-want) > 1e-12 {
		t.Errorf("root of the mean squared residual %v, want %v of %v pairs", m.Fit.RMSR, want, pairs)
	}
}

// TestResidualOfNoPair: where no pair of items has a correlation, none can be off.
func TestResidualOfNoPair(t *testing.T) {
	t.Parallel()
	x := mat.NewDense(4, 2, []float64{0, math.NaN(), 1, math.NaN(), math.NaN(), 0, math.NaN(), 1})
	if m := fit(t, x, factoranalysis.Settings{Factors: 1}); !math.IsNaN(m.Fit.RMSR) {
		t.Errorf("root of the mean squared residual %v of no pair, want NaN", m.Fit.RMSR)
	}
}

// Scores with missing answers are the regression on the known ones, whoever else is scored.
func TestScores(t *testing.T) {
	t.Parallel()
	x, _ := planted(300, 9, 2, 0.2)
	m := fit(t, x, factoranalysis.Settings{Factors: 2})
	fresh := punched(mat.DenseCopyOf(x.Slice(0, 50, 0, 9)), 0.3)
	for j := range 9 {
		fresh.Set(7, j, math.NaN())
	}
	all, err := m.Transform(fresh)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		alone, err := m.Transform(mat.DenseCopyOf(fresh.Slice(i, i+1, 0, 9)))
		if err != nil {
			t.Fatal(err)
		}
		want := regress(m, x, fresh.RawRowView(i))
		for k := range 2 {
			got := all.At(i, k)
			if i == 7 {
				if !math.IsNaN(got) {
					t.Errorf("participant without answers: %v", got)
				}
				continue
			}
			if got != alone.At(0, k) || math.Abs(got-want[k]) > 1e-10 {
				t.Errorf("participant %d, factor %d: %v, alone %v, want %v", i, k, got, alone.At(0, k), want[k])
			}
		}
	}
	if _, err := m.Transform(mat.NewDense(2, 8, nil)); !errors.Is(err, solver.ErrShape) {
		t.Errorf("8 items: error %v", err)
	}
	fresh.Set(3, 4, math.Inf(1))
	if _, err := m.Transform(fresh); !errors.Is(err, solver.ErrNonFinite) {
		t.Errorf("infinite answer: error %v", err)
	}
}

// regress returns the scores of one participant by their definition, with a linear solve of the known items.
func regress(m *factoranalysis.Model, sample *mat.Dense, answers []float64) []float64 {
	var structure mat.Dense
	structure.Mul(m.Loadings, m.Phi)
	var known []int
	for j, v := range answers {
		if !math.IsNaN(v) {
			known = append(known, j)
		}
	}
	if len(known) == 0 {
		return nil
	}
	n, _ := sample.Dims()
	r, z := mat.NewDense(len(known), len(known), nil), mat.NewVecDense(len(known), nil)
	for a, i := range known {
		column := mat.Col(nil, i, sample)
		var mean, squares float64
		for _, v := range column {
			mean += v / float64(n)
		}
		for _, v := range column {
			squares += (v - mean) * (v - mean) / float64(n-1)
		}
		z.SetVec(a, (answers[i]-mean)/math.Sqrt(squares))
		for b, j := range known {
			r.Set(a, b, m.Correlations.R.At(i, j))
		}
	}
	var w mat.VecDense
	if err := w.SolveVec(r, z); err != nil {
		panic(err)
	}
	_, k := m.Loadings.Dims()
	scores := make([]float64, k)
	for t := range k {
		for a, i := range known {
			scores[t] += structure.At(i, t) * w.AtVec(a)
		}
	}
	return scores
}

// A matrix that offers nothing but At is read through it.
func TestFitOfForeignMatrix(t *testing.T) {
	t.Parallel()
	x, _ := planted(100, 6, 1, 0)
	want, err := factoranalysis.Fit(t.Context(), x, factoranalysis.Settings{Factors: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := factoranalysis.Fit(t.Context(), struct{ mat.Matrix }{x},
		factoranalysis.Settings{Factors: 1}); err != nil || !mat.Equal(got.Loadings, want.Loadings) {
		t.Errorf("error %v, or other loadings", err)
	}
}

func TestFitRefuses(t *testing.T) {
	t.Parallel()
	x, _ := planted(30, 5, 1, 0)
	constant, infinite := mat.DenseCopyOf(x), mat.DenseCopyOf(x)
	for i := range 30 {
		constant.Set(i, 3, 2)
	}
	constant.Set(4, 3, math.NaN())
	infinite.Set(2, 1, math.Inf(-1))
	for name, c := range map[string]struct {
		x        *mat.Dense
		settings factoranalysis.Settings
		want     error
		text     string
	}{
		"no factor": {x, factoranalysis.Settings{}, solver.ErrSettings, "0 factors for 5 items"},
		"too many":  {x, factoranalysis.Settings{Factors: 5}, solver.ErrSettings, "5 factors for 5 items"},
		"rotation": {
			x,
			factoranalysis.Settings{Factors: 1, Rotation: "oblimax"},
			solver.ErrSettings, `rotation "oblimax" is not one of [promax oblimin geomin target bifactor varimax none]`,
		},
		"extraction": {
			x,
			factoranalysis.Settings{Factors: 1, Extraction: "pa"},
			solver.ErrSettings, `extraction "pa" is not one of [minres ml]`,
		},
		"threads": {x, factoranalysis.Settings{Factors: 1, Threads: -1}, solver.ErrSettings, "-1 threads"},
		"kind": {
			x,
			factoranalysis.Settings{Factors: 1, Correlation: "spearman"},
			solver.ErrSettings, `correlation "spearman"`,
		},
		"constant item": {constant, factoranalysis.Settings{Factors: 1}, nil, "item in column 3 has fewer than " +
			"two different answers"},
		"constant category": {
			constant,
			factoranalysis.Settings{Factors: 1, Correlation: factoranalysis.Polychoric},
			nil, "item in column 3 has fewer",
		},
		"many categories": {
			mat.DenseCopyOf(randomNormal(40, 5)),
			factoranalysis.Settings{Factors: 1, Correlation: factoranalysis.Polychoric},
			nil, "item in column 0 has more than 30",
		},
		"infinite": {infinite, factoranalysis.Settings{Factors: 1}, solver.ErrNonFinite, "row 2, column 1"},
		"one participant": {mat.DenseCopyOf(x.Slice(0, 1, 0,
			5)), factoranalysis.Settings{Factors: 1}, solver.ErrShape, "two participants, not 5 and 1"},
	} {
		_, err := factoranalysis.Fit(t.Context(), c.x, c.settings)
		if c.want != nil && !errors.Is(err, c.want) || !containsText(err, c.text) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.text)
		}
	}
}

// Equal bits whatever the number of threads, and the answers stay as they are.
func TestFitIsDeterministic(t *testing.T) {
	x, _ := planted(400, 15, 3, 0.2)
	x = punched(likert(x, -1, 0, 1), 0.1)
	kept := mat.DenseCopyOf(x)
	var first *factoranalysis.Model
	var scores *mat.Dense
	for _, threads := range []int{1, 4} {
		previous := runtime.GOMAXPROCS(threads)
		m := fit(t, x, factoranalysis.Settings{Factors: 3, Correlation: factoranalysis.Polychoric})
		s, err := m.Transform(x)
		runtime.GOMAXPROCS(previous)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first, scores = m, s
		} else if !mat.Equal(m.Loadings, first.Loadings) || !mat.Equal(m.Phi, first.Phi) || !mat.Equal(s, scores) {
			t.Error("other threads, other bits")
		}
	}
	wide, _ := planted(60, 264, 5, 0.2) // of so many items, not all eigenvalues are computed
	first = nil
	for _, threads := range []int{1, 4} {
		previous := runtime.GOMAXPROCS(threads)
		m := fit(t, wide, factoranalysis.Settings{Factors: 5, Rotation: factoranalysis.RotateOblimin})
		runtime.GOMAXPROCS(previous)
		if first == nil {
			first = m
		} else if !mat.Equal(m.Loadings, first.Loadings) || !mat.Equal(m.Phi, first.Phi) {
			t.Error("many items: other threads, other bits")
		}
	}
	if diff := cmp.Diff(fmt.Sprint(kept.RawMatrix().Data), fmt.Sprint(x.RawMatrix().Data)); diff != "" {
		t.Errorf("the answers changed:\n%s", diff)
	}
}

// Fewer participants than items leave correlations without an inverse, and contradictory ones would make scores of
// noise: both are scored by the model, within reason.
func TestScoresOfSmoothedCorrelations(t *testing.T) {
	t.Parallel()
	x, _ := planted(25, 40, 2, 0)
	for name, x := range map[string]*mat.Dense{"few participants": x, "contradictory": punched(x, 0.4)} {
		m := fit(t, x, factoranalysis.Settings{Factors: 2})
		if !m.Correlations.Smoothed() {
			t.Errorf("%s: least eigenvalue %v", name, m.Correlations.LeastEigenvalue)
		}
		scores, err := m.Transform(x)
		if err != nil {
			t.Fatal(err)
		}
		if largest := mat.Max(scores); !(largest > 0.5 && largest < 6) || !(mat.Min(scores) > -6) {
			t.Errorf("%s: scores from %v to %v", name, mat.Min(scores), largest)
		}
	}
}

// Transform scores rows of any matrix like Scores.
func TestTransform(t *testing.T) {
	t.Parallel()
	x, _ := planted(100, 6, 2, 0)
	m := fit(t, x, factoranalysis.Settings{Factors: 2, Rotation: factoranalysis.RotateVarimax})
	rows := x.Slice(10, 20, 0, 6).(*mat.Dense)
	want, err := m.Transform(rows)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []mat.Matrix{rows, rows.T().T(), mat.DenseCopyOf(rows.T()).T(), struct{ mat.Matrix }{rows}} {
		if got, err := m.Transform(x); err != nil || !mat.Equal(got, want) {
			t.Errorf("%T: %v, error %v, want %v", x, got, err, want)
		}
	}
	if _, err := m.Transform(x.Slice(0, 3, 0, 5)); !errors.Is(err, solver.ErrShape) {
		t.Errorf("five of six items: error %v", err)
	}
}
