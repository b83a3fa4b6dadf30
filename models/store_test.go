package models_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/storetest"
)

// TestLife promotes, refuses and rolls back.
func TestLife(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := models.OpenDir(t.TempDir())
	if _, err := s.Champion(ctx); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("champion of an empty store: %v", err)
	}
	first := storetest.Serve(t, s, storetest.Bundle(bundle.Other, 1), storetest.Bundle("cough", 2))
	second := storetest.Add(t, s, storetest.Bundle("cough", 3))
	if err := s.Refuse(ctx, second, models.Change{From: first.Name, By: "gate", Why: "worse"}); err != nil {
		t.Fatal(err)
	}
	third := storetest.Serve(t, s, storetest.Bundle("cough", 4))
	if err := s.Promote(ctx, models.Change{To: second.Name, From: first.Name}); !errors.Is(err, models.ErrConflict) {
		t.Errorf("promoting from what is not served: %v", err)
	}
	if err := s.Rollback(ctx, models.Change{From: third.Name, By: "ops", Why: "odd"}); err != nil {
		t.Fatal(err)
	}
	if damaged, err := s.Verify(ctx, nil); err != nil || len(damaged) > 0 {
		t.Errorf("verified: %v, %v", damaged, err)
	}
	if g, err := s.Champion(ctx); err != nil || g.Name != first.Name {
		t.Errorf("served %v, %v, want %s", g, err, first.Name)
	}
	list, err := models.List(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range list {
		got = append(got, fmt.Sprint(v.Model, " ", v.CreatedAt.Second(), " ", v.Status, " ", v.Reason))
	}
	want := []string{
		"_other 1 champion it is a test", "cough 2 champion it is a test", "cough 3 refused worse",
		"cough 4 superseded it is a test",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	names, err := s.Generations(ctx)
	if d := cmp.Diff([]string{first.Name, second.Name, third.Name}, names); d != "" || err != nil {
		t.Error(err, d)
	}
	events, err := s.History(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var actions []models.Action
	for _, e := range events {
		actions = append(actions, e.Action)
	}
	wantActions := []models.Action{models.Promoted, models.Refused, models.Promoted, models.RolledBack}
	if d := cmp.Diff(wantActions, actions); d != "" {
		t.Error(d)
	}
	for i, want := range []string{first.Name, first.Name, third.Name, first.Name} {
		if g, err := s.ServedAt(ctx, events[i].Time); err != nil || g.Name != want {
			t.Errorf("served at event %d: %v, %v", i, g, err)
		}
	}
}
