package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/models"
)

// triage answers notes by the champions of a store.
type triage struct {
	*Handler
	store *models.Store
	class string // one that a champion must know; "" for none
	log   *slog.Logger
}

// newTriage loads the champions.
func newTriage(ctx context.Context, o *Options) (*triage, error) {
	c := o.Config
	t := &triage{store: models.OpenDir(c.Models.Store), class: c.Predictions.Class, log: o.Logger}
	set, err := t.load(ctx)
	if errors.Is(err, scoring.ErrNoChampion) {
		return nil, fmt.Errorf("%w %q: train one with `wardcast train --model-dir %s`, or set models.store: \"\" if no notes are scored", err, c.Models.Store, c.Models.Store)
	}
	if err != nil {
		return nil, err
	}
	limits := classifier.Limits{Topics: c.Scoring.Topics, Terms: c.Scoring.Terms, Words: c.Scoring.Words}
	t.Handler = NewHandler(set, classifier.Options{Limits: limits, Class: c.Predictions.Class}, c.Scoring.Source)
	t.metrics = newPredictionMetrics(o.Registry)
	return t, nil
}

// load reads the champions. One of them must know the configured class.
func (t *triage) load(ctx context.Context) (*scoring.Set, error) {
	set, err := scoring.Load(ctx, t.store)
	if err != nil {
		return nil, err
	}
	if err := set.CheckClass(t.class); err != nil {
		return nil, fmt.Errorf("predictions.class: %w", err)
	}
	for name, model := range set.Models {
		for _, c := range model.Aux() {
			if !scoring.HasField(c.Name) {
				t.log.WarnContext(ctx, "notes have no field for this auxiliary column: it counts as missing", "model", name, "column", c.Name)
			}
		}
	}
	return set, nil
}

// renew loads all champions or none.
func (t *triage) renew(ctx context.Context) (bool, []error) {
	versions, err := t.store.Champions(ctx)
	if err == nil && maps.Equal(versions, t.set.Load().Versions) {
		return false, nil
	}
	var set *scoring.Set
	if err == nil {
		set, err = t.load(ctx)
	}
	if err != nil {
		return false, []error{err}
	}
	t.set.Store(set)
	return true, nil
}

func (t *triage) models() []inUse {
	var all []inUse
	set := t.set.Load()
	for name, model := range set.Models {
		all = append(all, inUse{model.Info(), set.Created[name]})
	}
	return all
}
