package eval_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

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

func TestClassReference(t *testing.T) {
	t.Parallel()
	var cases map[string]struct {
		Y                []int       `json:"y"`
		P                [][]float64 `json:"p"`
		Accuracy         float64     `json:"accuracy"`
		BalancedAccuracy float64     `json:"balanced_accuracy"`
		LogLoss          float64     `json:"log_loss"`
		Brier            float64     `json:"brier"`
		AUROC            float64     `json:"auroc"`
		AUROCOf          []float64   `json:"auroc_of"`
		Confusion        [][]int     `json:"confusion"`
	}
	readJSON(t, "classes.json", &cases)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := mat.NewDense(len(c.P), len(c.P[0]), nil)
			for i, row := range c.P {
				p.SetRow(i, row)
			}
			m, err := eval.MeasureClasses(c.Y, p, classNames(len(c.P[0])), nil)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.Confusion, m.Confusion); d != "" {
				t.Error(d)
			}
			near := func(name string, got, want float64) {
				if !(math.Abs(got-want) <= tolerance) {
					t.Errorf("%s = %v, want %v", name, got, want)
				}
			}
			near("accuracy", m.Accuracy, c.Accuracy)
			near("balanced accuracy", m.BalancedAccuracy, c.BalancedAccuracy)
			near("log loss", m.LogLoss, c.LogLoss)
			near("brier", m.Brier, c.Brier)
			near("auroc", *m.AUROC, c.AUROC)
			for i, want := range c.AUROCOf {
				near("auroc of class "+m.Classes[i].Class, *m.Classes[i].AUROC, want)
			}
		})
	}
}
