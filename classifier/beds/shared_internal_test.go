package beds

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/integrate/quad"
)

func TestNodesAreGaussHermite(t *testing.T) {
	t.Parallel()
	var x, w [nodes]float64
	quad.Hermite{}.FixedLocations(x[:], w[:], math.Inf(-1), math.Inf(1))
	for m := range nodes {
		if math.Abs(nodeAt[m]-math.Sqrt2*x[m]) > 1e-13 || math.Abs(nodeWeight[m]-w[m]/math.Sqrt(math.Pi)) > 1e-14 {
			t.Errorf("node %d: %v with %v, want %v with %v", m, nodeAt[m], nodeWeight[m], math.Sqrt2*x[m],
				w[m]/math.Sqrt(math.Pi))
		}
	}
}

// TestMixingKeepsTheMeans: the shared error widens the distributions and moves none.
func TestMixingKeepsTheMeans(t *testing.T) {
	t.Parallel()
	q := []float64{0, 1e-9, 1e-4, .02, .3, .5, .5, .9, .999, 1 - 1e-12, 1}
	var sum float64
	for _, q := range q {
		sum += q
	}
	before := 0.0
	for _, sigma := range []float64{0, .1, .4, 2} {
		var x mixer
		x.mix(q, 7, .7, Dispersion{Sigma: sigma, K: 60})
		if got := x.allWaiting.Mean(); math.Abs(got-sum) > 1e-10 {
			t.Errorf("σ %v: mean %v of the waiting, want %v", sigma, got, sum)
		}
		if got := x.allComing.Mean(); math.Abs(got-7) > 1e-10 {
			t.Errorf("σ %v: mean %v of the coming", sigma, got)
		}
		if got := x.all.Mean(); math.Abs(got-sum-7) > 1e-10 {
			t.Errorf("σ %v: mean %v of all", sigma, got)
		}
		v := x.all.Variance()
		if v <= before || sigma > 0 && v <= x.allWaiting.Variance()+x.allComing.Variance() {
			t.Errorf("σ %v: variance %v, before %v", sigma, v, before)
		}
		before = v
	}
}

// Variance returns the variance.
func (d *Distribution) Variance() float64 {
	var sum float64
	mean := d.Mean() - float64(d.Offset)
	for i, x := range d.P {
		sum += (float64(i) - mean) * (float64(i) - mean) * x
	}
	return sum
}
