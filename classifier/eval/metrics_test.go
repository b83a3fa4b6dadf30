package eval_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/wardcast/wardcast/classifier/eval"
)

// sample draws outcomes of both classes with probabilities that often tie.
func sample(t *rapid.T) (y []bool, p []float64) {
	n := rapid.IntRange(2, 60).Draw(t, "n")
	y = rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "y")
	y[0], y[1] = true, false
	for range n {
		p = append(p, float64(rapid.IntRange(0, 20).Draw(t, "p"))/20)
	}
	return y, p
}

func TestThresholdTies(t *testing.T) {
	t.Parallel()
	y, p := []bool{true, false, true, false}, []float64{0.5, 0.5, 0.4, 0.1}
	m, err := eval.Measure(y, p, 0.5, nil)
	if err != nil {
		t.Fatal(err)
	}
	// p = threshold is called positive: one hit, one false alarm, one miss, one right rejection.
	want := eval.Metrics{
		N: 4, Positives: 2, Prevalence: 0.5, Threshold: 0.5, Accuracy: 0.5,
		Sensitivity: new(0.5), Specificity: new(0.5), PPV: new(0.5), NPV: new(0.5),
	}
	ignored := cmpopts.IgnoreFields(eval.Metrics{}, "AUROC", "AUROCInterval", "AUPRC", "Brier", "BrierScaled",
		"LogLoss", "CalibrationIntercept", "CalibrationSlope", "ObservedExpected")
	if diff := cmp.Diff(want, m, ignored); diff != "" {
		t.Error(diff)
	}
	// Pairs: (.5,.5) ½, (.5,.1) 1, (.4,.5) 0, (.4,.1) 1.
	if *m.AUROC != 2.5/4 {
		t.Errorf("AUROC = %v, want %v", *m.AUROC, 2.5/4)
	}
	// At .5: precision ½, recall ½; at .4: ⅔ and 1.
	if want := 0.5*0.5 + 0.5*2/3; math.Abs(*m.AUPRC-want) > tolerance {
		t.Errorf("AUPRC = %v, want %v", *m.AUPRC, want)
	}
}

