package certainty_test

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/certainty"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/align"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/linalg"
)

// top is the largest answer, and each planted factor has perFactor items: item j belongs to factor j mod k.
const (
	top       = 4.0
	perFactor = 3
)

// strength is the loading of an item on its factor, of k, as a share of the largest.
func strength(item, k int) float64 { return []float64{0.8, 0.7, 0.6}[item/k] }

// normal draws standardized answers of k factors that correlate by correlated.
func normal(seed uint64, n, k int) *mat.Dense {
	random := rand.New(rand.NewPCG(seed, 1))
	x := mat.NewDense(n, perFactor*k, nil)
	f := make([]float64, k)
	for i := range n {
		common := random.NormFloat64()
		for t := range f {
			f[t] = math.Sqrt(correlated)*common + math.Sqrt(1-correlated)*random.NormFloat64()
		}
		for j := range perFactor * k {
			q := strength(j, k)
			x.Set(i, j, q*f[j%k]+math.Sqrt(1-q*q)*random.NormFloat64())
		}
	}
	return x
}

const correlated = 0.3

// bounded draws answers 0 to 4 of k factors that are absent in a quarter of the participants and fully present in
// another one. The second item of each factor loads on the next one too.
func bounded(seed uint64, n, k int) *mat.Dense {
	random := rand.New(rand.NewPCG(seed, 2))
	x := mat.NewDense(n, perFactor*k, nil)
	w := make([]float64, k)
	for i := range n {
		for t := range w {
			w[t] = max(0, min(1, random.Float64()*2-0.5))
		}
		for j := range perFactor * k {
			v := strongest*strength(j, k)*w[j%k] + crossing(j, k)*w[(j+1)%k] + 0.3*random.NormFloat64()
			x.Set(i, j, max(0, min(top, v)))
		}
	}
	return x
}

// strongest times its strength is the loading of an item on its factor, in bounded, and crossing that on the next
// factor.
const strongest = 4.0

func crossing(item, k int) float64 { return []float64{0, 0.4, 0}[item/k] }

// noise draws answers that nothing explains.
func noise(seed uint64, n int) *mat.Dense {
	random := rand.New(rand.NewPCG(seed, 3))
	x := mat.NewDense(n, 9, nil)
	x.Apply(func(_, _ int, _ float64) float64 { return top * random.Float64() }, x)
	return x
}

// options are those of a fit of k factors to these answers.
func options(x *mat.Dense, k int, method string, beta float64) *fit.Options {
	n, p := x.Dims()
	t := &answers.Table{File: "planted", Answers: x}
	for j := range p {
		t.Items = append(t.Items,
			questionnaire.Item{Name: "q" + strconv.Itoa(j+1), Range: &questionnaire.Range{High: top}})
	}
	for i := range n {
		t.IDs, t.Lines = append(t.IDs, strconv.Itoa(i)), append(t.Lines, i+2)
	}
	o := &fit.Options{
		Method: method, Table: t, Factors: []int{k}, Learning: model.Learning{Seed: 1, Threads: 1, RelTol: 1e-5},
	}
	if method == model.MethodICQF {
		o.Betas = []float64{beta}
	}
	return o
}

// learn fits answers by the options.
func learn(t *testing.T, o *fit.Options) *fit.Outcome {
	t.Helper()
	s, err := o.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := solver.Candidate{Factors: o.Factors[0], Beta: o.Betas[0]}
	l, err := o.Learn(t.Context(), s, s.Order, c)
	if err != nil {
		t.Fatal(err)
	}
	scores, err := l.Score(l.Rows)
	if err != nil {
		t.Fatal(err)
	}
	return &fit.Outcome{Learnt: l, Study: s, Candidate: c, Scores: scores}
}

// hits counts the intervals that hold the truth.
type hits struct{ in, all float64 }

func (h *hits) add(low, truth, high float64) {
	h.all++
	if low <= truth && truth <= high {
		h.in++
	}
}

func (h *hits) share() float64 { return h.in / h.all }

// coverage counts the intervals of loadings whose truth is not 0, of those whose truth is 0, and of factor
// correlations.
type coverage struct{ loads, zeros, correlations hits }

// covering draws samples, and counts for each truth the intervals that the bootstraps give.
func covering(t *testing.T, sample func(seed uint64) *fit.Options, samples, replicates int,
	truths ...*mat.Dense,
) []coverage {
	t.Helper()
	out := make([]coverage, len(truths))
	for seed := range uint64(samples) {
		o := sample(seed + 1)
		o.Seed = seed + 1
		of := learn(t, o)
		b, err := certainty.Settings{Replicates: replicates}.Bootstrap(t.Context(), o, of)
		if err != nil {
			t.Fatal(err)
		}
		for i, truth := range truths {
			out[i].add(b, truth, of.Loadings)
		}
	}
	return out
}

