package beds_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/wardcast/wardcast/classifier/beds"
)

// probabilities are n of them, with a stated seed.
func probabilities(n int) []float64 {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	p := make([]float64, n)
	for i := range p {
		p[i] = r.Float64() * r.Float64()
	}
	return p
}

func poissonBinomial(p []float64) beds.Distribution {
	var d beds.Distribution
	beds.PoissonBinomialTo(&d, p)
	return d
}

func negativeBinomial(mean, k float64) beds.Distribution {
	var d beds.Distribution
	beds.NegativeBinomialTo(&d, mean, k)
	return d
}

// near fails where two distributions differ by more than the tolerance at any count.
func near(t *testing.T, what string, got, want beds.Distribution, tolerance float64) {
	t.Helper()
	for k := range max(got.Offset+len(got.P), want.Offset+len(want.P)) {
		if g, w := got.At(k), want.At(k); !(math.Abs(g-w) <= tolerance) {
			t.Fatalf("%s: P(%d) is %g, want %g", what, k, g, w)
		}
	}
}

// TestPoissonBinomialIsBinomial compares with the recurrence P(k+1) = P(k)·(n−k)/(k+1)·p/(1−p).
func TestPoissonBinomialIsBinomial(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n int
		p float64
	}{{1, .3}, {10, .5}, {60, .02}, {200, .31}} {
		want := beds.Distribution{P: []float64{math.Pow(1-c.p, float64(c.n))}}
		for k := range c.n {
			want.P = append(want.P, want.P[k]*float64(c.n-k)/float64(k+1)*c.p/(1-c.p))
		}
		near(t, "binomial", poissonBinomial(slices.Repeat([]float64{c.p}, c.n)), want, 1e-14)
	}
}

func TestPoissonBinomialOfTheSure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p      []float64
		offset int
		want   []float64
	}{
		{nil, 0, []float64{1}},
		{[]float64{0, 0}, 0, []float64{1}},
		{[]float64{1, 0, 1}, 2, []float64{1}},
		{[]float64{1, .5, 0, .5}, 1, []float64{.25, .5, .25}},
	} {
		if d := poissonBinomial(c.p); d.Offset != c.offset || !slices.Equal(d.P, c.want) {
			t.Errorf("%v: got %v", c.p, d)
		}
	}
}

func TestPoissonBinomialReversesUnderComplement(t *testing.T) {
	t.Parallel()
	p := probabilities(150)
	other := make([]float64, len(p))
	for i := range p {
		other[i] = 1 - p[i]
	}
	d, reversed := poissonBinomial(p), poissonBinomial(other)
	for k := range len(p) + 1 {
		if g, w := reversed.At(len(p)-k), d.At(k); math.Abs(g-w) > 1e-15 {
			t.Fatalf("P(%d) is %g, reversed %g", k, w, g)
		}
	}
}

func TestPoissonBinomialMoments(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 17, 300, 10000} {
		p := probabilities(n)
		var mean, variance float64
		for _, p := range p {
			mean, variance = mean+p, variance+p*(1-p)
		}
		d := poissonBinomial(p)
		if math.Abs(d.Mean()-mean) > 1e-10*max(1, mean) || math.Abs(d.Variance()-variance) > 1e-10*max(1, variance) {
			t.Errorf("n %d: mean %v and variance %v, want %v and %v", n, d.Mean(), d.Variance(), mean, variance)
		}
		if mass := d.CDF(n); math.Abs(mass-1) > 1e-12 {
			t.Errorf("n %d: probabilities sum to %v", n, mass)
		}
	}
}

// TestPoissonBinomialAgainstBigFloats compares with the same sums in 300 bits.
func TestPoissonBinomialAgainstBigFloats(t *testing.T) {
	t.Parallel()
	const n, bits = 300, 300
	p := probabilities(n)
	number := func(x float64) *big.Float { return new(big.Float).SetPrec(bits).SetFloat64(x) }
	v := []*big.Float{number(1)}
	for _, p := range p {
		next := make([]*big.Float, len(v)+1)
		for k := range next {
			next[k] = number(0)
			if k < len(v) {
				q := number(1)
				next[k].Mul(v[k], q.Sub(q, number(p)))
			}
			if k > 0 {
				x := number(p)
				next[k].Add(next[k], x.Mul(x, v[k-1]))
			}
		}
		v = next
	}
	d := poissonBinomial(p)
	var absolute, relative float64
	for k, want := range v {
		w, _ := want.Float64()
		difference := math.Abs(d.At(k) - w)
		absolute = max(absolute, difference)
		if w > 1e-4 { // below, what was trimmed counts
			relative = max(relative, difference/w)
		}
	}
	if absolute > 1e-15 || relative > 1e-13 {
		t.Errorf("differs by up to %g, relative to probabilities above 1e-4 by %g", absolute, relative)
	}
	t.Logf("largest difference %g, relative %g", absolute, relative)
}

