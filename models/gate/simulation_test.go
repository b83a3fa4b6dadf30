package gate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/models/gate"
)

// The simulated hospital: notes are `features` numbers, a quarter is admitted, three patients in ten come twice with
// much the same note. Both models are logistic regressions. The challenger learns from three notes for each later note,
// the champion from as many of an earlier period.
const (
	features  = 12
	trainedOn = 3
	comeTwice = 0.3
	alike     = 0.7   // correlation of the two notes of a patient
	intercept = -1.5  // of the truth: about a quarter is admitted
	strength  = 0.35  // of each coefficient of the truth
	material  = 0.001 // of log loss: a smaller loss is not counted as a wrong decision
	fresh     = 4000  // notes on which the true log loss is taken, with the true probabilities
	chunk     = 6     // sites
	ridge     = 1e-6  // keeps small fits finite
	irlsSteps = 12    // of Newton's method
	clipped   = 1 - 1e-9
)

// world is what differs between the scenarios.
type world struct {
	name string
	// drift is the standard deviation of the change of each coefficient between the champion's period and the
	// challenger's.
	drift float64
	// shift is the change of the intercept between the two.
	shift float64
	// shuffled is the share of the challenger's outcomes that went to the wrong notes.
	shuffled float64
	// few divides the number of notes that the champion was trained on.
	few int
	// spoilt makes the challenger guess at one site of six.
	spoilt bool
}

var worlds = []world{
	{name: "no drift"},
	{name: "the champion saw a quarter of the notes", few: 4},
	{name: "mild drift", drift: 0.1},
	{name: "strong drift", drift: 0.25},
	{name: "base-rate shift", shift: -0.6},
	{name: "outcomes shuffled, 1/4", shuffled: 0.25},
	{name: "outcomes shuffled, 3/4", shuffled: 0.75},
	{name: "outcomes shuffled, all", shuffled: 1},
	{name: "one site of six spoilt", spoilt: true, few: 4},
}

type sample struct {
	x        *mat.Dense // with a leading 1
	truth    []float64
	y        []bool
	patients []string
	sites    []string
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func draw(n int, theta []float64, random *rand.Rand) *sample {
	s := &sample{x: mat.NewDense(n, features+1, nil)}
	for i := range n {
		row := s.x.RawRowView(i)
		again := i > 0 && random.Float64() < comeTwice/(1+comeTwice)
		row[0] = 1
		for j := 1; j <= features; j++ {
			row[j] = random.NormFloat64()
			if again {
				row[j] = alike*s.x.At(i-1, j) + math.Sqrt(1-alike*alike)*row[j]
			}
		}
		who, site := strconv.Itoa(i), strconv.Itoa(random.IntN(chunk))
		if again {
			who, site = s.patients[i-1], s.sites[i-1]
		}
		p := sigmoid(floats.Dot(row, theta))
		s.truth, s.y = append(s.truth, p), append(s.y, random.Float64() < p)
		s.patients, s.sites = append(s.patients, who), append(s.sites, site)
	}
	return s
}

// fit returns the coefficients of a logistic regression.
func fit(s *sample) []float64 {
	theta := make([]float64, features+1)
	h, g, step := mat.NewSymDense(features+1, nil), mat.NewVecDense(features+1, nil), mat.NewVecDense(features+1, nil)
	for range irlsSteps {
		h.Zero()
		g.Zero()
		for i, y := range s.y {
			row := mat.NewVecDense(features+1, s.x.RawRowView(i))
			p := sigmoid(floats.Dot(row.RawVector().Data, theta))
			r := -p
			if y {
				r++
			}
			g.AddScaledVec(g, r, row)
			h.SymRankOne(h, p*(1-p), row)
		}
		for j := range theta {
			h.SetSym(j, j, h.At(j, j)+ridge)
		}
		var factor mat.Cholesky
		if !factor.Factorize(h) || factor.SolveVecTo(step, g) != nil {
			break
		}
		floats.Add(theta, step.RawVector().Data)
	}
	return theta
}

func (w *world) predict(s *sample, theta []float64, spoilt bool) []float64 {
	p := make([]float64, len(s.y))
	for i := range p {
		p[i] = sigmoid(floats.Dot(s.x.RawRowView(i), theta))
		if spoilt && s.sites[i] == "0" {
			p[i] = 0.25
		}
	}
	return p
}

// loss returns the expected log loss under the true probabilities.
func loss(truth, p []float64) float64 {
	var sum float64
	for i, v := range p {
		v = min(max(v, 1-clipped), clipped)
		sum -= truth[i]*math.Log(v) + (1-truth[i])*math.Log(1-v)
	}
	return sum / float64(len(p))
}

// night is one decision and the true log loss of each of its possible outcomes.
type night struct {
	decision gate.Decision
	loss     map[gate.Decision]float64
}

func (w *world) night(t testing.TB, n int, s []gate.Settings, seed uint64) []night {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, uint64(n)))
	before := make([]float64, features+1)
	before[0] = intercept
	for j := 1; j <= features; j++ {
		before[j] = strength * random.NormFloat64()
	}
	now := append([]float64{}, before...)
	now[0] += w.shift
	for j := 1; j <= features; j++ {
		now[j] += w.drift * random.NormFloat64()
	}
	old, recent := draw(trainedOn*n/max(w.few, 1), before, random), draw(trainedOn*n, now, random)
	wrong := random.Perm(len(recent.y))[:int(w.shuffled*float64(len(recent.y)))]
	shuffled := append([]bool{}, recent.y...)
	for i, j := range random.Perm(len(wrong)) {
		shuffled[wrong[i]] = recent.y[wrong[j]]
	}
	recent.y = shuffled
	champion, challenger := fit(old), fit(recent)
	later, truth := draw(n, now, random), draw(fresh, now, random)
	notes := gate.Notes{
		Admitted: later.y, Patients: later.patients, Groupings: []gate.Grouping{{Name: "site", Level: later.sites}},
		Champion: w.predict(later, champion, false), Challenger: w.predict(later, challenger, w.spoilt),
	}
	served := w.predict(truth, champion, false)
	of := map[gate.Decision]float64{gate.Refuse: loss(truth.truth, served), gate.Promote: loss(truth.truth,
		w.predict(truth, challenger, w.spoilt))}
	var out []night
	for _, settings := range s {
		v, err := gate.Judge(notes, settings)
		if err != nil {
			t.Fatal(err)
		}
		if r := v.Figures.Recalibrated; r != nil && of[gate.Recalibrate] == 0 {
			p := append([]float64{}, served...)
			for i := range p {
				p[i] = r.Apply(p[i])
			}
			of[gate.Recalibrate] = loss(truth.truth, p)
		}
		out = append(out, night{v.Decision, of})
	}
	return out
}

