package classifier

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/wardcast/wardcast/classifier/bundle"
)

func TestCalibrateTo(t *testing.T) {
	t.Parallel()
	platt := bundle.Calibration{Kind: bundle.Platt, Slope: 2, Offsets: []float64{-1, 1}}
	for name, c := range map[string]struct {
		by      bundle.Calibration
		logOdds []float64
		want    []float64
	}{
		"all equal": {bundle.Calibration{}, []float64{0, 0}, []float64{1. / 3, 1. / 3, 1. / 3}},
		"none": {
			bundle.Calibration{}, []float64{math.Log(2), math.Log(5)}, []float64{1. / 8, 2. / 8, 5. / 8},
		},
		"platt": {
			platt, []float64{0.5 + math.Log(2)/2, -0.5 + math.Log(5)/2}, []float64{1. / 8, 2. / 8, 5. / 8},
		},
		"far above": {
			bundle.Calibration{}, []float64{1000, 999}, []float64{0, 1 / (1 + math.Exp(-1)), 1 / (1 + math.E)},
		},
		"far below":          {bundle.Calibration{}, []float64{-1000, -1e300}, []float64{1, 0, 0}},
		"overflow":           {platt, []float64{1e308, -1e308}, []float64{0, 1, 0}},
		"overflow, by all":   {platt, []float64{-1e308, -1e308}, []float64{1, 0, 0}},
		"overflow, together": {platt, []float64{1e308, 1e308}, []float64{0, 0.5, 0.5}},
	} {
		got := make([]float64, len(c.want))
		CalibrateTo(got, &c.by, c.logOdds)
		if !floats.EqualApprox(got, c.want, 1e-15) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// TestCalibrateToOfTwoClasses: a model of two named classes says what one of yes and no would, bit by bit.
func TestCalibrateToOfTwoClasses(t *testing.T) {
	t.Parallel()
	for _, c := range []bundle.Calibration{
		{Kind: bundle.Uncalibrated},
		{Kind: bundle.Platt, Slope: 0.8, Intercept: -0.1},
		{Kind: bundle.Isotonic, Logits: []float64{-2, 0, 1}, Probabilities: []float64{0.1, 0.1, 0.9}},
	} {
		for _, x := range []float64{-1000, -40, -1.3, 0, 0.7, 3, 40, 1000} {
			got := make([]float64, 2)
			CalibrateTo(got, &c, []float64{x})
			if want := Calibrate(&c, x); got[1] != want || math.Abs(got[0]-(1-want)) > 1e-15 {
				t.Errorf("%s of %v: got %v, want %v", c.Kind, x, got, want)
			}
		}
	}
}

// planted returns log-odds of κ+1 classes and labels that a slope and offsets drew.
func planted(random *rand.Rand, slope float64, offsets []float64) (*mat.Dense, []int) {
	const n = 3000
	kappa := len(offsets)
	logOdds, labels := mat.NewDense(n, kappa, nil), make([]int, n)
	p := make([]float64, kappa+1)
	for i := range n {
		for c := range kappa {
			logOdds.Set(i, c, 3*random.NormFloat64())
		}
		CalibrateTo(p, &bundle.Calibration{Kind: bundle.Platt, Slope: slope, Offsets: offsets}, logOdds.RawRowView(i))
		u := random.Float64()
		for labels[i] = 0; labels[i] < kappa && u >= p[labels[i]]; labels[i]++ {
			u -= p[labels[i]]
		}
	}
	return logOdds, labels
}

func fittedClasses(t fataler, logOdds *mat.Dense, labels []int) bundle.Calibration {
	t.Helper()
	c, err := FitClasses(bundle.Platt, logOdds, labels)
	if err != nil {
		t.Fatalf("fitting: %v", err)
	}
	if _, kappa := logOdds.Dims(); kappa > 1 {
		if err := checkCalibration(&c, kappa); err != nil {
			t.Fatalf("what was fitted is refused: %v", err)
		}
	}
	return c
}

// noSlope is where rounding decides whether a slope is cut to 0, at which the probabilities jump by up to 1/n.
const noSlope = 1e-6

// residuals are the sums over the rows of probability − target of each class but the reference, with the log-odds
// first, by formulas of their own.
func residuals(c *bundle.Calibration, logOdds *mat.Dense, labels []int) []float64 {
	n, kappa := logOdds.Dims()
	counts := make([]float64, kappa+1)
	for _, label := range labels {
		counts[label]++
	}
	sums := make([]float64, kappa+1)
	for i := range n {
		z := 1.0
		for d := range kappa {
			z += math.Exp(c.Slope*logOdds.At(i, d) + c.Offsets[d])
		}
		for d := range kappa {
			target := 1 / (counts[labels[i]] + float64(kappa) + 1)
			if labels[i] == d+1 {
				target *= counts[d+1] + 1
			}
			r := math.Exp(c.Slope*logOdds.At(i, d)+c.Offsets[d])/z - target
			sums[0] += r * logOdds.At(i, d)
			sums[d+1] += r
		}
	}
	return sums
}

// TestFitClassesStationary holds the fit against what drew the labels and against the equations that it solves.
func TestFitClassesStationary(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	want := []float64{-1, 0.5, 0}
	logOdds, labels := planted(random, 0.5, want)
	c := fittedClasses(t, logOdds, labels)
	if math.Abs(c.Slope-0.5) > 0.05 || !floats.EqualApprox(c.Offsets, want, 0.25) { // three standard errors
		t.Errorf("slope %v, offsets %v of a planted 0.5, %v", c.Slope, c.Offsets, want)
	}
	if sums := residuals(&c, logOdds, labels); floats.Norm(sums, math.Inf(1)) > 1e-6 {
		t.Errorf("the residuals sum to %v", sums)
	}
}

// TestFitPlattClassesOfTwo holds the fit of several classes against Platt's of yes and no, which has code of its own.
func TestFitPlattClassesOfTwo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		logit := rapid.OneOf(rapid.Map(rapid.IntRange(-4, 4), func(i int) float64 { return float64(i) }),
			rapid.Float64Range(-30, 30))
		logits := rapid.SliceOfN(logit, 1, 60).Draw(t, "logits")
		positive := rapid.SliceOfN(rapid.Bool(), len(logits), len(logits)).Draw(t, "positive")
		labels := make([]int, len(logits))
		for i, y := range positive {
			if y {
				labels[i] = 1
			}
		}
		logOdds := mat.NewDense(len(logits), 1, logits)
		want, got := fitPlatt(logits, positive), fitPlattClasses(logOdds, labels)
		for _, x := range logits {
			if min(got.Slope, want.Slope) < noSlope {
				break
			}
			p := make([]float64, 2)
			if CalibrateTo(p, &got, []float64{x}); math.Abs(p[1]-Calibrate(&want, x)) > 1e-7 {
				t.Fatalf("at %v: %v of %+v, %v of %+v", x, p[1], got, Calibrate(&want, x), want)
			}
		}
		if c := fittedClasses(t, logOdds, labels); c.Slope != want.Slope || c.Intercept != want.Intercept ||
			c.Offsets != nil {
			t.Fatalf("got %+v, want Platt's %+v", c, want)
		}
	})
}

func TestFitClassesProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kappa := rapid.IntRange(2, 4).Draw(t, "kappa")
		labels := rapid.SliceOfN(rapid.IntRange(0, kappa), 1, 40).Draw(t, "labels")
		value := rapid.OneOf(rapid.Map(rapid.IntRange(-4, 4), func(i int) float64 { return float64(i) }),
			rapid.Float64Range(-30, 30))
		logOdds := mat.NewDense(len(labels), kappa,
			rapid.SliceOfN(value, len(labels)*kappa, len(labels)*kappa).Draw(t, "log-odds"))
		c := fittedClasses(t, logOdds, labels)
		if sums := residuals(&c, logOdds, labels); c.Slope > 0 &&
			floats.Norm(sums, math.Inf(1)) > 1e-6*float64(len(labels)) {
			t.Fatalf("%+v: the residuals sum to %v", c, sums)
		}
		// The names of the classes are exchangeable, the reference's too.
		at := rapid.Permutation([]int{0, 1, 2, 3, 4}[:kappa+1]).Draw(t, "order") // class c becomes at[c]
		again, renamed := mat.NewDense(len(labels), kappa, nil), make([]int, len(labels))
		for i, label := range labels {
			renamed[i] = at[label]
			odds := append([]float64{0}, logOdds.RawRowView(i)...)
			for c, to := range at {
				if to > 0 {
					again.Set(i, to-1, odds[c]-odds[slices.Index(at, 0)])
				}
			}
		}
		other := fittedClasses(t, again, renamed)
		if min(c.Slope, other.Slope) < noSlope {
			return
		}
		p, q := make([]float64, kappa+1), make([]float64, kappa+1)
		for i := range labels {
			CalibrateTo(p, &c, logOdds.RawRowView(i))
			CalibrateTo(q, &other, again.RawRowView(i))
			for c, to := range at {
				if math.Abs(p[c]-q[to]) > 1e-6 {
					t.Fatalf("row %d: class %d has %v of %+v, and %v of %+v as class %d", i, c, p[c], c,
						q[to], other, to)
				}
			}
		}
	})
}

