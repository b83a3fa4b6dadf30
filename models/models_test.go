package models

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/bundle"
)

// sample returns a bundle; n distinguishes bundles of one model.
func sample(n int) *bundle.Bundle {
	return &bundle.Bundle{
		Manifest: bundle.Manifest{
			Name: "chest-pain", Complaint: "Chest Pain", Method: "sonmf", Rank: 2, Weighting: "tf-idf",
			Text: json.RawMessage(`{"min_df":2}`), Seed: 1<<63 + uint64(n),
			Training: bundle.Training{
				From: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Documents: 10, Positives: 3,
			},
			Calibration: bundle.Calibration{Kind: bundle.Platt, Slope: 1.1, Intercept: -.1}, Threshold: .4,
			ThresholdRule: "youden",
			Aux: []bundle.AuxColumn{
				{Name: "age", Kind: bundle.Numeric, Mean: []float64{50}},
				{Name: "sex", Kind: bundle.Categorical, Levels: []string{"F", "M"}, Mean: []float64{.5, .5}},
			},
			CreatedAt: time.Date(2026, 11, 20, 2, 0, n, 123, time.UTC), Wardcast: "test",
		},
		Vocabulary: []bundle.Term{
			{Text: "chest", Surface: []string{"chest"}, DF: 7},
			{Text: "pain", Surface: []string{"pain", "pains"}, DF: 9},
			{Text: "sob", DF: 1},
		},
		Tensors: bundle.Tensors{
			"topics": {Shape: []int{3, 2}, Data: []float64{1, 0, 0, 1, .5, -.5}},
			"idf":    {Shape: []int{3}, Data: []float64{1, 1.5, 2}},
		},
		Evaluation: json.RawMessage(`{"auroc": 0.9}`),
		Card:       "# Chest pain\n",
		Report:     json.RawMessage(`{"format":"1"}`),
		Page:       []byte("<!doctype html>"),
	}
}

func save(t *testing.T, s *Store, b *bundle.Bundle) string {
	t.Helper()
	version, err := s.Save(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// serve adds the generation of these bundles, which are saved, and promotes it.
func serve(t *testing.T, s *Store, bundles ...*bundle.Bundle) *Generation {
	t.Helper()
	g := &Generation{Models: map[string]Member{}}
	if before, _ := s.Champion(t.Context()); before != nil {
		g.Parent = before.Name
	}
	for i, b := range bundles {
		g.CreatedAt = b.Manifest.CreatedAt.Add(time.Duration(i))
		g.Models[b.Manifest.Name] = Member{Version: b.Version, Reason: "good"}
	}
	if err := s.AddGeneration(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	if err := s.Promote(t.Context(), Change{To: g.Name, From: g.Parent, By: "test", Why: "better"}); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestSaveAndLoad(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s := OpenDir(dir)
	b := sample(0)
	version := save(t, s, b)
	if !strings.HasPrefix(version, "2026-11-20T02-00-00Z-") || version != b.Version ||
		!strings.HasSuffix(version, "-"+b.SHA256[:6]) {
		t.Errorf("version %q, bundle %q %q", version, b.Version, b.SHA256)
	}
	got, err := OpenDir(dir).Load(t.Context(), "chest-pain", version)
	if err != nil {
		t.Fatal(err)
	}
	sameJSON := cmp.Transformer("JSON", func(r json.RawMessage) (v any) { _ = json.Unmarshal(r, &v); return v })
	if d := cmp.Diff(b, got, sameJSON); d != "" {
		t.Error(d)
	}
	var names []string
	entries, err := os.ReadDir(filepath.Join(dir, "chest-pain", version))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if d := cmp.Diff([]string{
		"card.md", "evaluation.json", "manifest.json", "report.html", "report.json",
		"tensors.safetensors", "vocabulary.json",
	}, names); d != "" {
		t.Error(d)
	}
	if again := save(t, s, sample(0)); again != version {
		t.Errorf("the same bundle again is version %q, not %q", again, version)
	}
	if found, err := s.Verify(t.Context(), nil); err != nil || len(found) > 0 {
		t.Errorf("a sound store: %v, %v", found, err)
	}
}

func TestSaveRefuses(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*bundle.Bundle){
		"path as name":   func(b *bundle.Bundle) { b.Manifest.Name = "../x" },
		"no name":        func(b *bundle.Bundle) { b.Manifest.Name = "" },
		"capitals":       func(b *bundle.Bundle) { b.Manifest.Name = "A" },
		"no time":        func(b *bundle.Bundle) { b.Manifest.CreatedAt = time.Time{} },
		"threshold":      func(b *bundle.Bundle) { b.Manifest.Threshold = 1.5 },
		"counts":         func(b *bundle.Bundle) { b.Manifest.Training.Positives = 11 },
		"rank":           func(b *bundle.Bundle) { b.Manifest.Rank = -1 },
		"calibration":    func(b *bundle.Bundle) { b.Manifest.Calibration.Kind = "magic" },
		"aux":            func(b *bundle.Bundle) { b.Manifest.Aux[0].Kind = "" },
		"raw settings":   func(b *bundle.Bundle) { b.Manifest.Text = json.RawMessage("{") },
		"raw evaluation": func(b *bundle.Bundle) { b.Evaluation = json.RawMessage("{") },
		"tensor": func(b *bundle.Bundle) {
			b.Tensors["topics"] = bundle.Tensor{Shape: []int{4}, Data: []float64{1}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			b := sample(0)
			change(b)
			if version, err := OpenDir(dir).Save(t.Context(), b); err == nil {
				t.Errorf("saved as %q", version)
			}
			if left, _ := filepath.Glob(dir + "/*/2026*"); left != nil {
				t.Errorf("left %v", left)
			}
		})
	}
}
