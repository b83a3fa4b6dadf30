package beds

import (
	"math"
	"slices"
)

// Distribution is the distribution of a number of beds:
//
//	P(count = Offset + i) = P[i]
//
// The sum of P is 1 less the chance of any other count, which is at most 1e-12: P is never scaled to a sum of 1. The
// methods are safe for concurrent use; the functions that fill a distribution reuse its memory.
type Distribution struct {
	Offset int
	P      []float64
	room   []float64 // that P is a part of
}

// negligible is the probability below which the ends of a distribution are dropped: 10,000 steps lose at most 2e-16.
const negligible = 1e-20

// PoissonBinomialTo stores in dst the distribution of the number of successes of independent trials with the
// probabilities p, each in [0,1], by adding one trial at a time:
//
//	v_k ← v_k·(1−p) + v_{k−1}·p
//
// on the range of k whose ends are not negligible. All terms are positive, so that each probability has a relative
// error of at most 4n·2⁻⁵³ apart from what is dropped, in all at most 2n·1e-20. The cost is O(n·width), about n√n. It
// allocates only if dst is too small. The order of p changes the result by rounding.
func PoissonBinomialTo(dst *Distribution, p []float64) {
	v := dst.grow(len(p) + 1)
	lo, hi, sure := 0, 0, 0
	v[0] = 1
	for _, p := range p {
		switch {
		case !(p > 0):
			continue
		case p >= 1:
			sure++
			continue
		}
		q, before := 1-p, 0.0
		w := v[lo : hi+1]
		for k, x := range w {
			w[k] = x*q + before*p
			before = x
		}
		hi++
		v[hi] = before * p
		for v[lo] < negligible {
			lo++
		}
		for v[hi] < negligible {
			hi--
		}
	}
	dst.Offset, dst.P = lo+sure, v[lo:hi+1]
}

// NegativeBinomialTo stores in dst the distribution of a count with the given mean and variance mean + mean²/k, the
// mixture of Poisson distributions over a gamma of shape k > 0: an infinite k gives the Poisson distribution, a mean of
// 0 or less the count 0. Terms are found from the mode outwards, each from the one before, until negligible.
func NegativeBinomialTo(dst *Distribution, mean, k float64) {
	v := dst.grow(0)
	if !(mean > 0) {
		v = append(v, 1)
		dst.Offset, dst.P, dst.room = 0, v, v
		return
	}
	// P(j+1)/P(j)
	ratio := func(j int) float64 { return mean / float64(j+1) }
	mode := math.Floor(mean)
	if !math.IsInf(k, 1) {
		success := mean / (mean + k)
		ratio = func(j int) float64 { return (float64(j) + k) / float64(j+1) * success }
		mode = max(0, math.Floor(mean*(k-1)/k))
	}
	j, x, sum := int(mode), 1.0, 0.0
	for x >= negligible {
		v, sum = append(v, x), sum+x
		if j == 0 {
			break
		}
		j--
		x /= ratio(j)
	}
	first := int(mode) - len(v) + 1
	slices.Reverse(v)
	j = int(mode)
	for x = ratio(j); x >= negligible; x *= ratio(j) {
		v, sum = append(v, x), sum+x
		j++
	}
	for i := range v {
		v[i] /= sum
	}
	dst.Offset, dst.P, dst.room = first, v, v
}

// ConvolveTo stores in dst, neither a nor b, the distribution of the sum of two independent counts.
func ConvolveTo(dst, a, b *Distribution) {
	v := dst.grow(len(a.P) + len(b.P) - 1)
	clear(v)
	for i, x := range a.P {
		w := v[i : i+len(b.P)]
		for j, y := range b.P {
			w[j] += x * y
		}
	}
	dst.Offset, dst.P = a.Offset+b.Offset, v
}

// MixTo stores in dst, no part itself, the distribution Σ weight_m·part_m of one part or more; weights sum to 1.
func MixTo(dst *Distribution, weights []float64, parts []Distribution) {
	first, end := math.MaxInt, 0
	for i := range parts {
		first, end = min(first, parts[i].Offset), max(end, parts[i].Offset+len(parts[i].P))
	}
	v := dst.grow(end - first)
	clear(v)
	for i := range parts {
		w := v[parts[i].Offset-first:]
		for j, x := range parts[i].P {
			w[j] += weights[i] * x
		}
	}
	dst.Offset, dst.P = first, v
}

// grow returns room for n probabilities, which may hold anything.
func (d *Distribution) grow(n int) []float64 {
	d.room = slices.Grow(d.room[:0], n)[:n]
	return d.room
}

// Mean returns the mean.
func (d *Distribution) Mean() float64 {
	var sum, mass float64
	for i, x := range d.P {
		sum, mass = sum+float64(i)*x, mass+x
	}
	return sum + float64(d.Offset)*mass
}

// At returns P(count = k).
func (d *Distribution) At(k int) float64 {
	if i := k - d.Offset; i >= 0 && i < len(d.P) {
		return d.P[i]
	}
	return 0
}

// CDF returns P(count ≤ k).
func (d *Distribution) CDF(k int) float64 {
	var sum float64
	for _, x := range d.P[:min(max(k-d.Offset+1, 0), len(d.P))] {
		sum += x
	}
	return sum
}

// Exceed returns P(count > k), summed from the small end.
func (d *Distribution) Exceed(k int) float64 {
	var sum float64
	for i := len(d.P) - 1; i >= max(k-d.Offset+1, 0); i-- {
		sum += d.P[i]
	}
	return sum
}

const quantileSlack = 1e-12 // keeps a quantile where it is when its probability is met up to rounding

// Quantile returns the least k with P(count ≤ k) ≥ a − 1e-12, or the largest count if there is none.
func (d *Distribution) Quantile(a float64) int {
	var sum float64
	for i, x := range d.P {
		if sum += x; sum >= a-quantileSlack {
			return d.Offset + i
		}
	}
	return d.Offset + len(d.P) - 1
}

// Trim returns the distribution without ends that hold at most the given mass together, half of it at either end, and
// the mass that it left out. It shares memory with d.
func (d *Distribution) Trim(mass float64) (trimmed Distribution, left float64) {
	lo, hi := 0, len(d.P)
	var low, high float64
	for lo < hi-1 && low+d.P[lo] <= mass/2 {
		low += d.P[lo]
		lo++
	}
	for lo < hi-1 && high+d.P[hi-1] <= mass/2 {
		high += d.P[hi-1]
		hi--
	}
	return Distribution{Offset: d.Offset + lo, P: d.P[lo:hi]}, low + high
}
