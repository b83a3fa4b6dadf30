package icqf

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/solver"
)

// On 120 items answered 0 to 2 scaled penalties are those of the paper, to the last bit.
func TestScaledIsThePapersOnItsQuestionnaire(t *testing.T) {
	t.Parallel()
	data, _, _ := questionnaire(20, 90, ScaledItems, 4)
	data.Answers.Scale(0.5, data.Answers)
	data.Max = ScaledMax
	s := Settings{Rank: 4, L1: 0.3, L2: 0.1, RelTol: 1e-5}
	want := fit(t, data, s)
	s.Scaled = true
	if got := fit(t, data, s); math.Abs(got.Objective/want.Objective-1) > 1e-9 ||
		!mat.EqualApprox(got.Scores, want.Scores, 1e-9) {
		t.Errorf("objective %v, the paper's is %v", got.Objective, want.Objective)
	}
}

// Another unit of the answers, and everybody twice, change no score; nor do all items twice.
func TestScaledIsFreeOfUnitsAndNumbers(t *testing.T) {
	t.Parallel()
	data, _, _ := questionnaire(21, 150, 20, 3)
	s := Settings{Rank: 3, L1: 0.3, L2: 0.2, Scaled: true, RelTol: 1e-12, MaxIter: 20000}
	want := fit(t, data, s)
	ten, people, items := data, data, data
	ten.Answers = mat.NewDense(150, 20, nil)
	ten.Answers.Scale(10, data.Answers)
	ten.Max = 10 * data.Max
	people.Answers, people.Confounds, items.Answers = &mat.Dense{}, &mat.Dense{}, &mat.Dense{}
	people.Answers.Stack(data.Answers, data.Answers)
	people.Confounds.Stack(data.Confounds, data.Confounds)
	items.Answers.Augment(data.Answers, data.Answers)
	for name, test := range map[string]struct {
		Data
		unit, all float64 // of loadings and of the objective
	}{"unit": {ten, 10, 100}, "participants": {people, 1, 2}, "items": {items, 1, 2}} {
		got := fit(t, test.Data, s)
		for i := range 150 {
			for f := range 3 {
				if d := math.Abs(got.Scores.At(i, f) - want.Scores.At(i, f)); d > 1e-3 {
					t.Fatalf("%s: row %d: score %d off by %g", name, i, f, d)
				}
			}
		}
		for j := range 20 {
			for f := range 3 {
				if d := math.Abs(got.Loadings.At(j, f)/test.unit - want.Loadings.At(j, f)); d > 1e-2 {
					t.Fatalf("%s: item %d: loading %d off by %g", name, j, f, d)
				}
			}
		}
		if d := got.Objective/test.all/want.Objective - 1; math.Abs(d) > 1e-6 {
			t.Errorf("%s: objective off by %g", name, d)
		}
	}
}

// An intercept has no penalty: under one that leaves nothing else it is the mean of each item.
func TestInterceptIsFree(t *testing.T) {
	t.Parallel()
	data, _, _ := questionnaire(22, 120, 15, 3)
	data.Intercept = true
	for _, inner := range []Inner{CoordinateDescent, FISTA} {
		r := fit(t, data, Settings{Rank: 2, L1: 1e5, L2: 1, Inner: inner, RelTol: 1e-12})
		for j := range 15 {
			var seen []float64
			for _, v := range mat.Col(nil, j, data.Answers) {
				if v == v {
					seen = append(seen, v)
				}
			}
			if mean := stat.Mean(seen, nil); math.Abs(r.ConfoundLoadings.At(j, 2)-mean) > 1e-3 ||
				r.ConfoundLoadings.At(j, 0) != 0 || r.Loadings.At(j, 0) != 0 {
				t.Errorf("%s, item %d: loadings %v and %v, mean %v", inner, j, r.Loadings.RawRowView(j),
					r.ConfoundLoadings.RawRowView(j), mean)
			}
		}
		if squares := r.ReconstructionError * float64(120*15) / 2; !(r.Objective < squares) {
			t.Errorf("%s: objective %v has a penalty of the intercept", inner, r.Objective)
		}
	}
	data.Confounds = nil
	if _, err := Fit(t.Context(), data, Settings{Rank: 2}); !errors.Is(err, ErrConfounds) {
		t.Errorf("an intercept without a column: %v", err)
	}
}

// The factors of k do not depend on how many a problem was prepared for.
func TestStartIsOfTheRankAlone(t *testing.T) {
	t.Parallel()
	data, _, _ := questionnaire(23, 80, 50, 4)
	var want *Result
	for _, most := range []int{3, 10, 25, 50} {
		p, err := Prepare(data, Settings{Rank: most})
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Fit(t.Context(), Settings{Rank: 3, L1: 0.1, MaxIter: 20})
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if !sameBits(got, want) {
			t.Errorf("prepared for %d factors, the fit of 3 is another", most)
		}
		if _, err := p.Fit(t.Context(), Settings{Rank: most + 1}); !errors.Is(err, solver.ErrRank) {
			t.Errorf("%d factors of a problem for %d: %v", most+1, most, err)
		}
	}
}

