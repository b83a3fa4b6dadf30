package beds

// The two forecasts that anybody can make without a model. History are the counts of the same hours on earlier days, the
// latest first.

// averageDays is how many days the average takes.
const averageDays = 42

// Average returns the forecast of the same-hour average: a negative binomial distribution with the mean and the variance of
// the last 42 counts, Poisson if the variance is not above the mean.
func Average(history []int) Distribution {
	history = history[:min(len(history), averageDays)]
	mean, variance := moments(history)
	k := 0.0
	if variance > mean {
		k = mean * mean / (variance - mean)
	}
	var d Distribution
	NegativeBinomialTo(&d, mean, Dispersion{K: k}.shape())
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

// SeasonalNaive returns the forecast of "as last week": the count of the same hours seven days ago, plus or minus the errors
// that such forecasts had on the days before, each equally probable. Counts below 0 are 0. It needs eight days or more of
// history, and is the count 0 for fewer.
func SeasonalNaive(history []int) Distribution {
	if len(history) <= week {
		return Distribution{P: []float64{1}}
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
	d := Distribution{Offset: least, P: make([]float64, most-least+1)}
	for k, c := range counts {
		d.P[k-least] = float64(c) / float64(n)
	}
	return d
}