func TestDegenerate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		y    []bool
		p    []float64
		want string
	}{
		{"one class positive", []bool{true, true}, []float64{0.25, 0.75}, `{"n":2,"positives":2,"prevalence":1,` +
			`"threshold":0.5,"accuracy":0.5,"sensitivity":0.5,"ppv":1,"npv":0,"auprc":1,"brier":0.3125,` +
			`"log_loss":0.8369882167858358,"observed_expected":2}`},
		{"one class negative", []bool{false}, []float64{0}, `{"n":1,"positives":0,"prevalence":0,"threshold":0.5,` +
			`"accuracy":1,"specificity":1,"npv":1,"brier":0,"log_loss":2.220446049250313e-16}`},
		{"constant", []bool{true, false}, []float64{0.5, 0.5}, `{"n":2,"positives":1,"prevalence":0.5,` +
			`"threshold":0.5,"accuracy":0.5,"sensitivity":1,"specificity":0,"ppv":0.5,"auroc":0.5,"auprc":0.5,` +
			`"brier":0.25,"brier_scaled":0,"log_loss":0.6931471805599453,"calibration_intercept":0,` +
			`"observed_expected":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m, err := eval.Measure(c.y, c.p, 0.5, nil)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			var got, want map[string]float64
			if err := errors.Join(json.Unmarshal(raw, &got), json.Unmarshal([]byte(c.want), &want)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, tolerance)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSeparated(t *testing.T) {
	t.Parallel()
	m, err := eval.Measure([]bool{true, true, false, false}, []float64{1, 1, 0, 0}, 0.5, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&eval.Interval{Low: 1, High: 1}, m.AUROCInterval); diff != "" {
		t.Error(diff)
	}
	if m.CalibrationSlope != nil {
		t.Errorf("slope = %v of separated classes, want none", *m.CalibrationSlope)
	}
	if _, err := json.Marshal(m); err != nil {
		t.Error(err)
	}
}

func TestInputErrors(t *testing.T) {
	t.Parallel()
	y, p := []bool{true, false}, []float64{0.5, 0.25}
	call := map[string]struct {
		f    func() error
		want error
	}{
		"empty":   {func() error { _, err := eval.Measure(nil, nil, 0.5, nil); return err }, eval.ErrShape},
		"lengths": {func() error { _, err := eval.Measure(y, p[:1], 0.5, nil); return err }, eval.ErrShape},
		"groups":  {func() error { _, err := eval.Measure(y, p, 0.5, []string{"a"}); return err }, eval.ErrShape},
		"NaN": {
			func() error { _, err := eval.Measure(y, []float64{0, math.NaN()}, 0.5, nil); return err },
			eval.ErrProbability,
		},
		"above 1": {
			func() error { _, err := eval.Measure(y, []float64{0, 1.5}, 0.5, nil); return err }, eval.ErrProbability,
		},
		"threshold": {func() error { _, err := eval.Measure(y, p, math.NaN(), nil); return err }, eval.ErrArgument},
		"auroc":     {func() error { _, _, err := eval.AUROC(y[:1], p[:1], nil); return err }, eval.ErrOneClass},
		"bins":      {func() error { _, err := eval.CalibrationBins(y, p, 0); return err }, eval.ErrArgument},
		"criterion": {func() error { _, err := eval.ChooseThreshold(y, p, "f1"); return err }, eval.ErrArgument},
		"youden": {
			func() error { _, err := eval.ChooseThreshold(y[:1], p[:1], eval.MaxYouden); return err }, eval.ErrOneClass,
		},
		"curve": {
			func() error { _, err := eval.DecisionIntervals(y, p, []float64{1}, nil); return err }, eval.ErrArgument,
		},
		"one fold":   {func() error { _, err := eval.StratifiedFolds(y, nil, 1, 1); return err }, eval.ErrArgument},
		"many folds": {func() error { _, err := eval.StratifiedFolds(y, nil, 3, 1); return err }, eval.ErrArgument},
		"fold class": {
			func() error { _, err := eval.StratifiedFolds([]bool{true, true}, nil, 2, 1); return err },
			eval.ErrOneClass,
		},
		"fold groups": {
			func() error { _, err := eval.StratifiedFolds(y, []string{"a"}, 2, 1); return err }, eval.ErrShape,
		},
	}
	for name, c := range call {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := c.f(); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

// TestAUROCNaive compares with the definition over all pairs and DeLong's variance from its structural components.
func TestAUROCNaive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		y, p := sample(t)
		kernel := func(a, b float64) float64 {
			switch {
			case a > b:
				return 1
			case a == b:
				return 0.5
			}
			return 0
		}
		var positives, negatives []float64
		for i, v := range p {
			if y[i] {
				positives = append(positives, v)
			} else {
				negatives = append(negatives, v)
			}
		}
		var want float64
		v10, v01 := make([]float64, len(positives)), make([]float64, len(negatives))
		for a, x := range positives {
			for b, z := range negatives {
				k := kernel(x, z)
				want += k / float64(len(positives)*len(negatives))
				v10[a] += k / float64(len(negatives))
				v01[b] += k / float64(len(positives))
			}
		}
		got, interval, err := eval.AUROC(y, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got-want) > tolerance {
			t.Fatalf("AUROC = %v, want %v", got, want)
		}
		if len(positives) < 2 || len(negatives) < 2 {
			if interval != nil {
				t.Fatalf("interval %v from one row of a class", *interval)
			}
			return
		}
		variance := func(v []float64) (s float64) {
			for _, x := range v {
				s += (x - want) * (x - want) / float64(len(v)-1) / float64(len(v))
			}
			return s
		}
		half := 1.959963984540054 * math.Sqrt(variance(v10)+variance(v01))
		wanted := eval.Interval{Low: max(0, want-half), High: min(1, want+half)}
		// A root of a variance of 0 up to rounding is 1e-8.
		if !cmp.Equal(wanted, *interval, cmpopts.EquateApprox(0, 1e-7)) {
			t.Fatalf("interval %v, want %v", *interval, wanted)
		}
	})
}

// TestClusters: rows repeated within their patient add no information.
func TestClusters(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		y, p := sample(t)
		names := make([]string, len(y))
		for i := range names {
			names[i] = strconv.Itoa(i)
		}
		_, single, err := eval.AUROC(y, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, grouped, err := eval.AUROC(append(y, y...), append(p, p...), append(names, names...))
		if err != nil {
			t.Fatal(err)
		}
		if !cmp.Equal(single, grouped, cmpopts.EquateApprox(0, 1e-7)) {
			t.Fatalf("interval %v of repeated rows, want %v", grouped, single)
		}
	})
}

func TestRankInvariance(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		y, p := sample(t)
		turned, flipped := make([]float64, len(p)), make([]bool, len(p))
		for i, v := range p {
			turned[i], flipped[i] = 1-v, !y[i]
		}
		a, _, err := eval.AUROC(y, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, other := range map[string]struct {
			y    []bool
			want float64
		}{"reversed": {y, 1 - a}, "reversed and relabelled": {flipped, a}} {
			b, _, err := eval.AUROC(other.y, turned, nil)
			if err != nil || math.Abs(b-other.want) > tolerance {
				t.Fatalf("%s: %v (%v), want %v", name, b, err, other.want)
			}
		}
	})
}

// TestCalibrate: at the estimates the score equations hold, which are what calibration means.
func TestCalibrate(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	y, p, recalibrated := make([]bool, 2000), make([]float64, 2000), make([]float64, 2000)
	for i := range p {
		x := random.NormFloat64()
		p[i] = 1 / (1 + math.Exp(-3*x-1))
		y[i] = random.Float64() < 1/(1+math.Exp(-x))
	}
	m, err := eval.Measure(y, p, 0.5, nil)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(*m.CalibrationSlope-1.0/3) > 0.05 {
		t.Errorf("slope = %v, want about ⅓", *m.CalibrationSlope)
	}
	for i, v := range p {
		recalibrated[i] = 1 / (1 + math.Exp(-*m.CalibrationIntercept-math.Log(v/(1-v))))
	}
	m, err = eval.Measure(y, recalibrated, 0.5, nil)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(*m.ObservedExpected-1) > 1e-9 || math.Abs(*m.CalibrationIntercept) > 1e-9 {
		t.Errorf("after recalibration in the large O:E = %v, intercept = %v", *m.ObservedExpected,
			*m.CalibrationIntercept)
	}
}

func TestCalibrationBins(t *testing.T) {
	t.Parallel()
	got, err := eval.CalibrationBins([]bool{false, true, true, false, true, true},
		[]float64{0.1, 0.1, 0.1, 0.2, 0.75, 1}, 3)
	if err != nil {
		t.Fatal(err)
	}
	want := []eval.Bin{
		{N: 3, Low: 0.1, High: 0.1, Predicted: 0.1, Observed: 2.0 / 3},
		{N: 1, Low: 0.2, High: 0.2, Predicted: 0.2, Observed: 0},
		{N: 2, Low: 0.75, High: 1, Predicted: 0.875, Observed: 1},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, tolerance)); diff != "" {
		t.Error(diff)
	}
	rapid.Check(t, func(t *rapid.T) {
		y, p := sample(t)
		count := rapid.IntRange(1, 70).Draw(t, "bins")
		bins, err := eval.CalibrationBins(y, p, count)
		if err != nil || len(bins) > count {
			t.Fatalf("%d bins (%v), want at most %d", len(bins), err, count)
		}
		rows, above := 0, -1.0
		for _, b := range bins {
			if b.N < 1 || b.Low <= above || b.High < b.Low || b.Predicted < b.Low-tolerance ||
				b.Predicted > b.High+tolerance {
				t.Fatalf("bins %v", bins)
			}
			rows, above = rows+b.N, b.High
		}
		if rows != len(y) {
			t.Fatalf("%d rows in bins of %d", rows, len(y))
		}
	})
}