func (c *coverage) add(b *model.Bootstrap, truth, loadings *mat.Dense) {
	order, cosines := align.Factors(truth, loadings)
	for f, column := range order {
		sign := math.Copysign(1, cosines[f])
		for j, q := range mat.Col(nil, f, truth) {
			h := &c.loads
			if q == 0 {
				h = &c.zeros
			}
			h.add(b.Loadings.Low[j][column], sign*q, b.Loadings.High[j][column])
		}
		if of := b.FactorCorrelations; of != nil {
			for other := range f {
				c.correlations.add(of.Low[column][order[other]], sign*math.Copysign(correlated, cosines[other]),
					of.High[column][order[other]])
			}
		}
	}
}

func long() bool { return os.Getenv("WARDCAST_LONG") != "" }

// sizes returns how many samples and replicates a test of coverage draws, and between which bounds the coverage must
// be. The loadings of one sample are hardly independent: with 12 samples the share of those covered has a standard
// error of up to √(.05·.95/12) = .06, and the lower bound is 2 of these below 95 %; nothing can be said of the upper
// bound. With 500 samples it is .01 or, over several loadings, less.
func sizes() (samples, replicates int, low, high float64) {
	if !long() {
		return 8, certainty.LeastReplicates, 0.83, 1
	}
	return 500, 100, 0.93, 0.97
}

// Planted loadings of promax are in their intervals, and so are the correlations of the factors.
func TestCoverageFA(t *testing.T) {
	t.Parallel()
	samples, replicates, low, high := sizes()
	if long() {
		replicates = 200
	}
	truth := mat.NewDense(9, 3, nil)
	for j := range 9 {
		truth.Set(j, j%3, strength(j, 3))
	}
	c := covering(t, func(seed uint64) *fit.Options {
		return options(normal(seed, 150, 3), 3, model.MethodFA, 0)
	}, samples, replicates, truth)[0]
	t.Logf("loadings %.4f, those of 0 %.4f, factor correlations %.4f", c.loads.share(), c.zeros.share(),
		c.correlations.share())
	for _, h := range []hits{c.loads, c.zeros, c.correlations} {
		if h.share() < low || h.share() > high {
			t.Errorf("%.4f of %v intervals hold the truth, want %v to %v", h.share(), h.all, low, high)
		}
	}
}

// The loadings that ICQF has in the population, with its penalties, are in their intervals if there are 200
// participants. With 100 the standard errors are 7 % too small, and .905 of the intervals of loadings above 0 hold the
// truth.
func TestCoverageICQF(t *testing.T) {
	t.Parallel()
	const k, beta = 2, 0.1
	samples, replicates, low, high := sizes()
	// Of a fit to 40,000 participants with RelTol 1e-9, which the long test repeats.
	truth := mat.NewDense(perFactor*k, k,
		[]float64{3.4333, 0, 0, 3.4398, 3.0339, 0.3657, 0.3659, 3.0364, 2.5752, 0, 0, 2.5775})
	planted := mat.NewDense(perFactor*k, k, nil)
	for j := range perFactor * k {
		planted.Set(j, j%k, strongest*strength(j, k))
		planted.Set(j, (j+1)%k, crossing(j, k))
	}
	if long() {
		o := options(bounded(0, 40_000, k), k, model.MethodICQF, beta)
		o.RelTol = 1e-9
		big := learn(t, o).Loadings
		order, _ := align.Topics(truth, big)
		if !mat.EqualApprox(truth, linalg.SelectColumns(big, order), 1e-3) {
			t.Fatalf("the loadings in the population are\n%.4f", mat.Formatted(big))
		}
	}
	of := covering(t, func(seed uint64) *fit.Options {
		return options(bounded(seed, 200, k), k, model.MethodICQF, beta)
	}, samples, replicates, truth, planted)
	for i, name := range []string{"in the population", "planted"} {
		t.Logf("loadings %s: %.4f, those of 0 %.4f", name, of[i].loads.share(), of[i].zeros.share())
	}
	if c := of[0].loads; c.share() < low || c.share() > high {
		t.Errorf("%.4f of %v intervals hold the truth, want %v to %v", c.share(), c.all, low, high)
	}
	// A loading of 0 that is 0 in nearly every replicate has the interval 0 to 0.
	if c := of[0].zeros; c.share() < low {
		t.Errorf("%.4f of %v intervals hold 0, want at least %v", c.share(), c.all, low)
	}
}

