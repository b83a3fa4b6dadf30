package hospital_test

import (
	"math"
	"testing"
	"time"

	"github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/lab/hospital"
)

// TestTrial: on a small hospital forecasts are better than the average of the same hours and have no large bias, and those
// that know the truth are better still.
func TestTrial(t *testing.T) {
	t.Parallel()
	var y []bool
	var p []float64
	trial := hospital.Trial{
		Hospital: hospital.Settings{Seed: 2, Days: 150, PerDay: 80}, FitDays: 90, TestFrom: 110,
		Visits: func(v *hospital.Visit, calibrated float64) error {
			y, p = append(y, v.Admitted()), append(p, calibrated)
			return nil
		},
	}
	result, err := trial.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	quality, err := eval.Measure(y, p, .5, nil)
	if err != nil || *quality.AUROC < .78 || *quality.AUROC > .82 || math.Abs(*quality.CalibrationSlope-1) > .1 {
		t.Errorf("scores: AUROC %v, slope %v, %v", *quality.AUROC, *quality.CalibrationSlope, err)
	}
	measure := func(method string) beds.Measures {
		cell := hospital.Cell{Method: method, Component: hospital.Waiting, Ward: beds.All, Horizon: 8 * time.Hour}
		if n := len(result.Scores[cell]); n != 4*result.Days {
			t.Fatalf("%d forecasts on %d days", n, result.Days)
		}
		return beds.Measure(result.Scores[cell], result.Counts[cell])
	}
	ours, average, naive, known := measure(hospital.Ours), measure(hospital.Average), measure(hospital.Naive), measure(hospital.Known)
	if !(known.CRPS < ours.CRPS && ours.CRPS < average.CRPS && average.CRPS < naive.CRPS) {
		t.Errorf("CRPS %v with the truth, ours %v, average %v, last week %v", known.CRPS, ours.CRPS, average.CRPS, naive.CRPS)
	}
	if math.Abs(ours.Bias) > .1*ours.Observed || ours.PITMass < .7 || ours.PITMass > .9 {
		t.Errorf("ours: %+v", ours)
	}
}
