package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/blobstore"
)

// triage answers notes by the champions of a store.
type triage struct {
	*Handler
	store *models.Store
	class string // that a champion must know; "" for none

	verification *verification // nil outside a running scorer
	log          *slog.Logger
}

func newTriage(ctx context.Context, o *Options) (*triage, error) {
	c := o.Config
	store, err := blobstore.Open(ctx, c.Models.Store)
	if err != nil {
		return nil, fmt.Errorf("models.store: %w", err)
	}
	t := &triage{store: store, class: c.Predictions.Class, log: o.Logger}
	set, err := t.load(ctx, nil)
	if errors.Is(err, scoring.ErrNoChampion) {
		return nil, fmt.Errorf("models.store %q: %w: train one with `wardcast train --model-dir %s`, or set "+
			"models.store: \"\" if no notes are scored", c.Models.Store, err, c.Models.Store)
	}
	if err != nil {
		return nil, fmt.Errorf("with models.store %q: %w", c.Models.Store, err)
	}
	limits := classifier.Limits{
		Topics: c.Scoring.Topics, Terms: c.Scoring.Terms, Words: c.Scoring.Words, Evidence: c.Scoring.Evidence,
	}
	in, err := intake.New(c.Input)
	if err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	t.Handler = NewHandler(set, classifier.Options{Limits: limits, Intake: in, Class: c.Predictions.Class},
		c.Scoring.Source)
	t.metrics = newPredictionMetrics(o.Registry)
	if err := o.Registry.Register(t.drift); err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	return t, nil
}

// load reads the champion, like scoring.Load. One of its models must know the configured class.
func (t *triage) load(ctx context.Context, running *scoring.Set) (*scoring.Set, error) {
	set, err := scoring.Load(ctx, t.store, running)
	if err != nil || set == running {
		return set, err
	}
	if err := set.CheckClass(t.class); err != nil {
		return nil, fmt.Errorf("predictions.class: %w", err)
	}
	for name, model := range set.Models {
		for _, c := range model.Aux() {
			if !scoring.HasField(c.Name) {
				t.log.WarnContext(ctx, "notes have no field for this auxiliary column: it counts as missing", "model",
					name, "column", c.Name)
			}
		}
	}
	return set, nil
}

// renew adopts a new generation completely, or keeps the one in use.
func (t *triage) renew(ctx context.Context) (bool, []error) {
	running := t.set()
	set, err := t.load(ctx, running)
	if err != nil {
		return false, []error{err}
	}
	if set == running {
		if err := t.verification.damage(); err != nil {
			return false, []error{err}
		}
		return false, nil
	}
	t.use(set)
	return true, nil
}

// set returns the generation in use.
func (t *triage) set() *scoring.Set { return t.current.Load().set }

func (t *triage) generation() string { return t.set().Generation }

func (t *triage) models() []inUse {
	var all []inUse
	set := t.set()
	for name, model := range set.Models {
		all = append(all, inUse{model.Info(), set.About[name].Created})
	}
	return all
}
