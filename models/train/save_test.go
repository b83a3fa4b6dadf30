package train

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/models"
)

// trained returns the outcome of a training without its costs.
func trained(t *testing.T, kept ...string) *Trained {
	t.Helper()
	out := &Trained{}
	for _, name := range []string{bundle.Other, "cough", "fever"} {
		o := Outcome{Model: name, Why: "because of " + name}
		for _, k := range kept {
			if k == name {
				o.Kept = true
				out.Bundles = append(out.Bundles, &bundle.Bundle{
					Evaluation: []byte("{}"), Report: []byte("{}"),
					Manifest: bundle.Manifest{
						Name: name, CreatedAt: job().Created,
						Calibration: bundle.Calibration{Kind: bundle.Uncalibrated},
						Training:    bundle.Training{Documents: len(kept)},
					},
					Vocabulary: []bundle.Term{{Text: "hip", DF: 1}},
				})
			}
		}
		out.Outcomes = append(out.Outcomes, o)
	}
	return out
}

// saved saves the outcome of a training and promotes its generation.
func saved(t *testing.T, store *models.Store, trained *Trained) *models.Generation {
	t.Helper()
	g, err := trained.Save(t.Context(), store, "train")
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Promote(t.Context(), models.Change{To: g.Name, From: g.Parent, By: "test"}); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestSaveNamesWhoHasAModel(t *testing.T) {
	t.Parallel()
	store := models.OpenDir(t.TempDir())
	first := trained(t, bundle.Other, "cough", "fever")
	saved(t, store, first)
	second := trained(t, bundle.Other, "cough")
	g := saved(t, store, second)
	for i, o := range second.Outcomes {
		if o.Kept != (o.Version != "") || g.Models[o.Model].Version != o.Version {
			t.Errorf("%s: version %q, in the generation %q", o.Model, o.Version, g.Models[o.Model].Version)
		}
		if o.Kept && second.Bundles[i].Manifest.Parent != first.Bundles[i].Version {
			t.Errorf("%s: parent %q, want %q", o.Model, second.Bundles[i].Manifest.Parent, first.Bundles[i].Version)
		}
	}
	if d := cmp.Diff(map[string]models.Pooled{"fever": {Reason: "because of fever"}}, g.Pooled); d != "" {
		t.Error(d)
	}
	// A third training without a note of a complaint keeps its model, and has no reason to name one that has none.
	third := trained(t, bundle.Other)
	third.Outcomes = third.Outcomes[:1]
	third.Bundles[0].Manifest.Seed = 3
	g = saved(t, store, third)
	if g.Models["cough"].Version != second.Bundles[1].Version || len(g.Pooled) > 0 ||
		g.Models[bundle.Other].Version != third.Bundles[0].Version {
		t.Errorf("got %+v", g)
	}
	if served, err := store.Champion(t.Context()); err != nil || served.Name != g.Name {
		t.Errorf("served %v, %v", served, err)
	}
	// And one that finds a complaint better off again gives it a model.
	fourth := trained(t, bundle.Other, "cough", "fever")
	fourth.Bundles[2].Manifest.Seed = 4
	if g = saved(t, store, fourth); len(g.Pooled) > 0 || g.Models["fever"].Version != fourth.Bundles[2].Version {
		t.Errorf("got %+v", g)
	}
}

// TestStaying: a model is kept if nothing was judged, or if there was no note.
func TestStaying(t *testing.T) {
	t.Parallel()
	champion := &models.Generation{
		Models: map[string]models.Member{bundle.Other: {}, "cough": {}, "fever": {}, "rash": {}},
	}
	out := trained(t, bundle.Other)
	out.Outcomes[1].Stays = true
	if got := slices.Sorted(maps.Keys(out.staying(champion))); !slices.Equal(got, []string{"cough", "rash"}) {
		t.Errorf("%q stay", got)
	}
	if got := out.staying(nil); len(got) > 0 {
		t.Errorf("%v of nothing", got)
	}
}

// TestPromoteReportsAConflict: another generation is served by the time that a training has ended.
func TestPromoteReportsAConflict(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store := models.OpenDir(t.TempDir())
	saved(t, store, trained(t, bundle.Other))
	slow, err := trained(t, bundle.Other, "cough").Save(ctx, store, "train")
	if err != nil {
		t.Fatal(err)
	}
	fast := saved(t, store, trained(t, bundle.Other, "fever"))
	if err := store.Promote(ctx, models.Change{To: slow.Name, From: slow.Parent}); !errors.Is(err, models.ErrConflict) {
		t.Errorf("got %v", err)
	}
	if served, err := store.Champion(ctx); err != nil || served.Name != fast.Name {
		t.Errorf("served %v, %v", served, err)
	}
}

// TestSaveMendsADamagedChampion: what training writes can be promoted, whatever stood there.
func TestSaveMendsADamagedChampion(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(t *testing.T, dir string, g *models.Generation){
		"champion": func(t *testing.T, dir string, _ *models.Generation) {
			write(t, filepath.Join(dir, "champion"), "nonsense")
		},
		"generation": func(t *testing.T, dir string, g *models.Generation) {
			write(t, filepath.Join(dir, "generations", g.Name+".json"), "{}")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			store := models.OpenDir(dir)
			harm(t, dir, saved(t, store, trained(t, bundle.Other, "cough", "fever")))
			again, err := trained(t, bundle.Other, "cough").Save(t.Context(), store, "test")
			if err != nil {
				t.Fatal(err)
			}
			from := ""
			if g, _ := store.Champion(t.Context()); g != nil {
				from = g.Name
			}
			if err := store.Promote(t.Context(), models.Change{To: again.Name, From: from, Mend: true}); err != nil {
				t.Fatal(err)
			}
			if served, err := store.Champion(t.Context()); err != nil || served.Name != again.Name ||
				len(served.Models) != 2 {
				t.Errorf("served %v, %v", served, err)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
