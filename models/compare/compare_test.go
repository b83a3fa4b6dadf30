package compare_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/compare"
	"github.com/wardcast/wardcast/models/storetest"
	"github.com/wardcast/wardcast/textproc"
)

// newBundle returns a model that gives each word its weight.
func newBundle(t *testing.T, name string, second int, words map[string]float64) *bundle.Bundle {
	t.Helper()
	var terms []textproc.Term
	var weights, idf []float64
	for word, w := range words {
		terms, weights, idf = append(terms, textproc.Term{Text: word, Surface: []string{word}, DF: 1}),
			append(weights, w), append(idf, 1)
	}
	v, err := textproc.New(textproc.DefaultSettings(), terms, idf)
	if err != nil {
		t.Fatal(err)
	}
	parts := classifier.Parts{
		Vectorizer: v, Heads: []classifier.Head{{Words: weights}},
		Calibration: bundle.Calibration{Kind: bundle.Uncalibrated}, Threshold: 0.5,
	}
	b := &bundle.Bundle{Evaluation: []byte("{}"), Report: []byte("{}"), Manifest: bundle.Manifest{
		Name: name, CreatedAt: time.Date(2026, 11, 20, 2, 0, second, 0, time.UTC),
		Training: bundle.Training{Documents: 10 + second, Positives: second},
		Metrics:  []byte(`{"log_loss":0.5,"auroc":0.75,"brier":0.2}`),
	}}
	if err := parts.ToBundle(b); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestGenerations(t *testing.T) {
	t.Parallel()
	store := models.OpenDir(t.TempDir())
	first := storetest.Serve(t, store, newBundle(t, bundle.Other, 1, map[string]float64{"hip": 1}),
		newBundle(t, "cough", 2, map[string]float64{"wheeze": 2, "fever": -1, "nothing": 0}))
	second := storetest.Serve(t, store, newBundle(t, "cough", 3, map[string]float64{"wheeze": 1, "stridor": 3}),
		newBundle(t, "fever", 4, map[string]float64{"rash": 1}))
	got, err := compare.Generations(t.Context(), store, first, second)
	if err != nil {
		t.Fatal(err)
	}
	half, auroc := 0.5, 0.75
	at := func(g *models.Generation, name string, second int) *compare.Side {
		return &compare.Side{
			Version: g.Models[name].Version, Notes: 10 + second, Events: second, LogLoss: &half, AUROC: &auroc,
		}
	}
	want := []compare.Model{
		{Model: bundle.Other, Kind: compare.Same, From: at(first, bundle.Other, 1), To: at(first, bundle.Other, 1)},
		{
			Model: "cough", Kind: compare.Replaced, From: at(first, "cough", 2), To: at(second, "cough", 3),
			Entered: []string{"stridor"}, Left: []string{"fever"},
		},
		{Model: "fever", Kind: compare.New, To: at(second, "fever", 4)},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(compare.Side{})); d != "" {
		t.Error(d)
	}
	back, err := compare.Generations(t.Context(), store, second, first)
	if err != nil || len(back) != 3 || back[2].Kind != compare.Gone || back[2].To != nil {
		t.Errorf("backwards: %+v, %v", back, err)
	}
	if all, err := compare.Generations(t.Context(), store, &models.Generation{}, second); err != nil ||
		all[0].Kind != compare.New {
		t.Errorf("from nothing: %+v, %v", all, err)
	}
}
