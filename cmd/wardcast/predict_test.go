package main

import (
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/textproc"
)

// classStore returns the folder of a store with one model, of three outcomes.
func classStore(t *testing.T) string {
	t.Helper()
	v, err := textproc.New(textproc.DefaultSettings(), []textproc.Term{{Text: "hip", DF: 1}}, []float64{1})
	if err != nil {
		t.Fatal(err)
	}
	parts := classifier.Parts{
		Vectorizer: v, Topics: mat.NewDense(1, 1, []float64{1}), Heads: []classifier.Head{{Beta: []float64{2}}, {Beta: []float64{-1}}},
		Classes: []string{"home", "ward", "other hospital"}, Admission: []bool{false, true, true},
		Calibration: models.Calibration{Kind: models.Uncalibrated}, Threshold: 0.5,
	}
	b := &models.Bundle{Manifest: models.Manifest{Name: models.Other, CreatedAt: time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)}}
	if err := parts.ToBundle(b); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	store := models.OpenDir(dir)
	version, err := store.Save(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Promote(t.Context(), models.Other, models.Event{Version: version}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestPredictClass(t *testing.T) {
	t.Parallel()
	dir := classStore(t)
	for asked, want := range map[string]string{
		"":               `"class":"ward","against":"home",`,
		"ward":           `"class":"ward","against":"home",`,
		"other hospital": `"class":"other hospital","against":"home",`,
		"home":           `"class":"home","against":"ward",`,
	} {
		if out := succeed(t, "", "predict", "--model-dir", dir, "--text", "hip", "--class", asked); !strings.Contains(out, want) {
			t.Errorf("%q: %s; want %s", asked, out, want)
		}
	}
	fail(t, cli.ExitUsage, []string{"predict", "--model-dir", dir, "--text", "hip", "--class", "hme"}, `--class: unknown class "hme": the champions predict ["home" "ward" "other hospital"]`)
}
