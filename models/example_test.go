package models_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/models"
)

func ExampleOpenDir() {
	dir, err := os.MkdirTemp("", "models")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()

	ctx := context.Background()
	store := models.OpenDir(dir)
	b := &bundle.Bundle{
		Evaluation: []byte("{}"), Report: []byte("{}"),
		Manifest: bundle.Manifest{
			Name: bundle.Slug("Chest Pain"), Complaint: "Chest Pain", Method: "sonmf", Rank: 1, Threshold: 0.5,
			Calibration: bundle.Calibration{Kind: bundle.Uncalibrated},
			CreatedAt:   time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC),
		},
		Vocabulary: []bundle.Term{{Text: "pain", Surface: []string{"pain", "pains"}, DF: 12}},
		Tensors:    bundle.Tensors{"topics": {Shape: []int{1, 1}, Data: []float64{1}}},
	}
	version, err := store.Save(ctx, b)
	if err != nil {
		panic(err)
	}
	g := &models.Generation{CreatedAt: b.Manifest.CreatedAt, By: "train", Models: map[string]models.Member{
		b.Manifest.Name: {Version: version},
	}}
	if err := store.AddGeneration(ctx, g); err != nil {
		panic(err)
	}
	if err := store.Promote(ctx, models.Change{To: g.Name, By: "J. Smith", Why: "the first model"}); err != nil {
		panic(err)
	}
	champion, err := store.Champion(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println(champion.Models[bundle.Slug(" chest  pain")].Version == version)
	// Output: true
}