// rates are those of many nights.
type rates struct {
	promoted, recalibrated, refused int
	// better is how often the challenger is truly better than the champion.
	better int
	// wrongPromotion: what was put in place is worse than the champion by at least material. wrongRefusal: the champion
	// stays as it is, and the challenger is better by as much.
	wrongPromotion, wrongRefusal int
	// Mean true log loss above the best of the possible decisions: of the rule, of promoting always, and never.
	rule, always, never float64
}

func (r *rates) add(n night, nights int) {
	least := math.Inf(1)
	for _, v := range n.loss {
		least = min(least, v)
	}
	chosen, champion, challenger := n.loss[n.decision], n.loss[gate.Refuse], n.loss[gate.Promote]
	switch n.decision {
	case gate.Promote:
		r.promoted++
	case gate.Recalibrate:
		r.recalibrated++
	default:
		r.refused++
	}
	if challenger < champion {
		r.better++
	}
	if chosen > champion+material {
		r.wrongPromotion++
	}
	if n.decision == gate.Refuse && challenger < champion-material {
		r.wrongRefusal++
	}
	r.rule += (chosen - least) / float64(nights)
	r.always += (challenger - least) / float64(nights)
	r.never += (champion - least) / float64(nights)
}

func (w *world) simulate(t testing.TB, n, nights int, s []gate.Settings) []rates {
	t.Helper()
	out := make([]rates, len(s))
	for seed := range nights {
		for i, v := range w.night(t, n, s, uint64(seed)) {
			out[i].add(v, nights)
		}
	}
	return out
}

// TestRuleIsSeldomWrong bounds the rates of the default settings. The table of docs/results.md has more nights.
func TestRuleIsSeldomWrong(t *testing.T) {
	if os.Getenv("WARDCAST_LONG") == "" {
		t.Skip("it judges thousands of pairs: WARDCAST_LONG=1 runs it")
	}
	t.Parallel()
	const n, nights = 1000, 40
	for _, w := range worlds {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			r := w.simulate(t, n, nights, []gate.Settings{gate.Default()})[0]
			t.Logf("%+v", r)
			switch {
			case w.shuffled >= 0.75 && r.promoted > 0:
				t.Errorf("%d of %d challengers of shuffled outcomes were promoted", r.promoted, nights)
			case w.shuffled > 0 && r.promoted > nights/8:
				t.Errorf("%d of %d challengers of partly shuffled outcomes were promoted", r.promoted, nights)
			case w.drift >= 0.25 && r.promoted < nights*9/10:
				t.Errorf("%d of %d challengers were promoted after a strong drift", r.promoted, nights)
			case w.shift != 0 && r.refused > nights/10:
				t.Errorf("%d of %d champions were left at the old base rate", r.refused, nights)
			case r.rule > min(r.always, r.never)+material:
				t.Errorf("the rule costs %.5f, promoting always %.5f, never %.5f", r.rule, r.always, r.never)
			}
		})
	}
}

// BenchmarkTable prints the table of docs/results.md, in minutes:
//
//	go test ./models/gate -run '^$' -bench Table -benchtime 1x
func BenchmarkTable(b *testing.B) {
	margins := []float64{0, -1.645, -0.5, 0.5, 1, 1.645} // the default first
	settings := make([]gate.Settings, len(margins))
	for i, m := range margins {
		settings[i] = gate.Default()
		settings[i].Margin = m
	}
	for b.Loop() {
		for _, w := range worlds {
			for _, size := range []struct{ n, nights, margins int }{
				{300, 200, 1}, {1000, 200, len(margins)}, {4000, 40, 1},
			} {
				all := w.simulate(b, size.n, size.nights, settings[:size.margins])
				r := all[0]
				percent := func(n int) float64 { return 100 * float64(n) / float64(size.nights) }
				fmt.Printf("| %s | %d | %.0f | %.0f | %.0f | %.0f | %.1f | %.1f | %.1f | %.1f | %.1f |\n", w.name,
					size.n, percent(r.better),
					percent(r.promoted), percent(r.recalibrated), percent(r.refused), percent(r.wrongPromotion),
					percent(r.wrongRefusal), 1e4*r.rule, 1e4*r.always, 1e4*r.never)
				if size.margins == 1 {
					continue
				}
				for i, r := range all {
					fmt.Printf("%s, margin %g: cost %.1f, worse than the champion %.1f %%\n", w.name, margins[i],
						1e4*r.rule, percent(r.wrongPromotion))
				}
			}
		}
	}
}
