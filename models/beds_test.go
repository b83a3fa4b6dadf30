package models_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/storetest"
)

// TestBeds adds fits of beds, next to models, and has two changed.
func TestBeds(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := models.Dir(t.TempDir())
	s := models.New(b)
	storetest.Serve(t, s, storetest.Bundle(bundle.Other, 1))
	if versions, err := s.BedsVersions(ctx); err != nil || len(versions) > 0 {
		t.Errorf("before the first: %v, %v", versions, err)
	}
	if _, err := s.SaveBeds(ctx, time.Now(), []byte(`{"visits":`)); err == nil {
		t.Error("half a fit is saved")
	}
	created := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	var want []string
	for i := range 3 {
		fit := fmt.Appendf(nil, `{"visits":%d}`, i)
		version, err := s.SaveBeds(ctx, created.AddDate(0, 0, i), fit)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := s.SaveBeds(ctx, created.AddDate(0, 0, i), fit); err != nil || again != version {
			t.Errorf("saved again: %q, %v", again, err)
		}
		if got, err := s.LoadBeds(ctx, version); err != nil || string(got) != string(fit) {
			t.Errorf("%s, %v", got, err)
		}
		want = append(want, version)
	}
	versions, err := s.BedsVersions(ctx)
	if d := cmp.Diff(want, versions); d != "" || err != nil {
		t.Error(err, d)
	}
	if damaged, err := s.Verify(ctx, nil); err != nil || len(damaged) > 0 {
		t.Errorf("verified: %v, %v", damaged, err)
	}
	if names, err := s.Models(ctx); err != nil || len(names) != 1 {
		t.Errorf("models %v, %v", names, err)
	}
	if _, err := s.LoadBeds(ctx, "../"+bundle.Other); !errors.Is(err, models.ErrNotFound) {
		t.Error(err)
	}
	for i, file := range []string{"fit.json", "manifest.json"} {
		name := path.Join("beds", want[i], file)
		data, err := b.Read(ctx, name, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Swap(ctx, name, data, bytes.ToUpper(data)); err != nil {
			t.Fatal(err)
		}
		damaged, ok := errors.AsType[*models.FileError](loadBeds(ctx, s, want[i]))
		if !ok || damaged.File != name {
			t.Errorf("%s was changed: %v", name, damaged)
		}
	}
	if found, err := s.Verify(ctx, nil); err != nil || len(found) != 2 {
		t.Errorf("verify found %v, %v", found, err)
	}
}

func loadBeds(ctx context.Context, s *models.Store, version string) error {
	_, err := s.LoadBeds(ctx, version)
	return err
}
