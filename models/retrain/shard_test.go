package retrain_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/gate"
	"github.com/wardcast/wardcast/models/retrain"
	"github.com/wardcast/wardcast/models/train"
)

// visits is how many visits of the hospital are enough for models of single complaints.
const visits = 1200

// nightly returns a retraining that takes a moment. Its models are made and served whether they are better or not.
func nightly(store *models.Store, source retrain.Source, shard retrain.Shard) *retrain.Job {
	fit := train.Default()
	fit.Rank, fit.Folds, fit.MinDocuments, fit.MinEvents, fit.Text.MinDF, fit.PerComplaint = 4, 3, 80,
		10, 3, train.Always
	fit.Text.NGrams, fit.Text.Concepts, fit.Text.Spelling = 1, words, false
	return &retrain.Job{
		Source: source, Settings: retrain.Settings{AsOf: at(24 * 60)}, Fit: fit, Version: "test", Shard: shard,
		Gatekeeper: train.Gatekeeper{Store: store, Gate: gate.Default(), By: "test", Force: true, Why: "a test"},
	}
}

// served returns the models of the generation that is served.
func served(t *testing.T, store *models.Store) (*models.Generation, map[string]*bundle.Bundle) {
	t.Helper()
	if found, err := store.Verify(t.Context(), nil); err != nil || len(found) > 0 {
		t.Fatalf("verify found %v, %v", found, err)
	}
	g, err := store.Champion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*bundle.Bundle{}
	for name, version := range g.Versions() {
		if all[name], err = store.Load(t.Context(), name, version); err != nil {
			t.Fatal(err)
		}
	}
	return g, all
}

// sameModels fails unless the stores serve the same models, made at other times.
func sameModels(t *testing.T, a, b *models.Store) {
	t.Helper()
	one, first := served(t, a)
	two, second := served(t, b)
	of := cmpopts.IgnoreFields(bundle.Manifest{}, "CreatedAt", "Files", "Parent")
	made := cmpopts.IgnoreFields(bundle.Bundle{}, "Version", "SHA256", "Card", "Report", "Page", "Evaluation")
	if d := cmp.Diff(first, second, of, made); d != "" {
		t.Error("other models:", d)
	}
	if d := cmp.Diff(one.Pooled, two.Pooled); d != "" {
		t.Error("other reasons:", d)
	}
}

// TestShards: three shards, of which the first starts last, make the models that one process makes. Whoever of them is
// run again finds that they are served.
func TestShards(t *testing.T) {
	t.Parallel()
	_, source := hospital(t, visits)
	whole, parts := models.OpenDir(t.TempDir()), models.OpenDir(t.TempDir())
	if r, err := nightly(whole, source, retrain.Shard{}).Run(t.Context()); err != nil || r.Promotion.Served == nil {
		t.Fatalf("%+v, error %v", r, err)
	}
	_, made := served(t, whole)
	if len(made) < 4 {
		t.Fatalf("%d models are too few to be shared out", len(made))
	}
	const n = 3
	synctest.Test(t, func(t *testing.T) {
		results := make([]*retrain.Result, n)
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				if i == 0 {
					<-time.After(time.Minute)
				}
				var err error
				if results[i], err = nightly(parts, source,
					retrain.Shard{Index: i, Count: n}).Run(t.Context()); err != nil {
					t.Errorf("shard %d: %v", i, err)
				}
			})
		}
		all.Wait()
		if !slices.ContainsFunc(results,
			func(r *retrain.Result) bool { return r.Promotion != nil && r.Promotion.Served != nil }) {
			t.Error("no shard joined all of them")
		}
		for _, r := range results {
			if r.Promotion == nil && !r.Joined && len(r.Missing) == 0 {
				t.Errorf("a shard neither joined nor reports that others did or are missing: %+v", r)
			}
		}
		sameModels(t, whole, parts)
		for i := range n {
			r, err := nightly(parts, source, retrain.Shard{Index: i, Count: n}).Run(t.Context())
			if err != nil || !r.Joined {
				t.Errorf("shard %d again: %+v, %v", i, r, err)
			}
		}
		if events, err := parts.History(t.Context()); err != nil || len(events) != 1 {
			t.Errorf("%d events, %v", len(events), err)
		}
	})
}

// growing is a log, of which tests may write more.
type growing struct{ memory }

func (g *growing) Ends(context.Context) (retrain.Ends, error) {
	return retrain.Ends{"outcomes": {int64(len(g.outcomes))}, "notes": {int64(len(g.notes))}}, nil
}

func (g *growing) Until(ends retrain.Ends) retrain.Source {
	return &memory{g.outcomes[:ends["outcomes"][0]], g.notes[:ends["notes"][0]]}
}

