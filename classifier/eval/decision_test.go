package eval_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/wardcast/wardcast/classifier/eval"
)

func TestChooseThreshold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		y         []bool
		p         []float64
		criterion eval.Criterion
		want      float64
	}{
		{"between the classes", []bool{false, true}, []float64{0.25, 0.75}, "", 0.5},
		{"tie nearest to ½", []bool{true, false, true}, []float64{0.125, 0.375, 0.625}, eval.MaxAccuracy, 0.5},
		{"all positive", []bool{true, true}, []float64{0.125, 0.25}, eval.MaxAccuracy, 0},
		{"all negative", []bool{false, false}, []float64{0.5, 0.75}, eval.MaxAccuracy, 1},
		{"all negative but one is certain", []bool{false, false}, []float64{0.5, 1}, eval.MaxAccuracy, 0.75},
		{"equal probabilities", []bool{false, true}, []float64{0.5, 0.5}, eval.MaxAccuracy, 0},
		{
			"accuracy follows the majority",
			[]bool{false, false, false, true, false},
			[]float64{0.1, 0.1, 0.1, 0.3, 0.5},
			eval.MaxAccuracy, 0.2,
		},
		{
			"youden weighs classes equally",
			[]bool{false, false, false, true, false, false},
			[]float64{0.1, 0.1, 0.1, 0.3, 0.5, 0.5},
			eval.MaxYouden, 0.2,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := eval.ChooseThreshold(c.y, c.p, c.criterion)
			if err != nil || math.Abs(got-c.want) > tolerance {
				t.Errorf("threshold %v (%v), want %v", got, err, c.want)
			}
		})
	}
}

func TestChooseThresholdIsBest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		y, p := sample(t)
		value := map[eval.Criterion]func(eval.Metrics) float64{
			eval.MaxAccuracy: func(m eval.Metrics) float64 { return m.Accuracy },
			eval.MaxYouden:   func(m eval.Metrics) float64 { return *m.Sensitivity + *m.Specificity },
		}
		for criterion, of := range value {
			chosen, err := eval.ChooseThreshold(y, p, criterion)
			if err != nil {
				t.Fatal(err)
			}
			m, err := eval.Measure(y, p, chosen, nil)
			if err != nil {
				t.Fatal(err)
			}
			for step := range 42 {
				other, err := eval.Measure(y, p, float64(step)/40, nil)
				if err != nil {
					t.Fatal(err)
				}
				// Above every probability is no candidate when one of them is 1.
				if step <= 40 && of(other) > of(m)+tolerance {
					t.Fatalf("%s: %v at %v, %v at the chosen %v", criterion, of(other), other.Threshold, of(m), chosen)
				}
			}
		}
	})
}

func TestDecisionCurve(t *testing.T) {
	t.Parallel()
	curve, err := eval.DecisionIntervals([]bool{true, true, false, false}, []float64{0.9, 0.2, 0.5, 0.1},
		[]float64{0, 0.2, 0.5, 0.75}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got [][3]float64 // threshold, the model, treating all
	for _, at := range curve {
		got = append(got, [3]float64{at.Threshold, at.Model.Value, at.TreatAll.Value})
	}
	want := [][3]float64{
		{0, 0.5, 0.5}, {0.2, 2.0/4 - 1.0/4/4, 2.0/4 - 2.0/4/4}, {0.5, 0, 0}, {0.75, 0.25, 0.5 - 0.5*3},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, tolerance)); diff != "" {
		t.Error(diff)
	}
}
