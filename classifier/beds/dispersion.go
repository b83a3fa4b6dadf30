package beds

import (
	"fmt"
	"math"
)

// Past is a forecast of all wards together that can be compared with what came.
type Past struct {
	Q        []float64 // Forecast.Q
	Mean     float64   // Forecast.Mean
	Observed Count
}

// The dispersions among which FitDispersion chooses. A k of 0 is that of a Poisson distribution.
var (
	sigmas = []float64{0, 0.1, 0.2, 0.3, 0.4}
	shapes = []float64{15, 30, 60, 120, 0}
)

// DispersionWindow is how many days of past forecasts the dispersion is fitted to.
const DispersionWindow = 70

const leastPast = 20 // the number of past forecasts below which the dispersion stays at its start

// FitDispersion returns the σ and k that maximise the summed log scores of the waiting, the coming and the total of
// past forecasts of one horizon: the total alone does not tell σ from k. c is Fit.Sensitivity. With fewer than 20
// forecasts it is σ = 0.2 and k = 60. On ties the first wins, in the order of σ and then of k. The error wraps
// ErrProbability.
func FitDispersion(past []Past, c float64) (Dispersion, error) {
	for i := range past {
		for _, q := range past[i].Q {
			if !(q >= 0 && q <= 1) {
				return Dispersion{}, fmt.Errorf("%w: past forecast %d", ErrProbability, i)
			}
		}
	}
	if len(past) < leastPast {
		return startDispersion, nil
	}
	losses := make([]float64, len(sigmas)*len(shapes))
	var x mixer
	for i := range past {
		for s, sigma := range sigmas {
			x.wait(past[i].Q, sigma)
			for k, shape := range shapes {
				x.come(past[i].Mean, c, Dispersion{sigma, shape})
				losses[s*len(shapes)+k] += x.loss(past[i].Observed)
			}
		}
	}
	best := 0
	for i, loss := range losses {
		if loss < losses[best] {
			best = i
		}
	}
	return Dispersion{sigmas[best/len(shapes)], shapes[best%len(shapes)]}, nil
}

// loss returns the summed log scores of the waiting, the coming and the total, convolving only what it needs.
func (x *mixer) loss(came Count) float64 {
	total := came.Waiting + came.Coming
	var waiting, coming, both float64
	for m, w := range nodeWeight {
		a, b := &x.waiting[m], &x.coming[m]
		waiting += w * a.At(came.Waiting)
		coming += w * b.At(came.Coming)
		for i, p := range a.P {
			both += w * p * b.At(total-a.Offset-i)
		}
	}
	var sum float64
	for _, p := range []float64{waiting, coming, both} {
		sum -= math.Log(max(p, leastProbability))
	}
	return sum
}