func TestPoissonsAddUp(t *testing.T) {
	t.Parallel()
	a, b := negativeBinomial(3.7, math.Inf(1)), negativeBinomial(41, math.Inf(1))
	var sum beds.Distribution
	beds.ConvolveTo(&sum, &a, &b)
	near(t, "Poisson", sum, negativeBinomial(44.7, math.Inf(1)), 1e-15)
}

// TestNegativeBinomialsAddUp: with one success probability, shapes and means add.
func TestNegativeBinomialsAddUp(t *testing.T) {
	t.Parallel()
	a, b := negativeBinomial(6, 12), negativeBinomial(20, 40)
	var sum beds.Distribution
	beds.ConvolveTo(&sum, &a, &b)
	near(t, "negative binomial", sum, negativeBinomial(26, 52), 1e-15)
}

func TestNegativeBinomial(t *testing.T) {
	t.Parallel()
	near(t, "a large shape", negativeBinomial(9, 1e14), negativeBinomial(9, math.Inf(1)), 1e-13)
	near(t, "no mean", negativeBinomial(0, 5), beds.Distribution{P: []float64{1}}, 0)
	for _, c := range []struct{ mean, k float64 }{{.01, .5}, {.4, 60}, {12.5, 15}, {46, math.Inf(1)}, {2000, 30}} {
		d := negativeBinomial(c.mean, c.k)
		variance := c.mean + c.mean*c.mean/c.k
		if math.Abs(d.Mean()-c.mean) > 1e-10*max(1, c.mean) ||
			math.Abs(d.Variance()-variance) > 1e-10*max(1, variance) {
			t.Errorf("%+v: mean %v, variance %v, want %v", c, d.Mean(), d.Variance(), variance)
		}
	}
	// P(0) = (k/(μ+k))^k and P(1) = P(0)·kμ/(μ+k)
	d := negativeBinomial(2, 3)
	if math.Abs(d.At(0)-.216) > 1e-15 || math.Abs(d.At(1)-.2592) > 1e-15 {
		t.Errorf("got %v and %v", d.At(0), d.At(1))
	}
}

// TestFillingReusesMemory: what a distribution held does not show in what it holds next.
func TestFillingReusesMemory(t *testing.T) {
	t.Parallel()
	var d, sum, mixed beds.Distribution
	for _, n := range []int{200, 3, 40} {
		beds.PoissonBinomialTo(&d, probabilities(n))
		near(t, "Poisson-binomial", d, poissonBinomial(probabilities(n)), 0)
		arrivals := negativeBinomial(float64(n)/7, 30)
		beds.ConvolveTo(&sum, &d, &arrivals)
		beds.MixTo(&mixed, []float64{.25, .75}, []beds.Distribution{d, sum})
		if want := .25*d.Mean() + .75*(d.Mean()+arrivals.Mean()); math.Abs(mixed.Mean()-want) > 1e-10 {
			t.Errorf("mean %v, want %v", mixed.Mean(), want)
		}
	}
}

func TestQuantilesAndTails(t *testing.T) {
	t.Parallel()
	d := beds.Distribution{Offset: 3, P: []float64{.1, .4, .4, .1}}
	for a, want := range map[float64]int{0: 3, .1: 3, .100001: 4, .5: 4, .9: 5, .90001: 6, 1: 6} {
		if got := d.Quantile(a); got != want {
			t.Errorf("quantile %v: got %d, want %d", a, got, want)
		}
	}
	for k, want := range map[int]float64{-1: 1, 2: 1, 3: .9, 5: .1, 6: 0, 99: 0} {
		if got := d.Exceed(k); math.Abs(got-want) > 1e-15 || math.Abs(d.CDF(k)-(1-want)) > 1e-15 {
			t.Errorf("above %d: got %v, want %v", k, got, want)
		}
	}
	trimmed, left := d.Trim(.21)
	if trimmed.Offset != 4 || !slices.Equal(trimmed.P, []float64{.4, .4}) || math.Abs(left-.2) > 1e-15 {
		t.Errorf("trimmed to %v, left out %v", trimmed, left)
	}
}

func TestPoissonBinomialDoesNotAllocate(t *testing.T) {
	p := probabilities(1000)
	var d beds.Distribution
	beds.PoissonBinomialTo(&d, p)
	if got := testing.AllocsPerRun(10, func() { beds.PoissonBinomialTo(&d, p) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
}
