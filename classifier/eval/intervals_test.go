package eval_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/wardcast/wardcast/classifier/eval"
)

const (
	estimateTolerance = 1e-9
	curveTolerance    = 1e-6
)

type intervalCase struct {
	Y                    []int                 `json:"y"`
	P                    []float64             `json:"p"`
	Q                    []float64             `json:"q"`
	Groups               []int                 `json:"groups"`
	LogLoss              [2]float64            `json:"log_loss"`
	Knowledge            [2]float64            `json:"knowledge"`
	Brier                [2]float64            `json:"brier"`
	NetBenefit           [2]float64            `json:"net_benefit"`
	CalibrationIntercept [2]float64            `json:"calibration_intercept"`
	CalibrationSlope     [2]float64            `json:"calibration_slope"`
	Recalibration        [2]float64            `json:"recalibration"`
	LogLossDifference    [2]float64            `json:"log_loss_difference"`
	BrierDifference      [2]float64            `json:"brier_difference"`
	AUROCDifference      [2]float64            `json:"auroc_difference"`
	Curve                [][4]float64          `json:"curve"`
	CalibrationError     float64               `json:"calibration_error"`
	Wilson               map[string][3]float64 `json:"wilson"`
}

func (c *intervalCase) rows() (y []bool, groups []string) {
	for i, v := range c.Y {
		y, groups = append(y, v == 1), append(groups, strconv.Itoa(c.Groups[i]))
	}
	return y, groups
}

func TestIntervalsReference(t *testing.T) {
	t.Parallel()
	var cases map[string]intervalCase
	readJSON(t, "intervals.json", &cases)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y, groups := c.rows()
			near := func(name string, got, want, tolerance float64) {
				t.Helper()
				if !(math.Abs(got-want) <= tolerance) {
					t.Errorf("%s = %v, want %v", name, got, want)
				}
			}
			same := func(name string, got *eval.Estimate, want [2]float64) {
				t.Helper()
				if got == nil {
					t.Fatalf("no %s", name)
				}
				near(name, got.Value, want[0], estimateTolerance)
				near("standard error of "+name, got.StandardError, want[1], estimateTolerance)
				near("low end of "+name, got.Low, want[0]-1.959963984540054*want[1], estimateTolerance)
				near("high end of "+name, got.High, want[0]+1.959963984540054*want[1], estimateTolerance)
			}
			a, err := eval.Assess(y, c.P, groups)
			if err != nil {
				t.Fatal(err)
			}
			same("log loss", &a.LogLoss, c.LogLoss)
			same("knowledge", &a.Knowledge, c.Knowledge)
			same("Brier score", &a.Brier, c.Brier)
			same("calibration intercept", a.CalibrationIntercept, c.CalibrationIntercept)
			same("calibration slope", a.CalibrationSlope, c.CalibrationSlope)
			near("calibration error", *a.CalibrationError, c.CalibrationError, curveTolerance)

			d, err := eval.Compare(y, c.P, c.Q, groups)
			if err != nil {
				t.Fatal(err)
			}
			same("difference of log loss", &d.LogLoss, c.LogLossDifference)
			same("difference of Brier scores", &d.Brier, c.BrierDifference)
			same("difference of AUROC", d.AUROC, c.AUROCDifference)

			benefit, err := eval.DecisionIntervals(y, c.P, []float64{0.4}, groups)
			if err != nil {
				t.Fatal(err)
			}
			same("net benefit", &benefit[0].Model, c.NetBenefit)

			r, err := eval.FitRecalibration(y, c.P)
			if err != nil {
				t.Fatal(err)
			}
			near("intercept of the recalibration", r.Intercept, c.Recalibration[0], estimateTolerance)
			near("slope of the recalibration", r.Slope, c.Recalibration[1], estimateTolerance)

			curve, err := eval.SmoothCalibration(y, c.P, groups, len(c.Curve))
			if err != nil || len(curve) != len(c.Curve) {
				t.Fatalf("%d points, %v", len(curve), err)
			}
			for i, want := range c.Curve {
				near("place on the curve", curve[i].Predicted, want[0], tolerance)
				near("curve", curve[i].Observed, want[1], curveTolerance)
				near("low end of the curve", curve[i].Low, want[2], curveTolerance)
				near("high end of the curve", curve[i].High, want[3], curveTolerance)
			}

			// Without groups the intervals are Wilson's own.
			at, err := eval.AtThreshold(y, c.P, 0.4, nil)
			if err != nil {
				t.Fatal(err)
			}
			for name, got := range map[string]*eval.Estimate{
				"sensitivity": at.Sensitivity, "specificity": at.Specificity, "ppv": at.PPV, "npv": at.NPV,
			} {
				want := c.Wilson[name]
				near(name, got.Value, want[0], tolerance)
				near("low end of "+name, got.Low, want[1], estimateTolerance)
				near("high end of "+name, got.High, want[2], estimateTolerance)
			}
		})
	}
}

