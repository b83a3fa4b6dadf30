package trial

import (
	"math"
	"testing"

	"github.com/wardcast/wardcast/classifier/beds"
)

// The two forecasts that anybody can make without a model. History are the counts of the same hours on earlier days,
// the latest first.

// averageDays is how many days the average takes.
const averageDays = 42

// sameHours returns the forecast of the same-hour average: a negative binomial distribution with the mean and the
// variance of the last 42 counts, Poisson if the variance is not above the mean.
func sameHours(history []int) beds.Distribution {
	history = history[:min(len(history), averageDays)]
	mean, variance := moments(history)
	k := math.Inf(1)
	if variance > mean {
		k = mean * mean / (variance - mean)
	}
	var d beds.Distribution
	beds.NegativeBinomialTo(&d, mean, k)
	return d
}

func moments(counts []int) (mean, variance float64) {
	for _, y := range counts {
		mean += float64(y)
	}
	n := float64(max(len(counts), 1))
	mean /= n
	for _, y := range counts {
		variance += (float64(y) - mean) * (float64(y) - mean)
	}
	return mean, variance / max(n-1, 1)
}

// week is the season of the naive forecast.
const week = 7

// lastWeek returns the forecast of "as last week": the count of the same hours seven days ago, plus or minus the errors
// that such forecasts had on the days before, each equally probable. Counts below 0 are 0. It needs eight days or more
// of history, and is the count 0 for fewer.
func lastWeek(history []int) beds.Distribution {
	if len(history) <= week {
		return beds.Distribution{P: []float64{1}}
	}
	last := history[week-1]
	counts := map[int]int{}
	n, most := 0, 0
	least := -1
	for i := 0; i+week < len(history) && i < averageDays; i++ {
		k := max(0, last+history[i]-history[i+week])
		counts[k]++
		n++
		most = max(most, k)
		if least < 0 || k < least {
			least = k
		}
	}
	d := beds.Distribution{Offset: least, P: make([]float64, most-least+1)}
	for k, c := range counts {
		d.P[k-least] = float64(c) / float64(n)
	}
	return d
}

func variance(d beds.Distribution) float64 {
	var square float64
	for i, x := range d.P {
		k := float64(d.Offset + i)
		square += k * k * x
	}
	return square - d.Mean()*d.Mean()
}

func TestBaselines(t *testing.T) {
	t.Parallel()
	history := []int{5, 9, 4, 8, 6, 7, 3, 5, 9, 4, 8, 6, 7, 3, 6}
	d := sameHours(history)
	if math.Abs(d.Mean()-6) > 1e-9 || math.Abs(variance(d)-6) > 1e-9 { // variance below the mean: Poisson
		t.Errorf("average: mean %v, variance %v", d.Mean(), variance(d))
	}
	wide := sameHours([]int{0, 20, 0, 20})
	if math.Abs(wide.Mean()-10) > 1e-9 || math.Abs(variance(wide)-400./3) > 1e-8 {
		t.Errorf("wide average: mean %v, variance %v", wide.Mean(), variance(wide))
	}
	// Seven days ago 3; errors of the eight days before: seven of 0, and 5−6... of the eighth.
	naive := lastWeek(history)
	if naive.Offset != 0 && naive.Offset != 2 || math.Abs(naive.CDF(99)-1) > 1e-12 || naive.At(3) != 7./8 {
		t.Errorf("naive: %+v", naive)
	}
	if few := lastWeek(history[:7]); few.At(0) != 1 {
		t.Errorf("naive of a week: %+v", few)
	}
}
