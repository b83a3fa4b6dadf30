package classifier

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/wardcast/wardcast/classifier/bundle"
)

func fitted(t fataler, kind bundle.CalibrationKind, logits []float64, positive []bool) bundle.Calibration {
	t.Helper()
	labels := make([]int, len(positive))
	for i, y := range positive {
		if y {
			labels[i] = 1
		}
	}
	c, err := FitClasses(kind, mat.NewDense(len(logits), 1, slices.Clone(logits)), labels)
	if err != nil {
		t.Fatalf("fitting: %v", err)
	}
	if err := checkCalibration(&c, 1); err != nil {
		t.Fatalf("what was fitted is refused: %v", err)
	}
	return c
}

func TestCalibrate(t *testing.T) {
	t.Parallel()
	none := bundle.Calibration{Kind: bundle.Uncalibrated}
	platt := bundle.Calibration{Kind: bundle.Platt, Slope: 2, Intercept: -1}
	points := bundle.Calibration{
		Kind: bundle.Isotonic, Logits: []float64{-1, 1, 2}, Probabilities: []float64{0.2, 0.4, 0.9},
	}
	one := bundle.Calibration{Kind: bundle.Isotonic, Logits: []float64{1}, Probabilities: []float64{0.3}}
	for _, c := range []struct {
		by          *bundle.Calibration
		logit, want float64
	}{
		{&none, 0, 0.5},
		{&none, math.Log(3), 0.75},
		{&none, 1000, 1},
		{&none, -1000, 0},
		{&none, math.Inf(-1), 0},
		{&platt, 0.5, 0.5},
		{&platt, 0.5 + math.Log(3)/2, 0.75},
		{&points, -5, 0.2},
		{&points, -1, 0.2},
		{&points, 0, 0.3},
		{&points, 1, 0.4},
		{&points, 1.5, 0.65},
		{&points, 2, 0.9},
		{&points, 5, 0.9},
		{&one, 0, 0.3},
		{&one, 1, 0.3},
		{&one, 2, 0.3},
	} {
		if got := Calibrate(c.by, c.logit); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("%s of %v: got %v, want %v", c.by.Kind, c.logit, got, c.want)
		}
	}
}

func TestFitIsotonicKnown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		logits                []float64
		positive              []bool
		points, probabilities []float64
	}{
		"one violation": {[]float64{1, 2, 3, 4}, []bool{false, true, false, true}, []float64{1, 2.5, 4}, []float64{
			1. / 6, 0.5, 5. / 6,
		}},
		"in any order": {[]float64{4, 2, 3, 1}, []bool{true, true, false, false}, []float64{1, 2.5, 4}, []float64{
			1. / 6, 0.5, 5. / 6,
		}},
		"all against":  {[]float64{1, 2, 3, 4}, []bool{true, true, false, false}, []float64{2.5}, []float64{0.5}},
		"equal logits": {[]float64{2, 2, 2, 2}, []bool{true, false, false, false}, []float64{2}, []float64{0.25}},
		"ties, then more": {
			[]float64{0, 1, 1, 2}, []bool{false, true, false, true}, []float64{0, 1, 2}, []float64{1. / 6, 0.5, 5. / 6},
		},
		"ties that pool": {[]float64{0, 0, 1, 1}, []bool{true, true, true, false}, []float64{0.5}, []float64{0.75}},
		"separable": {
			[]float64{-1, -1, 1, 1}, []bool{false, false, true, true}, []float64{-1, 1}, []float64{1. / 6, 5. / 6},
		},
		"chain of pooling": {[]float64{
			1, 2, 3, 4, 5,
		}, []bool{false, true, true, false, false}, []float64{1, 3.5}, []float64{1. / 7, 0.5}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := fitted(t, bundle.Isotonic, c.logits, c.positive)
			want := bundle.Calibration{Kind: bundle.Isotonic, Logits: c.points, Probabilities: c.probabilities}
			if d := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-15)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestFitPlattStationary holds the fit against the equations it solves: the residuals to the smoothed targets, and
// their products with the logits, sum to 0.
func TestFitPlattStationary(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var logits []float64
	var positive []bool
	for range 400 {
		x := 3 * random.NormFloat64()
		logits, positive = append(logits, x), append(positive, random.Float64() < sigmoid(0.5*x-1))
	}
	c := fitted(t, bundle.Platt, logits, positive)
	if math.Abs(c.Slope-0.5) > 0.15 || math.Abs(c.Intercept+1) > 0.4 { // three standard errors
		t.Errorf("slope %v, intercept %v of a planted 0.5, -1", c.Slope, c.Intercept)
	}
	var sum, product float64
	high, low := targets(positive)
	for i, x := range logits {
		r := Calibrate(&c, x) - low
		if positive[i] {
			r += low - high
		}
		sum += r
		product += r * x
	}
	if math.Abs(sum) > 1e-6 || math.Abs(product) > 1e-6 {
		t.Errorf("residuals sum to %v, with the logits to %v", sum, product)
	}
}

// targets are Platt's smoothed targets of the positive and the negative rows.
func targets(positive []bool) (high, low float64) {
	var n1, n0 float64
	for _, y := range positive {
		if y {
			n1++
		} else {
			n0++
		}
	}
	return (n1 + 1) / (n1 + 2), 1 / (n0 + 2)
}

func TestFitPlattSpecialCases(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		logits   []float64
		positive []bool
		slope    func(float64) bool
	}{
		"all logits equal": {
			[]float64{2, 2, 2, 2}, []bool{true, false, false, false}, func(a float64) bool { return a >= 0 },
		},
		"all zero": {[]float64{0, 0, 0, 0}, []bool{true, false, true, false}, func(a float64) bool { return a == 0 }},
		"separable": {
			[]float64{-2, -1, 1, 2}, []bool{false, false, true, true}, func(a float64) bool { return a > 0 && a < 100 },
		},
		"against": {
			[]float64{-2, -1, 1, 2}, []bool{true, true, false, false}, func(a float64) bool { return a == 0 },
		},
		"far apart": {[]float64{-1e6, 1e6}, []bool{false, true}, func(a float64) bool { return a > 0 && a < 1 }},
		"one class": {[]float64{1, 2, 3}, []bool{true, true, true}, func(a float64) bool { return a >= 0 && a < 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := fitted(t, bundle.Platt, c.logits, c.positive)
			if !c.slope(got.Slope) {
				t.Errorf("slope %v, intercept %v", got.Slope, got.Intercept)
			}
		})
	}
	// Without anything to separate the rows the probability is that of the smoothed counts.
	c := fitted(t, bundle.Platt, []float64{2, 2, 2, 2}, []bool{true, false, false, false})
	if got, want := Calibrate(&c, 2), 2./6; math.Abs(got-want) > 1e-9 {
		t.Errorf("all logits equal: %v, want %v", got, want)
	}
}

