package retrain_test

import (
	"context"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/gate"
	"github.com/wardcast/wardcast/models/retrain"
	"github.com/wardcast/wardcast/models/rounds"
	"github.com/wardcast/wardcast/models/storetest"
	"github.com/wardcast/wardcast/models/train"
)

// visits is how many visits of the hospital are enough for models of single complaints.
const visits = 1200

// nightly returns a retraining that takes a moment. Its models are made and served whether they are better or not.
func nightly(store *models.Store, source retrain.Source) *retrain.Job {
	fit := train.Default()
	fit.Rank, fit.Folds, fit.MinDocuments, fit.MinEvents, fit.Text.MinDF, fit.PerComplaint = 4, 3, 80,
		10, 3, train.Always
	fit.Text.NGrams, fit.Text.Concepts, fit.Text.Spelling = 1, words, false
	return &retrain.Job{
		Source: source, Settings: retrain.Settings{AsOf: at(24 * 60)}, Fit: fit, Version: "test",
		Gatekeeper: train.Gatekeeper{Store: store, Gate: gate.Default(), By: "test", Force: true, Why: "a test"},
	}
}

// TestRounds: a night by rounds serves the models of a night without, but for the rounding of sums.
func TestRounds(t *testing.T) {
	t.Parallel()
	_, source := hospital(t, visits)
	whole, parts := models.OpenDir(t.TempDir()), models.OpenDir(t.TempDir())
	for store, relay := range map[*models.Store]rounds.Relay{
		whole: nil,
		parts: rounds.NewLocal(3, func(_ context.Context, op rounds.Op, in io.Reader, out io.Writer) error {
			return rounds.Run(op, "test", in, out)
		}),
	} {
		j := nightly(store, source)
		if relay != nil {
			j.Rounds = rounds.New(relay, "test")
		}
		if r, err := j.Run(t.Context()); err != nil || r.Promotion.Served == nil {
			t.Fatalf("%+v, error %v", r, err)
		}
	}
	one, first := storetest.Served(t, whole, "alone")
	two, second := storetest.Served(t, parts, "by rounds")
	if len(first) < 4 || len(first) != len(second) {
		t.Fatalf("%d and %d models", len(first), len(second))
	}
	for name, b := range first {
		if d := cmp.Diff(b.Vocabulary, second[name].Vocabulary); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if d := cmp.Diff(b.Tensors, second[name].Tensors, cmpopts.EquateApprox(0, 1e-9)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if d := cmp.Diff(one.Pooled, two.Pooled); d != "" {
		t.Error("other reasons:", d)
	}
}