// planted returns a model of so many items for each of k factors, and scores inside the box, within .25 of its middle
// or, if wide, anywhere.
func planted(random *rand.Rand, n, each, k int, wide bool) (*Model, *mat.Dense) {
	m := &Model{Loadings: mat.NewDense(each*k, k, nil), L1: 0.5, Answers: float64(each * k)}
	for j := range each * k {
		m.Loadings.Set(j, j%k, 2+random.Float64())
	}
	width := 0.5
	if wide {
		width = 1
	}
	scores := mat.NewDense(n, k, nil)
	scores.Apply(func(_, _ int, _ float64) float64 { return 0.5 + width*(random.Float64()-0.5) }, scores)
	return m, scores
}

// noisy returns answers with noise of this deviation, a share of them missing, but not all of a row.
func noisy(random *rand.Rand, m *Model, scores *mat.Dense, deviation, missing float64) *mat.Dense {
	answers, err := m.Reconstruct(scores, nil)
	if err != nil {
		panic(err)
	}
	n, p := answers.Dims()
	for i := range n {
		keep := random.IntN(p)
		for j := range p {
			answers.Set(i, j, answers.At(i, j)+deviation*random.NormFloat64())
			if j != keep && random.Float64() < missing {
				answers.Set(i, j, math.NaN())
			}
		}
	}
	return answers
}