func TestFitUncalibrated(t *testing.T) {
	t.Parallel()
	c := fitted(t, bundle.Uncalibrated, []float64{1}, []bool{true})
	if got := Calibrate(&c, 0.3); got != sigmoid(0.3) {
		t.Errorf("got %v", got)
	}
}

func TestFitCalibrationProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]bundle.CalibrationKind{bundle.Platt, bundle.Isotonic}).Draw(t, "kind")
		// Few distinct logits tie often.
		logit := rapid.OneOf(rapid.Map(rapid.IntRange(-4, 4), func(i int) float64 { return float64(i) }),
			rapid.Float64Range(-30, 30))
		logits := rapid.SliceOfN(logit, 1, 60).Draw(t, "logits")
		positive := rapid.SliceOfN(rapid.Bool(), len(logits), len(logits)).Draw(t, "positive")
		c := fitted(t, kind, logits, positive)

		at := slices.Sorted(slices.Values(append([]float64{-1e9, -31, 0, 31, 1e9}, logits...)))
		last := 0.0
		for _, x := range at {
			p := Calibrate(&c, x)
			if !(p >= last-1e-15 && p <= 1) {
				t.Fatalf("%v at %v, after %v: %+v", p, x, last, c)
			}
			last = p
		}
		if kind == bundle.Platt {
			var sum, want float64
			high, low := targets(positive)
			for i, x := range logits {
				sum += Calibrate(&c, x)
				if want += low; positive[i] {
					want += high - low
				}
			}
			// A fit whose slope was cut to 0 answers (n₊+1)/(n+2), by which the targets' mean is missed by at most 1/n.
			bound := 1e-6 * float64(len(logits))
			if c.Slope == 0 {
				bound = 1
			}
			if math.Abs(sum-want) > bound {
				t.Fatalf("probabilities sum to %v, targets to %v: %+v", sum, want, c)
			}
			return
		}
		edge := 1 / float64(len(logits)+2)
		for i, p := range c.Probabilities {
			if p < edge || p > 1-edge || i > 0 && p < c.Probabilities[i-1] {
				t.Fatalf("point %d of %v", i, c.Probabilities)
			}
		}
	})
}

// TestFitIsotonicKeepsPrevalence shows how closely: each pool's points keep its mean but for the lines between the
// means of neighbouring pools.
func TestFitIsotonicKeepsPrevalence(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	var logits []float64
	var positive []bool
	var want, got float64
	for range 1000 {
		x := random.NormFloat64()
		y := random.Float64() < sigmoid(2*x-0.5)
		logits, positive = append(logits, x), append(positive, y)
		if y {
			want++
		}
	}
	c := fitted(t, bundle.Isotonic, logits, positive)
	for _, x := range logits {
		got += Calibrate(&c, x)
	}
	if math.Abs(got-want) > 0.01*float64(len(logits)) {
		t.Errorf("probabilities sum to %v, %v are positive", got, want)
	}
}
