package beds

import (
	"cmp"
	"fmt"
	"math"
	"slices"
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
// past forecasts of one horizon; the total alone cannot separate σ from k. c is Fit.Sensitivity. With fewer than 20
// forecasts it returns σ = 0.2 and k = 60. Of equals the smallest σ, then the first k wins. The error wraps
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

// Dispersion says how much forecasts of one horizon spread beyond chance, by a shared error and by the days.
type Dispersion struct {
	Sigma float64 `json:"sigma"` // standard deviation of the shared error of the log-odds
	// K is the shape of the gamma that multiplies the arrivals of a day; 0 means that they do not vary beyond chance.
	K float64 `json:"k"`
}

// startDispersion is what forecasts begin with, until a site has some of its own.
var startDispersion = Dispersion{Sigma: 0.2, K: 60}

// Seven nodes and weights of the Gauss–Hermite quadrature for a standard normal variable: those of Abramowitz & Stegun
// 1964, table 25.10, times √2 and 1/√π.
const nodes = 7

var (
	nodeAt = [nodes]float64{
		-3.7504397177257425, -2.366759410734541, -1.1544053947399682, 0, 1.1544053947399682, 2.366759410734541,
		3.7504397177257425,
	}
	nodeWeight = [nodes]float64{
		0.000548268855972217, 0.03075712396758652, 0.2401231786050127, 0.45714285714285724,
		0.2401231786050127, 0.03075712396758652, 0.000548268855972217,
	}
)

// shiftTo stores in dst, for each node z, the probabilities σ(logit q + b + σz), n for each node one after another. The
// centre b of each patient is such that the mean over the nodes is q.
func shiftTo(dst, q []float64, sigma float64) {
	var factor [nodes]float64 // e^{σz}
	for m, z := range nodeAt {
		factor[m] = math.Exp(sigma * z)
	}
	n := len(q)
	for i, q := range q {
		if !(q > 0 && q < 1) {
			for m := range nodeAt {
				dst[m*n+i] = q
			}
			continue
		}
		odds := centre(q, &factor)
		for m, f := range factor {
			x := odds * f
			dst[m*n+i] = x / (1 + x)
		}
	}
}

// centre returns the odds o with Σ ω_m·o·f_m/(1 + o·f_m) = q, by Newton's method on its logarithm from q/(1−q), bounded
// to steps of 1. The sum increases with o.
func centre(q float64, factor *[nodes]float64) float64 {
	const most, enough = 30, 1e-14
	odds := q / (1 - q)
	for range most {
		var sum, slope float64
		for m, f := range factor {
			x := odds * f
			p := x / (1 + x)
			sum += nodeWeight[m] * p
			slope += nodeWeight[m] * p / (1 + x)
		}
		if math.Abs(sum-q) <= enough*q {
			break
		}
		odds *= math.Exp(min(max((q-sum)/slope, -1), 1))
	}
	return odds
}

// arrivalFactors returns e^{cσz} at each node, divided by their mean.
func arrivalFactors(sigma, c float64) (factor [nodes]float64) {
	var sum float64
	for m, z := range nodeAt {
		factor[m] = math.Exp(c * sigma * z)
		sum += nodeWeight[m] * factor[m]
	}
	for m := range factor {
		factor[m] /= sum
	}
	return factor
}

// mixer computes distributions of the waiting, of the coming and of both, and reuses its memory.
type mixer struct {
	probabilities              []float64
	waiting, coming, both      [nodes]Distribution
	allWaiting, allComing, all Distribution
}

// mix computes the distributions for admission probabilities q of the waiting and the mean of the coming, mixed over
// the shared error:
//
//	P = Σ_m ω_m · PoissonBinomial_m ∗ NegativeBinomial_m
//
// They stay until the next call. c is the sensitivity of the arrivals' admissions.
func (x *mixer) mix(q []float64, mean, c float64, d Dispersion) {
	x.wait(q, d.Sigma)
	x.come(mean, c, d)
	for m := range nodes {
		ConvolveTo(&x.both[m], &x.waiting[m], &x.coming[m])
	}
	MixTo(&x.allWaiting, nodeWeight[:], x.waiting[:])
	MixTo(&x.allComing, nodeWeight[:], x.coming[:])
	MixTo(&x.all, nodeWeight[:], x.both[:])
}

// wait computes the distribution of the waiting at each node.
func (x *mixer) wait(q []float64, sigma float64) {
	n := len(q)
	x.probabilities = slices.Grow(x.probabilities[:0], nodes*n)[:nodes*n]
	shiftTo(x.probabilities, q, sigma)
	for m := range nodes {
		PoissonBinomialTo(&x.waiting[m], x.probabilities[m*n:(m+1)*n])
	}
}

// come computes the distribution of the coming at each node.
func (x *mixer) come(mean, c float64, d Dispersion) {
	shape := cmp.Or(d.K, math.Inf(1))
	for m, factor := range arrivalFactors(d.Sigma, c) {
		NegativeBinomialTo(&x.coming[m], mean*factor, shape)
	}
}