// TestShardsReadTheSame: a shard that starts later knows nothing of an outcome that was written since, although it was
// decided before the cut-off. Otherwise its part would belong to another retraining, and it would wait for ever.
func TestShardsReadTheSame(t *testing.T) {
	t.Parallel()
	_, source := hospital(t, tinyVisits)
	cut := len(source.outcomes) - 50
	log := &growing{memory{source.outcomes[:cut], source.notes}}
	store := models.OpenDir(t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	shard := func(i int) (*retrain.Result, error) {
		return tiny(store, log, retrain.Shard{Index: i, Count: 2}).Run(ctx)
	}
	first, err := shard(0)
	if err != nil {
		t.Fatal(err)
	}
	log.outcomes = source.outcomes
	last, err := shard(1)
	if err != nil || last.Promotion == nil {
		t.Fatalf("the second shard: %+v, %v", last, err)
	}
	if d := cmp.Diff(first.Counts, last.Counts); d != "" {
		t.Error(d)
	}
	if r, err := shard(0); err != nil || !r.Joined {
		t.Errorf("the first shard again: %+v, %v", r, err)
	}
	// The next cut-off reads on.
	next := tiny(store, log, retrain.Shard{Index: 0, Count: 2})
	next.Settings.AsOf = next.Settings.AsOf.Add(time.Hour)
	if r, err := next.Run(ctx); err != nil || r.Counts.Outcomes.Messages != len(source.outcomes) {
		t.Errorf("the next night: %+v, %v", r, err)
	}
	if _, err := shard(1); !errors.As(err, new(*retrain.SupersededError)) {
		t.Errorf("a shard of the night before: %v", err)
	}
	open := tiny(store, log, retrain.Shard{Index: 0, Count: 2})
	open.Settings.AsOf = time.Time{}
	if _, err := open.Run(ctx); !errors.Is(err, retrain.ErrSettings) {
		t.Errorf("without a cut-off: %v", err)
	}
}

// TestShardsOneByOne: one after the other, the last one joins. A shard of an earlier night does not wait for tonight's.
func TestShardsOneByOne(t *testing.T) {
	t.Parallel()
	_, source := hospital(t, tinyVisits)
	store := models.OpenDir(t.TempDir())
	for i, want := range []int{1, 0} {
		r, err := tiny(store, source, retrain.Shard{Index: i, Count: 2}).Run(t.Context())
		if err != nil || len(r.Missing) != want || (r.Promotion != nil) != (want == 0) {
			t.Fatalf("shard %d: %+v, %v", i, r, err)
		}
	}
	late := tiny(store, source, retrain.Shard{Index: 1, Count: 2})
	late.Settings.AsOf = late.Settings.AsOf.Add(-time.Hour)
	_, err := late.Run(t.Context())
	if _, superseded := errors.AsType[*retrain.SupersededError](err); !superseded {
		t.Errorf("a shard of yesterday: %v", err)
	}
}

func TestParseShard(t *testing.T) {
	t.Parallel()
	if s, err := retrain.ParseShard("2/3"); err != nil || s != (retrain.Shard{Index: 2, Count: 3}) ||
		s.String() != "2/3" {
		t.Errorf("%v, %v", s, err)
	}
	for _, bad := range []string{"", "1", "3/3", "-1/3", "0/1", "a/3", "1/3/4", "1 /3"} {
		if _, err := retrain.ParseShard(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// overtaking is a bucket whose user is overtaken when it has left its part.
type overtaking struct {
	models.Bucket
	part string
	act  func()
}

func (o *overtaking) Swap(ctx context.Context, name string, from, to []byte) error {
	err := o.Bucket.Swap(ctx, name, from, to)
	if act := o.act; act != nil && path.Base(name) == o.part {
		o.act = nil
		act()
	}
	return err
}

// TestLastShardsTogether: of two that join all parts at once, the second finds that all is done.
func TestLastShardsTogether(t *testing.T) {
	t.Parallel()
	_, source := hospital(t, tinyVisits)
	b := models.Dir(t.TempDir())
	last := retrain.Shard{Index: 1, Count: 2}
	if r, err := tiny(models.New(b), source, retrain.Shard{Count: 2}).Run(t.Context()); err != nil ||
		len(r.Missing) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	slow := &overtaking{Bucket: b, part: "1-of-2", act: func() {
		if r, err := tiny(models.New(b), source, last).Run(t.Context()); err != nil || r.Promotion == nil ||
			r.Promotion.Served == nil {
			t.Errorf("the faster one: %+v, %v", r, err)
		}
	}}
	r, err := tiny(models.New(slow), source, last).Run(t.Context())
	if err != nil || !r.Joined || r.Promotion != nil || slow.act != nil {
		t.Errorf("the slower one: %+v, %v", r, err)
	}
	served(t, models.New(b))
}

// TestShardOfOtherSettings: a shard that was given other settings than shard 0 says so and ends; one that is only
// faster than a shard 0 that is run again waits for it.
func TestShardOfOtherSettings(t *testing.T) {
	t.Parallel()
	_, source := hospital(t, tinyVisits)
	store := models.OpenDir(t.TempDir())
	if r, err := tiny(store, source, retrain.Shard{Count: 2}).Run(t.Context()); err != nil || len(r.Missing) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	other := func(i int) *retrain.Job {
		j := tiny(store, source, retrain.Shard{Index: i, Count: 2})
		j.Fit.Seed = 99
		return j
	}
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		j := other(1)
		j.Logger = slog.New(slog.NewTextHandler(&log, nil))
		began := time.Now()
		_, err := j.Run(t.Context())
		different, ok := errors.AsType[*retrain.DifferentError](err)
		if !ok || different.In != "settings" || time.Since(began) > 10*time.Minute {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "differs_in=settings") {
			t.Error(log.String())
		}
		less := &memory{source.outcomes, source.notes[:len(source.notes)-200]}
		notes := tiny(store, less, retrain.Shard{Index: 1, Count: 2})
		if _, err := notes.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "with different notes:") {
			t.Errorf("of other notes: %v", err)
		}
		var all sync.WaitGroup
		all.Go(func() {
			<-time.After(time.Minute)
			if _, err := other(0).Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
		if r, err := other(1).Run(t.Context()); err != nil {
			t.Errorf("%+v, %v", r, err)
		}
		all.Wait()
	})
}