// planted are answers, n×p, with the scores that they were made from, n×k.
type planted struct{ answers, scores *mat.Dense }

// evenly returns the strength of an item of p with k factors: those of a factor are spread evenly from 0 to 1.
func evenly(item, p, k int) float64 { return float64(item/k) / float64(p/k-1) }

// plant draws answers to p items, item j of factor j mod k, with a share of them missing, but not all of a row.
func plant(seed uint64, n, p, k int, missing float64, score func(*rand.Rand, []float64),
	answer func(random *rand.Rand, score, strength float64) float64,
) planted {
	random := rand.New(rand.NewPCG(seed, 5))
	all := planted{mat.NewDense(n, p, nil), mat.NewDense(n, k, nil)}
	for i := range n {
		w := all.scores.RawRowView(i)
		score(random, w)
		keep := random.IntN(p)
		for j := range p {
			all.answers.Set(i, j, answer(random, w[j%k], evenly(j, p, k)))
			if j != keep && random.Float64() < missing {
				all.answers.Set(i, j, math.NaN())
			}
		}
	}
	return all
}

// plantNormal draws factors that correlate by correlated, and standardized answers with loadings of .4 to .8.
func plantNormal(missing float64) func(seed uint64, n int) planted {
	score := func(random *rand.Rand, f []float64) {
		common := random.NormFloat64()
		for t := range f {
			f[t] = math.Sqrt(correlated)*common + math.Sqrt(1-correlated)*random.NormFloat64()
		}
	}
	answer := func(random *rand.Rand, score, strength float64) float64 {
		q := 0.4 + 0.4*strength
		return q*score + math.Sqrt(1-q*q)*random.NormFloat64()
	}
	return func(seed uint64, n int) planted { return plant(seed, n, 15, 3, missing, score, answer) }
}

// plantBounded draws scores of 0 to 1, with this share of them at the bounds, two thirds of it at 0, and answers of 0
// to 4 with loadings of boundedLoading.
func plantBounded(bounds float64) func(seed uint64, n int) planted {
	score := func(random *rand.Rand, w []float64) {
		for t := range w {
			switch u := random.Float64(); {
			case u < bounds*2/3:
				w[t] = 0
			case u < bounds:
				w[t] = 1
			default:
				w[t] = random.Float64()
			}
		}
	}
	answer := func(random *rand.Rand, score, strength float64) float64 {
		return max(0, min(top, boundedLoading(strength)*score+0.4*random.NormFloat64()))
	}
	return func(seed uint64, n int) planted { return plant(seed, n, boundedItems, 3, 0, score, answer) }
}

const boundedItems = 24

// boundedLoading is from 2 to 3.
func boundedLoading(strength float64) float64 { return 2 + strength }

// Planted scores are within 1.96 standard errors if these count, by a bootstrap, that the loadings are learned from a
// sample. With ICQF they are those on the scale that the factors have in the population, as in TestCoverageICQF: the
// penalties, and the noise of scores that the bound 1 cuts off, make loadings somewhat larger than planted, and scores
// so much smaller.
func TestCoverageScores(t *testing.T) {
	t.Parallel()
	const beta = 0.1
	for _, test := range []struct {
		name, method string
		participants int
		plant        func(seed uint64, n int) planted
		scale        float64 // of the loadings of a fit to 40,000 participants, which the long test repeats
	}{
		{"fa", model.MethodFA, 250, plantNormal(0), 1},
		{"fa, 30 % missing", model.MethodFA, 250, plantNormal(0.3), 1},
		{"icqf", model.MethodICQF, 300, plantBounded(0), 1.01},
		{"icqf, 45 % at the bounds", model.MethodICQF, 300, plantBounded(0.45), 1.055},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			samples, replicates, low, high := sizes()
			switch {
			case !long():
				samples, low = 2, 0.91
				if strings.Contains(test.name, "missing") { // each answers other items, which takes long
					samples = 1
				}
			case test.method == model.MethodICQF:
				if scale := scaleOf(t, test.plant(0, 40_000), beta); math.Abs(scale-test.scale) > 0.003 {
					t.Errorf("in the population, loadings are %.4f times the planted ones, not %v", scale, test.scale)
				}
			}
			var known, all, asPlanted hits
			for seed := range uint64(samples) {
				of := test.plant(seed+1, test.participants)
				o := options(of.answers, 3, test.method, beta)
				var err error
				if o.Assess, err = (certainty.Settings{Replicates: min(replicates, 60)}).Assess(); err != nil {
					t.Fatal(err)
				}
				f, err := fit.Fit(t.Context(), *o)
				if err != nil {
					t.Fatal(err)
				}
				alone, err := fit.FactorsOf(&f.Model).StandardErrors(of.answers)
				if err != nil {
					t.Fatal(err)
				}
				scores, err := fit.FactorsOf(&f.Model).Score(of.answers, nil)
				if err != nil {
					t.Fatal(err)
				}
				order, cosines := align.Factors(of.scores, scores)
				for c, column := range order {
					for i, truth := range mat.Col(nil, c, of.scores) {
						v := math.Copysign(1, cosines[c]) * scores.At(i, column)
						less, e := 1.96*alone.At(i, column), 1.96*f.Scores.Errors.At(i, column)
						known.add(v-less, truth/test.scale, v+less)
						all.add(v-e, truth/test.scale, v+e)
						asPlanted.add(v-e, truth, v+e)
					}
				}
			}
			t.Logf("coverage %.4f; if loadings count as known %.4f; of scores on the planted scale %.4f", all.share(),
				known.share(), asPlanted.share())
			if all.share() < low || all.share() > high || all.share() <= known.share() {
				t.Errorf("%.4f of the intervals hold the score, want %v to %v, and more than %.4f", all.share(), low,
					high, known.share())
			}
		})
	}
}

