package storetest

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/models"
)

// Bundle returns a model without use; n tells bundles of one model apart.
func Bundle(name string, n int) *bundle.Bundle {
	return &bundle.Bundle{
		Manifest: bundle.Manifest{
			Name: name, Seed: uint64(n), Calibration: bundle.Calibration{Kind: bundle.Uncalibrated},
			CreatedAt: time.Date(2026, 11, 20, 2, 0, n, 0, time.UTC),
		},
		Vocabulary: []bundle.Term{{Text: "hip", DF: 1}},
		Tensors:    bundle.Tensors{"idf": {Shape: []int{1}, Data: []float64{float64(n)}}},
		Card:       fmt.Sprintf("# %s %d\n", name, n),
	}
}

// Add saves bundles and adds the generation of the champion with their versions in it. Nothing is served by it yet.
func Add(tb testing.TB, s *models.Store, bundles ...*bundle.Bundle) *models.Generation {
	tb.Helper()
	g, err := AddGeneration(tb.Context(), s, bundles...)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// AddGeneration does as Add, and returns what went wrong.
func AddGeneration(
	ctx context.Context, s *models.Store, bundles ...*bundle.Bundle,
) (*models.Generation, error) {
	g := &models.Generation{By: "test", Models: map[string]models.Member{}}
	if before, err := s.Champion(ctx); err == nil {
		g.Parent, g.Models = before.Name, maps.Clone(before.Models)
	}
	for _, b := range bundles {
		if _, err := s.Save(ctx, b); err != nil {
			return nil, err
		}
		g.Models[b.Manifest.Name] = models.Member{Version: b.Version, Reason: "it is a test"}
		if b.Manifest.CreatedAt.After(g.CreatedAt) {
			g.CreatedAt = b.Manifest.CreatedAt
		}
	}
	return g, s.AddGeneration(ctx, g)
}

// Serve adds a generation as Add does, and promotes it.
func Serve(tb testing.TB, s *models.Store, bundles ...*bundle.Bundle) *models.Generation {
	tb.Helper()
	g := Add(tb, s, bundles...)
	if err := s.Promote(tb.Context(), models.Change{To: g.Name, From: g.Parent, By: "test"}); err != nil {
		tb.Fatal(err)
	}
	return g
}
