package eval_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/wardcast/wardcast/classifier/eval"
)

// slopeTolerance is what scikit-learn's solver leaves; everything else agrees to rounding.
const (
	tolerance      = 1e-12
	slopeTolerance = 1e-6
)

func readJSON(t *testing.T, name string, into any) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

func TestReference(t *testing.T) {
	t.Parallel()
	var cases map[string]struct {
		Y         []int     `json:"y"`
		P         []float64 `json:"p"`
		Accuracy  float64   `json:"accuracy"`
		AUROC     float64   `json:"auroc"`
		AUPRC     float64   `json:"auprc"`
		Brier     float64   `json:"brier"`
		LogLoss   float64   `json:"log_loss"`
		Intercept float64   `json:"calibration_intercept"`
		Slope     float64   `json:"calibration_slope"`
	}
	readJSON(t, "measures.json", &cases)
	var delong map[string][2]float64
	readJSON(t, "delong.json", &delong)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := make([]bool, len(c.Y))
			for i, v := range c.Y {
				y[i] = v == 1
			}
			m, err := eval.Measure(y, c.P, 0.5, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range []struct {
				name            string
				got, want, near float64
			}{
				{"accuracy", m.Accuracy, c.Accuracy, tolerance},
				{"auroc", *m.AUROC, c.AUROC, tolerance},
				{"auroc low", m.AUROCInterval.Low, delong[name][0], tolerance},
				{"auroc high", m.AUROCInterval.High, delong[name][1], tolerance},
				{"auprc", *m.AUPRC, c.AUPRC, tolerance},
				{"brier", m.Brier, c.Brier, tolerance},
				{"log loss", m.LogLoss, c.LogLoss, tolerance},
				{"calibration intercept", *m.CalibrationIntercept, c.Intercept, tolerance},
				{"calibration slope", *m.CalibrationSlope, c.Slope, slopeTolerance},
			} {
				if !(math.Abs(v.got-v.want) <= v.near) {
					t.Errorf("%s = %v, want %v", v.name, v.got, v.want)
				}
			}
		})
	}
}
