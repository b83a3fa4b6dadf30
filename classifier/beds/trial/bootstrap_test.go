package trial

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/wardcast/wardcast/classifier/beds"
)

// difference is the mean difference of a score between two forecasters on the same forecasts.
type difference struct {
	Mean float64 `json:"mean"` // of the first minus the second; below 0 the first is better
	Low  float64 `json:"low"`  // 95 % interval
	High float64 `json:"high"`
	P    float64 `json:"p"` // two-sided probability of such a difference if there were none
}

// blocks say how blockBootstrap draws.
type blocks struct {
	Days      int    // of a block; 0 means 7
	Resamples int    // 0 means 2000
	Seed      uint64 // equal seeds give equal intervals
}

// blockBootstrap returns the mean of daily differences with a percentile interval by moving blocks of days (Künsch
// 1989, Annals of Statistics 17): days next to each other have weather and staff in common. byDay holds the differences
// of each day in turn; days may have any number of them. P is twice the share of resampled means beyond 0, at least
// 2/(resamples+1). The error wraps beds.ErrArgument: fewer days than two blocks.
func blockBootstrap(byDay [][]float64, s blocks) (difference, error) {
	if s.Days == 0 {
		s.Days = 7
	}
	if s.Resamples == 0 {
		s.Resamples = 2000
	}
	if s.Days < 1 || s.Resamples < 1 || len(byDay) < 2*s.Days {
		return difference{}, fmt.Errorf("%w: blocks of %d days of %d, %d resamples", beds.ErrArgument, s.Days,
			len(byDay), s.Resamples)
	}
	sums, counts := make([]float64, len(byDay)), make([]float64, len(byDay))
	var sum, n float64
	for i, day := range byDay {
		for _, x := range day {
			sums[i] += x
		}
		counts[i] = float64(len(day))
		sum, n = sum+sums[i], n+counts[i]
	}
	d := difference{Mean: sum / n}
	r := rand.New(rand.NewPCG(s.Seed, 0))
	means := make([]float64, s.Resamples)
	below, above := 0, 0
	for b := range means {
		var sum, n float64
		for days := 0; days < len(byDay); {
			first := r.IntN(len(byDay) - s.Days + 1)
			for i := first; i < first+s.Days && days < len(byDay); i++ {
				sum, n = sum+sums[i], n+counts[i]
				days++
			}
		}
		means[b] = sum / n
		if means[b] <= 0 {
			below++
		}
		if means[b] >= 0 {
			above++
		}
	}
	slices.Sort(means)
	at := func(q float64) float64 { return means[int(math.Round(q*float64(len(means)-1)))] }
	d.Low, d.High = at(0.025), at(0.975)
	d.P = min(1, 2*float64(min(below, above)+1)/float64(s.Resamples+1))
	return d, nil
}

// holm returns probabilities corrected for having looked at all of them (Holm 1979, Scandinavian Journal of Statistics
// 6).
func holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case p[i] < p[j]:
			return -1
		case p[i] > p[j]:
			return 1
		}
		return 0
	})
	corrected := make([]float64, len(p))
	before := 0.0
	for rank, i := range order {
		before = max(before, min(1, float64(len(p)-rank)*p[i]))
		corrected[i] = before
	}
	return corrected
}

// TestBlockBootstrapCovers: intervals of the mean of days that depend on each other hold it about as often as they say,
// whereas single days would make them too narrow.
func TestBlockBootstrapCovers(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 5))
	covered, alone := 0, 0
	const runs = 200
	for range runs {
		x := 0.0
		var byDay [][]float64
		for range 200 {
			x = .6*x + r.NormFloat64()
			byDay = append(byDay, []float64{1 + x, 1 + x})
		}
		holds := func(days int) int {
			d, err := blockBootstrap(byDay, blocks{Days: days, Resamples: 300})
			if err != nil {
				t.Fatal(err)
			}
			if d.Low <= 1 && 1 <= d.High {
				return 1
			}
			return 0
		}
		covered += holds(0)
		alone += holds(1)
	}
	if covered < 165 || alone >= covered {
		t.Errorf("%d of %d intervals hold the mean, %d by single days", covered, runs, alone)
	}
	if _, err := blockBootstrap(make([][]float64, 13), blocks{}); !errors.Is(err, beds.ErrArgument) {
		t.Errorf("got %v", err)
	}
}

func TestHolm(t *testing.T) {
	t.Parallel()
	got := holm([]float64{.01, .04, .03, .005})
	for i, want := range []float64{.03, .06, .06, .02} {
		if math.Abs(got[i]-want) > 1e-15 {
			t.Errorf("got %v", got)
		}
	}
	if !slices.Equal(holm([]float64{.9, .8}), []float64{1, 1}) {
		t.Error("more than 1")
	}
}