func TestFitClassesSpecialCases(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		logOdds []float64
		slope   func(float64) bool
	}{
		"all equal": {[]float64{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, func(a float64) bool { return a >= 0 }},
		"all zero":  {make([]float64, 12), func(a float64) bool { return a == 0 }},
		"separable": {
			[]float64{-3, -3, -3, -3, 3, -3, 3, -3, -3, 3, -3, 3}, func(a float64) bool { return a > 0.1 && a < 100 },
		},
		"against": {[]float64{3, 3, 3, 3, -3, 3, -3, 3, 3, -3, 3, -3}, func(a float64) bool { return a == 0 }},
		"far apart": {
			[]float64{-1e6, -1e6, -1e6, -1e6, 1e6, -1e6, 1e6, -1e6, -1e6, 1e6, -1e6, 1e6},
			func(a float64) bool { return a > 0 && a < 1 },
		},
	} {
		logOdds, labels := mat.NewDense(6, 2, c.logOdds), []int{0, 0, 1, 1, 2, 2}
		got := fittedClasses(t, logOdds, labels)
		if !c.slope(got.Slope) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	// Without anything to separate the rows each class has its smoothed share, and one without rows has one too.
	c := fittedClasses(t, mat.NewDense(4, 2, nil), []int{0, 0, 0, 1})
	p := make([]float64, 3)
	CalibrateTo(p, &c, []float64{0, 0})
	// Of three rows of class 0 and one of class 1: (3·4/6 + 1/4)/4, (3·1/6 + 2/4)/4, (3·1/6 + 1/4)/4.
	if want := []float64{9. / 16, 1. / 4, 3. / 16}; !floats.EqualApprox(p, want, 1e-9) {
		t.Errorf("nothing separates the rows: %v, want %v", p, want)
	}
}

func TestFitClassesRefuses(t *testing.T) {
	t.Parallel()
	two := mat.NewDense(2, 2, []float64{1, 2, 3, 4})
	for name, c := range map[string]struct {
		kind    bundle.CalibrationKind
		logOdds *mat.Dense
		labels  []int
	}{
		"kind":              {"magic", two, []int{0, 1}},
		"isotonic":          {bundle.Isotonic, two, []int{0, 1}},
		"no rows":           {bundle.Platt, &mat.Dense{}, nil},
		"uneven":            {bundle.Platt, two, []int{0}},
		"label above":       {bundle.Platt, two, []int{0, 3}},
		"label below":       {bundle.Platt, two, []int{-1, 0}},
		"NaN":               {bundle.Platt, mat.NewDense(1, 2, []float64{0, math.NaN()}), []int{0}},
		"infinite":          {bundle.Uncalibrated, mat.NewDense(1, 2, []float64{0, math.Inf(1)}), []int{0}},
		"label of yes/no":   {bundle.Platt, mat.NewDense(1, 1, nil), []int{2}},
		"kind of yes/no":    {"magic", mat.NewDense(1, 1, nil), []int{1}},
		"uneven yes/no":     {bundle.Isotonic, mat.NewDense(2, 1, nil), []int{1}},
		"NaN of yes and no": {bundle.Platt, mat.NewDense(1, 1, []float64{math.NaN()}), []int{1}},
	} {
		if got, err := FitClasses(c.kind, c.logOdds, c.labels); !errors.Is(err, ErrCalibration) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
	if c, err := FitClasses(bundle.Uncalibrated, two, []int{0, 2}); err != nil || c.Kind != bundle.Uncalibrated {
		t.Errorf("uncalibrated: got %v, %v", c, err)
	}
}
