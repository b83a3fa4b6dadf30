package train

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/wardcast/wardcast/models"
)

// trained returns the outcome of a training without its costs.
func trained(t *testing.T, kept ...string) *Trained {
	t.Helper()
	out := &Trained{}
	for _, name := range []string{models.Other, "cough", "fever"} {
		o := Outcome{Model: name, Why: "because of " + name}
		for _, k := range kept {
			if k == name {
				o.Kept = true
				out.Bundles = append(out.Bundles, &models.Bundle{
					Manifest:   models.Manifest{Name: name, CreatedAt: job().Created, Calibration: models.Calibration{Kind: models.Uncalibrated}, Training: models.Training{Documents: len(kept)}},
					Vocabulary: []models.Term{{Text: "hip", DF: 1}},
				})
			}
		}
		out.Outcomes = append(out.Outcomes, o)
	}
	return out
}

func TestSaveRetiresWhatIsNotKept(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store := models.OpenDir(t.TempDir())
	first := trained(t, models.Other, "cough", "fever")
	if err := first.Save(ctx, store, "train"); err != nil {
		t.Fatal(err)
	}
	second := trained(t, models.Other, "cough")
	if err := second.Save(ctx, store, "train"); err != nil {
		t.Fatal(err)
	}
	champions, err := store.Champions(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range second.Outcomes {
		if o.Kept != (o.Version != "") || champions[o.Model] != o.Version {
			t.Errorf("%s: version %q, champion %q", o.Model, o.Version, champions[o.Model])
		}
		if o.Kept && second.Bundles[i].Manifest.Parent != first.Bundles[i].Version {
			t.Errorf("%s: parent %q, want %q", o.Model, second.Bundles[i].Manifest.Parent, first.Bundles[i].Version)
		}
	}
	history, err := store.History(ctx, "fever")
	if err != nil || len(history) != 2 {
		t.Fatalf("history %v, %v", history, err)
	}
	if e := history[1]; e.Action != models.Retired || e.Version != first.Bundles[2].Version || e.By != "train" || e.Reason != "because of fever" {
		t.Errorf("got %+v", e)
	}
	// A third training finds nothing to retire.
	third := trained(t, models.Other)
	third.Outcomes = append(third.Outcomes, Outcome{Model: "never-had-one"})
	if err := third.Save(ctx, store, "train"); err != nil {
		t.Fatal(err)
	}
	if history, err := store.History(ctx, "fever"); err != nil || len(history) != 2 {
		t.Errorf("history %v, %v", history, err)
	}
	if _, err := store.History(ctx, "never-had-one"); !errors.Is(err, models.ErrNotFound) {
		t.Errorf("a model that never was: %v", err)
	}
}

// TestSaveMendsDamagedPointer: what training writes becomes the champion, whatever stood there.
func TestSaveMendsDamagedPointer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store := models.OpenDir(dir)
	if err := trained(t, models.Other, "cough", "fever").Save(t.Context(), store, "train"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cough", "fever"} {
		if err := os.WriteFile(filepath.Join(dir, name, "champion"), []byte("nonsense"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	again := trained(t, models.Other, "cough")
	if err := again.Save(t.Context(), store, "train"); err != nil {
		t.Fatal(err)
	}
	champions, err := store.Champions(t.Context())
	if err != nil || champions["cough"] != again.Bundles[1].Version || champions["fever"] != "" {
		t.Errorf("champions %v, %v", champions, err)
	}
}