// TestRepeatsCountOnce: notes that are copied under the same patient change no value and no interval; copied under new
// names they would narrow them all.
func TestRepeatsCountOnce(t *testing.T) {
	t.Parallel()
	var cases map[string]intervalCase
	readJSON(t, "intervals.json", &cases)
	c := cases["once"]
	y, groups := c.rows()
	once, err := eval.Assess(y, c.P, groups)
	if err != nil {
		t.Fatal(err)
	}
	twice := func(v []float64) []float64 { return append(append([]float64{}, v...), v...) }
	both := append(append([]bool{}, y...), y...)
	same := append(append([]string{}, groups...), groups...)
	again, err := eval.Assess(both, twice(c.P), same)
	if err != nil {
		t.Fatal(err)
	}
	for name, pair := range map[string][2]*eval.Estimate{
		"log loss": {&once.LogLoss, &again.LogLoss}, "Brier": {&once.Brier, &again.Brier},
		"scaled Brier": {once.BrierScaled, again.BrierScaled},
		"AUROC":        {once.AUROC, again.AUROC}, "intercept": {once.CalibrationIntercept, again.CalibrationIntercept},
		"slope":                {once.CalibrationSlope, again.CalibrationSlope},
		"observed to expected": {once.ObservedExpected, again.ObservedExpected},
		"prevalence":           {&once.Prevalence, &again.Prevalence}, "AUPRC": {once.AUPRC, again.AUPRC},
	} {
		// The bootstrap draws other patients; of AUPRC only the width is compared, roughly.
		near := 1e-9
		if name == "AUPRC" {
			near = 0.02
		}
		if math.Abs(pair[0].Low-pair[1].Low) > near || math.Abs(pair[0].High-pair[1].High) > near {
			t.Errorf("%s: %+v once, %+v twice", name, *pair[0], *pair[1])
		}
	}
	at, err := eval.AtThreshold(both, twice(c.P), 0.4, same)
	if err != nil {
		t.Fatal(err)
	}
	if want, got := c.Wilson["sensitivity"], at.Sensitivity; math.Abs(got.Low-want[1]) > 1e-9 ||
		math.Abs(got.High-want[2]) > 1e-9 {
		t.Errorf("sensitivity %+v, want %v", *got, want)
	}
}

// TestIntervalsCover draws notes of patients who come again, and counts how often intervals hold the truth that a very
// large sample gives.
func TestIntervalsCover(t *testing.T) {
	t.Parallel()
	draw := func(patients int, seed uint64) (y []bool, p []float64, groups []string) {
		random := rand.New(rand.NewPCG(seed, 3))
		sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
		for patient := range patients {
			illness := random.NormFloat64()
			for range 1 + random.IntN(4) {
				x := 0.7*random.NormFloat64() + illness - 1
				y = append(y, random.Float64() < sigmoid(x))
				p = append(p, sigmoid(1.2*x+0.5*illness))
				groups = append(groups, strconv.Itoa(patient))
			}
		}
		return y, p, groups
	}
	measures := func(y []bool, p []float64, groups []string) map[string]*eval.Estimate {
		a, err := eval.Assess(y, p, groups)
		if err != nil {
			t.Fatal(err)
		}
		at, err := eval.AtThreshold(y, p, 0.3, groups)
		if err != nil {
			t.Fatal(err)
		}
		return map[string]*eval.Estimate{
			"AUROC": a.AUROC, "AUPRC": a.AUPRC, "log loss": &a.LogLoss, "Brier": &a.Brier,
			"scaled Brier": a.BrierScaled, "slope": a.CalibrationSlope,
			"intercept": a.CalibrationIntercept, "observed to expected": a.ObservedExpected,
			"prevalence": &a.Prevalence, "sensitivity": at.Sensitivity, "PPV": at.PPV,
		}
	}
	truth := measures(draw(60_000, 1))
	const samples = 300
	held := map[string]int{}
	for s := range samples {
		for name, e := range measures(draw(250, uint64(s)+10)) {
			if e.Low <= truth[name].Value && truth[name].Value <= e.High {
				held[name]++
			}
		}
	}
	// Of 300 intervals of 95 %, fewer than 270 or all hold the truth less than once in ten thousand times.
	for name, n := range held {
		if n < 270 || n == samples {
			t.Errorf("%s: %d of %d intervals hold the truth", name, n, samples)
		}
	}
	t.Log(held)
}

func TestAssessUndefined(t *testing.T) {
	t.Parallel()
	p := []float64{0.2, 0.4, 0.9}
	none, err := eval.Assess([]bool{false, false, false}, p, nil)
	if err != nil || none.AUROC != nil || none.AUPRC != nil || none.BrierScaled != nil ||
		none.CalibrationSlope != nil || none.ObservedExpected != nil {
		t.Errorf("%+v, %v", none, err)
	}
	parted, err := eval.Assess([]bool{false, false, true}, p, nil)
	if err != nil || parted.CalibrationSlope != nil || parted.CalibrationError != nil ||
		parted.CalibrationIntercept == nil {
		t.Errorf("%+v, %v", parted, err)
	}
	if curve, err := eval.SmoothCalibration([]bool{false, false, true}, p, nil, 5); err != nil || curve != nil {
		t.Errorf("%v, %v", curve, err)
	}
	if r, err := eval.FitRecalibration([]bool{true, true, true}, p); err != nil || r != nil {
		t.Errorf("%v, %v", r, err)
	}
	if _, err := eval.Assess([]bool{true, false, true}, p, []string{"a", "a", "a"}); err == nil {
		t.Error("one patient has an interval")
	}
}

// TestWilson holds the interval against values of R's binom package as binom.confint(…, methods = "wilson") defines
// them.
func TestWilson(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		share, n, low, high float64
	}{{0, 10, 0, 0.2775328}, {0.5, 10, 0.2365931, 0.7634069}, {1, 10, 0.7224672, 1}, {0, 0, 0, 1}} {
		if low, high := eval.Wilson(c.share, c.n); math.Abs(low-c.low) > 1e-6 || math.Abs(high-c.high) > 1e-6 {
			t.Errorf("Wilson(%v, %v) = %v, %v, want %v, %v", c.share, c.n, low, high, c.low, c.high)
		}
	}
}
