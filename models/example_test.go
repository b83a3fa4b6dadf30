package models_test

import (
	"context"
	"fmt"
	"os"
	"time"

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
	b := &models.Bundle{
		Manifest: models.Manifest{
			Name: models.Slug("Chest Pain"), Complaint: "Chest Pain", Method: "sonmf", Rank: 1, Threshold: 0.5,
			Calibration: models.Calibration{Kind: models.Uncalibrated}, CreatedAt: time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC),
		},
		Vocabulary: []models.Term{{Text: "pain", Surface: []string{"pain", "pains"}, DF: 12}},
		Tensors:    models.Tensors{"topics": {Shape: []int{1, 1}, Data: []float64{1}}},
	}
	version, err := store.Save(ctx, b)
	if err != nil {
		panic(err)
	}
	if err := store.Promote(ctx, b.Manifest.Name, models.Event{Version: version, By: "train"}); err != nil {
		panic(err)
	}
	champions, err := store.Champions(ctx)
	fmt.Println(champions[models.Slug(" chest  pain")] == version, err)
	// Output: true <nil>
}
