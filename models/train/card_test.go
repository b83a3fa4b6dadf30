package train

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/models"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestCardGolden(t *testing.T) {
	t.Parallel()
	value := func(v float64) *float64 { return &v }
	of := models.Bundle{
		Manifest: models.Manifest{
			Name: "chest-pain", Complaint: "Chest Pain", Method: "sonmf", Rank: 50, Weighting: "tf-idf",
			Training:    models.Training{From: time.Date(2026, 1, 1, 3, 0, 0, 0, time.UTC), To: time.Date(2026, 6, 30, 4, 0, 0, 0, time.UTC), Documents: 1200, Positives: 345},
			Calibration: models.Calibration{Kind: models.Platt}, Threshold: 0.475,
			Aux: []models.AuxColumn{{Name: "age", Kind: models.Numeric}, {Name: "sex", Kind: models.Categorical}},
		},
		Vocabulary: make([]models.Term, 800),
	}
	full := eval.Metrics{AUROC: value(0.8765), AUROCInterval: &eval.Interval{Low: 0.85, High: 0.9}, AUPRC: value(0.7), Brier: 0.1234, BrierScaled: value(0.3), LogLoss: 0.4, CalibrationSlope: value(1.02), Accuracy: 0.81}
	all := of
	all.Manifest.Name, all.Manifest.Complaint, all.Manifest.Method, all.Manifest.Rank, all.Manifest.Aux = models.Other, "", "bow", 0, nil
	all.Manifest.Training = models.Training{Documents: 1000, Positives: 250}
	supervised := of
	supervised.Manifest.Method, supervised.Manifest.Rank = "smf-w", 10
	several := supervised
	several.Manifest.Classes, several.Manifest.AdmissionClasses = []string{"home", "ward", "moved|left"}, []string{"ward", "moved|left"}
	classes := eval.ClassMetrics{
		N: 1200, Accuracy: 0.8, BalancedAccuracy: 0.5, LogLoss: 0.6, Brier: 0.3, AUROC: value(0.75),
		Classes: []eval.ClassMetric{{Class: "home", N: 855, AUROC: value(0.8)}, {Class: "ward", N: 300, AUROC: value(0.7)}, {Class: "moved|left", N: 45}}, Confusion: [][]int{{800, 55, 0}, {150, 150, 0}, {30, 15, 0}},
	}
	for name, c := range map[string]struct {
		bundle  models.Bundle
		metrics eval.Metrics
		classes *eval.ClassMetrics
		words   int
	}{
		"topics-and-words": {of, full, nil, 120},
		"words-alone":      {all, eval.Metrics{Brier: 0.2, LogLoss: 0.5, Accuracy: 0.75}, nil, 300},
		"supervised":       {supervised, full, nil, 0},
		"several-outcomes": {several, full, &classes, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := card(&c.bundle, &Outcome{Metrics: &c.metrics, Classes: c.classes}, c.words, 4*c.words)
			golden := filepath.Join("testdata", "card-"+name+".golden.md")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
				t.Error(d)
			}
		})
	}
}
