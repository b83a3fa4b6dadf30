package beds_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/wardcast/wardcast/classifier/beds"
)

func TestScoresByHand(t *testing.T) {
	t.Parallel()
	d := beds.Distribution{Offset: 2, P: []float64{.25, .5, .25}}
	s := beds.Score(&d, 3)
	// F is .25, .75, 1 at 2, 3, 4: .25² + (.75−1)².
	if math.Abs(s.CRPS-.125) > 1e-15 || math.Abs(s.Log-math.Log(2)) > 1e-15 || s.Error != 0 ||
		s.PIT != [2]float64{.25, .75} || !s.Covered80 || s.Width80 != 2 || s.PITMass() != 1 {
		t.Errorf("got %+v", s)
	}
	// (0+..): k = 2 and 3 and 4 have F of .25, .75 and 1, k = 5 has 1; y is 6.
	if got := beds.Score(&d, 6).CRPS; math.Abs(got-(.0625+.5625+1+1)) > 1e-15 {
		t.Errorf("CRPS of a count above all: %v", got)
	}
	if got := beds.Score(&d, 0).CRPS; math.Abs(got-(1+1+.5625+.0625)) > 1e-15 {
		t.Errorf("CRPS of a count below all: %v", got)
	}
	if s := beds.Score(&d, 2); math.Abs(s.PITMass()-.6) > 1e-15 {
		t.Errorf("PIT mass %v, want .15/.25", s.PITMass())
	}
}

// drawFrom draws counts from a distribution.
func drawFrom(r *rand.Rand, d *beds.Distribution) int {
	u, sum := r.Float64(), 0.0
	for i, p := range d.P {
		if sum += p; u < sum {
			return d.Offset + i
		}
	}
	return d.Offset + len(d.P) - 1
}

// TestRightForecasts: of counts that come from their forecasts, even small ones, the PIT mass is .80, closed intervals
// hold more, and all bins are equal. Forecasts that are too narrow show in it.
func TestRightForecasts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var right, narrow []beds.Scores
	var y []int
	const n = 4000
	for range n {
		mean := .3 + 3*r.Float64()
		truth, poisson := negativeBinomial(mean, 2), negativeBinomial(mean, math.Inf(1))
		y = append(y, drawFrom(r, &truth))
		right, narrow = append(right, beds.Score(&truth, y[len(y)-1])),
			append(narrow, beds.Score(&poisson, y[len(y)-1]))
	}
	m := beds.Measure(right, y)
	if math.Abs(m.PITMass-.8) > .012 || m.Covered80 < .85 || math.Abs(m.Bias) > .1 {
		t.Errorf("right: %+v", m)
	}
	if c := beds.Calibrated(right); !c.Calibrated || c.N != 200 {
		t.Errorf("right: %+v", c)
	}
	other := beds.Measure(narrow, y)
	if other.PITMass > .75 || other.CRPS <= m.CRPS || other.Log <= m.Log {
		t.Errorf("too narrow: %+v, right %+v", other, m)
	}
	if beds.Calibrated(right[:199]).Calibrated {
		t.Error("199 forecasts are enough")
	}
}

// TestFitDispersionFindsWhatMadeTheCounts: among its grid.
func TestFitDispersionFindsWhatMadeTheCounts(t *testing.T) {
	t.Parallel()
	for _, want := range []beds.Dispersion{{Sigma: .4, K: 0}, {Sigma: 0, K: 15}, {Sigma: 0, K: 0}} {
		r := rand.New(rand.NewPCG(8, 9))
		var past []beds.Past
		for range 250 {
			p := beds.Past{Mean: 20 + 10*r.Float64()}
			z, arrivals := r.NormFloat64(), 1.0
			if want.K > 0 { // k is an integer here
				arrivals = 0
				for range int(want.K) {
					arrivals += r.ExpFloat64() / want.K
				}
			}
			for range 60 {
				q := .1 + .6*r.Float64()
				p.Q = append(p.Q, q)
				if r.Float64() < 1/(1+(1-q)/q*math.Exp(-want.Sigma*z)) {
					p.Observed.Waiting++
				}
			}
			poisson := negativeBinomial(p.Mean*arrivals*math.Exp(.7*want.Sigma*z), math.Inf(1))
			p.Observed.Coming = drawFrom(r, &poisson)
			past = append(past, p)
		}
		got, err := beds.FitDispersion(past, .7)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got.Sigma-want.Sigma) > .11 || want.K == 15 && got.K != 15 ||
			want.K == 0 && got.K != 0 && got.K < 60 {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	got, err := beds.FitDispersion(nil, .7)
	if err != nil || got != (beds.Dispersion{Sigma: .2, K: 60}) {
		t.Errorf("without forecasts: %+v, %v", got, err)
	}
	if _, err := beds.FitDispersion([]beds.Past{{Q: []float64{1.1}}}, .7); !errors.Is(err, beds.ErrProbability) {
		t.Errorf("got %v", err)
	}
}