// scaleOf returns how many times as large as planted the loadings of plantBounded are, by least squares.
func scaleOf(t *testing.T, of planted, beta float64) float64 {
	o := options(of.answers, 3, model.MethodICQF, beta)
	o.RelTol = 1e-9
	loadings, truth := learn(t, o).Loadings, mat.NewDense(boundedItems, 3, nil)
	for j := range boundedItems {
		truth.Set(j, j%3, boundedLoading(evenly(j, boundedItems, 3)))
	}
	order, _ := align.Factors(truth, loadings)
	var both mat.Dense
	both.MulElem(truth, linalg.SelectColumns(loadings, order))
	norm := mat.Norm(truth, 2)
	return mat.Sum(&both) / (norm * norm)
}

// Oblimin makes the correlations of a sample smaller than they are, and percentile intervals would lie below the truth.
func TestCoverageOblimin(t *testing.T) {
	t.Parallel()
	samples, replicates, low, high := sizes()
	var h hits
	for seed := range uint64(samples) {
		o := options(plantNormal(0)(seed+1, 250).answers, 3, model.MethodFA, 0)
		o.Rotation = string(factoranalysis.RotateOblimin)
		b, err := certainty.Settings{Replicates: replicates}.Bootstrap(t.Context(), o, learn(t, o))
		if err != nil {
			t.Fatal(err)
		}
		for s := range 3 {
			for u := range s {
				h.add(b.FactorCorrelations.Low[s][u], correlated, b.FactorCorrelations.High[s][u])
			}
		}
	}
	t.Logf("factor correlations %.4f", h.share())
	if h.share() < low || h.share() > high {
		t.Errorf("%.4f of %v intervals hold the truth, want %v to %v", h.share(), h.all, low, high)
	}
}

// misfit draws answers of normal whose first two items share something that three factors do not hold.
func misfit(seed uint64, n int) *mat.Dense {
	random := rand.New(rand.NewPCG(seed, 4))
	x := normal(seed, n, 3)
	for i := range n {
		shared := 0.5 * random.NormFloat64()
		x.Set(i, 0, x.At(i, 0)+shared)
		x.Set(i, 1, x.At(i, 1)+shared)
	}
	return x
}

// The RMSEA that three factors have in the population is in its interval of 90 % in about 90 % of 500 samples: the
// share has a standard error of √(.1·.9/500) = .013, and the bounds are at two of them. A short test takes 100.
func TestCoverageRMSEA(t *testing.T) {
	t.Parallel()
	rmsea := func(x *mat.Dense) factoranalysis.Interval {
		m, err := factoranalysis.Fit(t.Context(), x,
			factoranalysis.Settings{Factors: 3, Extraction: factoranalysis.MaximumLikelihood, Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		return m.Fit.RMSEA
	}
	samples, reach := 100, 0.06
	if long() {
		samples, reach = 500, 0.026
	}
	truth := rmsea(misfit(0, 200_000)).Value
	var h hits
	for seed := range uint64(samples) {
		i := rmsea(misfit(seed+1, 400))
		h.add(i.Low, truth, i.High)
	}
	t.Logf("RMSEA %.4f, coverage %.4f", truth, h.share())
	if math.Abs(h.share()-0.9) > reach {
		t.Errorf("%.4f of the intervals hold the truth", h.share())
	}
}
