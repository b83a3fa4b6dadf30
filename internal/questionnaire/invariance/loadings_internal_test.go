package invariance

import (
	"slices"
	"testing"

	"github.com/wardcast/wardcast/internal/questionnaire"
)

// Intervals hold what is seen, also where all samples are on one side of it, and those of a congruence end at −1 and 1.
func TestIntervalsHoldWhatIsSeen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		seen    float64
		samples []float64
		want    questionnaire.Interval
	}{
		{0.9, []float64{0.7, 0.8}, questionnaire.Interval{Low: 0.9, High: 1}},
		{0.2, []float64{0.3, 0.6}, questionnaire.Interval{Low: -0.2, High: 0.2}},
		{-0.9, []float64{0.5, 0.5}, questionnaire.Interval{Low: -1, High: -0.9}},
	} {
		samples := slices.Repeat(c.samples, 100)
		if i := basic(c.seen, samples); i.Low > c.seen || i.High < c.seen || i.Low < -1 || i.High > 1 ||
			!near(i, c.want) {
			t.Errorf("basic interval of %v by samples of %v is %v, want %v", c.seen, c.samples, i, c.want)
		}
	}
}

func near(a, b questionnaire.Interval) bool {
	const rounding = 1e-12
	return max(a.Low-b.Low, b.Low-a.Low, a.High-b.High, b.High-a.High) < rounding
}

// A low congruence that is to be expected for groups of these sizes with the same factor is no evidence.
func TestReading(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		congruence, p float64
		want          string
	}{{0.96, 0.01, EqualFactor}, {0.9, 0.01, FairFactor}, {0.9, 0.5, FairFactor}, {0.8, 0.01, OtherFactor}, {
		0.66, 0.975, UnclearFactor,
	}} {
		if got := reading(c.congruence, c.p); got != c.want {
			t.Errorf("a congruence of %v with p %v reads %q, want %q", c.congruence, c.p, got, c.want)
		}
	}
}