// Missing answers do not shrink scores: their mean keeps within two standard errors of that of the whole questionnaire,
// where without weights it falls by 1 to 6 % of it.
func TestMissingAnswersDoNotShrinkScores(t *testing.T) {
	t.Parallel()
	for _, missing := range []float64{0.3, 0.6, 0.7} {
		random := rand.New(rand.NewPCG(30, uint64(100*missing)))
		const n = 20000
		m, truth := planted(random, n, 6, 1, false)
		mean := func(answers *mat.Dense, of *Model) []float64 {
			w, err := of.Score(answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			return mat.Col(nil, 0, w)
		}
		whole := mean(noisy(random, m, truth, 0.2, 0), m)
		answers := noisy(random, m, truth, 0.2, missing)
		weighed, plain := mean(answers, m), mean(answers, &Model{Loadings: m.Loadings, L1: m.L1})
		differences := func(a []float64) (bias, standardError float64) {
			d := make([]float64, n)
			for i := range d {
				d[i] = a[i] - whole[i]
			}
			mu, sd := stat.MeanStdDev(d, nil)
			return mu, sd / math.Sqrt(n)
		}
		bias, se := differences(weighed)
		before, _ := differences(plain)
		t.Logf("%.0f %% missing: the mean is off by %+.4f (standard error %.4f), without weights by %+.4f", 100*missing,
			bias, se, before)
		if math.Abs(bias) > 2*se {
			t.Errorf("%.0f %% missing: the mean is off by %v with a standard error of %v", 100*missing, bias, se)
		}
		if before > -10*se {
			t.Errorf("%.0f %% missing: without weights the mean is off by %v only, so the test proves nothing",
				100*missing, before)
		}
	}
}

// Intervals of two standard errors cover true scores by calibrated models of known loadings, by the variances that
// Residuals finds. At the bounds they cover more, as they should. With loadings that a fit of 300 people estimates, the
// scale of the factors is off too, and they cover less: that is logged, and must not get worse.
func TestStandardErrorsCover(t *testing.T) {
	t.Parallel()
	replications := 10
	if os.Getenv("WARDCAST_LONG") != "" {
		replications = 500
	}
	for _, test := range []struct {
		name      string
		wide      bool
		bounds    float64 // share of the scores at 0, and half as many at 1
		missing   float64
		estimated bool
		low, high float64
	}{
		{"inside", false, 0, 0, false, 0.93, 0.97},
		{"inside, 30 % missing", false, 0, 0.3, false, 0.93, 0.97},
		{"anywhere", true, 0, 0, false, 0.93, 0.97},
		{"anywhere, 60 % missing", true, 0, 0.6, false, 0.93, 0.97},
		{"45 % at the bounds", true, 0.3, 0, false, 0.93, 0.98},
		{"45 % at the bounds, 60 % missing", true, 0.3, 0.6, false, 0.93, 0.98},
		{"anywhere, loadings estimated", true, 0, 0, true, 0.85, 0.98},
		{"45 % at the bounds, loadings estimated", true, 0.3, 0, true, 0.85, 0.98},
	} {
		random := rand.New(rand.NewPCG(31, uint64(100*test.missing)))
		var covered, all [2]float64 // inside and at the bounds
		for range replications {
			n, k := 200, 3
			if test.estimated {
				n = 300
			}
			m, truth := planted(random, n, 8, k, test.wide)
			m.L1 = 0.1
			truth.Apply(func(_, _ int, v float64) float64 {
				switch u := random.Float64(); {
				case u < test.bounds:
					return 0
				case u < 1.5*test.bounds:
					return 1
				}
				return v
			}, truth)
			answers := noisy(random, m, truth, 0.4, test.missing)
			factors := []int{0, 1, 2}
			if test.estimated {
				m, factors = estimated(t, answers, m.Loadings)
			}
			if err := m.Calibrate(answers, nil); err != nil {
				t.Fatal(err)
			}
			scores, noise, err := m.Residuals(answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			m.Noise = noise
			errors, err := m.StandardErrors(answers)
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				for f, g := range factors {
					at := 0
					if v := truth.At(i, f); v == 0 || v == 1 {
						at = 1
					}
					if math.Abs(scores.At(i, g)-truth.At(i, f)) <= 1.96*errors.At(i, g) {
						covered[at]++
					}
					all[at]++
				}
			}
		}
		share := (covered[0] + covered[1]) / (all[0] + all[1])
		t.Logf("%s: %.1f %% of %.0f intervals cover: inside %.1f %%, at the bounds %.1f %%", test.name, 100*share,
			all[0]+all[1], 100*covered[0]/all[0], 100*covered[1]/all[1])
		if share < test.low || share > test.high {
			t.Errorf("%s: %v of the intervals cover, want %v to %v", test.name, share, test.low, test.high)
		}
	}
}

// The variance of an item is that of the answers away from the ends if that is larger; if these are few, all items
// together show the amount.
func TestVariancesOf(t *testing.T) {
	t.Parallel()
	all := []residuals{{100, 100}, {50, 100}, {}, {200, 100}}
	inside := []residuals{{60, 30}, {5, 10}, {}, {50, 50}}
	const ratio = (60 + 5 + 50) / (30 + 0.5*10 + 2*50)
	if ratio > 1 {
		t.Fatal("the case is to have a ratio below 1")
	}
	want := []float64{2, 0.5, 350. / 300, 2}
	if got := variancesOf(all, inside); !floats.EqualApprox(got, want, 1e-12) {
		t.Errorf("variances %v, want %v", got, want)
	}
	all, inside = all[:3], inside[:3]
	const larger = (60 + 5) / (30 + 0.5*10)
	if got, want := variancesOf(all, inside),
		[]float64{2, 0.5 * larger, 150. / 200 * larger}; !floats.EqualApprox(got, want, 1e-12) {
		t.Errorf("variances %v, want %v", got, want)
	}
}

// estimated returns the model of a fit, and which of its factors is most like each of the true ones.
func estimated(t *testing.T, answers, truth *mat.Dense) (*Model, []int) {
	t.Helper()
	_, k := truth.Dims()
	positive := mat.DenseCopyOf(answers) // noise may lead below 0
	positive.Apply(func(_, _ int, v float64) float64 { return max(v, 0) }, positive)
	r, err := Fit(t.Context(), Data{Answers: positive}, Settings{Rank: k, L1: 0.1, Scaled: true})
	if err != nil {
		t.Fatal(err)
	}
	match := make([]int, k)
	for f := range k {
		for g := range k {
			like := func(g int) float64 {
				return stat.Correlation(mat.Col(nil, f, truth), mat.Col(nil, g, r.Loadings), nil)
			}
			if like(g) > like(match[f]) {
				match[f] = g
			}
		}
	}
	return &r.Model, match
}

// A score without information has the largest possible error; a model without variances has no errors.
func TestStandardErrorsOfNothing(t *testing.T) {
	t.Parallel()
	m := &Model{Loadings: mat.NewDense(2, 2, []float64{2, 0, 0, 2}), Noise: []float64{0.04, 0.04}}
	e, err := m.StandardErrors(mat.NewDense(2, 2, []float64{1, math.NaN(), math.NaN(), math.NaN()}))
	if err != nil {
		t.Fatal(err)
	}
	if e.At(0, 0) > 0.11 || e.At(0, 0) < 0.09 || e.At(0, 1) != deviation || e.At(1, 0) != deviation ||
		e.At(1, 1) != deviation {
		t.Errorf("errors %v", mat.Formatted(e))
	}
	m.Noise = nil
	if _, err := m.StandardErrors(mat.NewDense(1, 2, nil)); !errors.Is(err, solver.ErrShape) {
		t.Errorf("without variances: %v", err)
	}
}
