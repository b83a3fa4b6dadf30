package beds

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Difference is the mean difference of a score between two forecasters on the same forecasts.
type Difference struct {
	Mean float64 `json:"mean"` // of the first minus the second; below 0 the first is better
	Low  float64 `json:"low"`  // 95 % interval
	High float64 `json:"high"`
	P    float64 `json:"p"` // two-sided probability of such a difference if there were none
}

// BlockSettings say how BlockBootstrap draws.
type BlockSettings struct {
	Days      int    // of a block; 0 means 7
	Resamples int    // 0 means 2000
	Seed      uint64 // equal seeds give equal intervals
}

// BlockBootstrap returns the mean of daily differences with a percentile interval by moving blocks of days (Künsch 1989,
// Annals of Statistics 17): days next to each other have weather and staff in common. byDay holds the differences of each
// day in turn; days may have any number of them. P is twice the share of resampled means beyond 0, at least 2/(resamples+1).
// The error wraps ErrArgument: fewer days than two blocks.
func BlockBootstrap(byDay [][]float64, s BlockSettings) (Difference, error) {
	if s.Days == 0 {
		s.Days = 7
	}
	if s.Resamples == 0 {
		s.Resamples = 2000
	}
	if s.Days < 1 || s.Resamples < 1 || len(byDay) < 2*s.Days {
		return Difference{}, fmt.Errorf("%w: blocks of %d days of %d, %d resamples", ErrArgument, s.Days, len(byDay), s.Resamples)
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
	d := Difference{Mean: sum / n}
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

// Holm returns probabilities corrected for having looked at all of them (Holm 1979, Scandinavian Journal of Statistics 6).
func Holm(p []float64) []float64 {
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
