package train

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/models"
)

// staying returns the models of the champion, which may be nil, that are kept: of complaints without notes, or too few.
func (t *Trained) staying(champion *models.Generation) map[string]models.Member {
	stay := map[string]models.Member{}
	if champion != nil {
		maps.Copy(stay, champion.Models)
	}
	for i := range t.Outcomes {
		if o := &t.Outcomes[i]; !o.Stays {
			delete(stay, o.Model)
		}
	}
	return stay
}

// Save adds the versions to the store, and a generation of them and the models kept from the champion. A complaint that
// was judged and got no model of its own has its reason there. Nothing is served before Promote. by names the program,
// as in "train".
func (t *Trained) Save(ctx context.Context, store *models.Store, by string) (*models.Generation, error) {
	before, err := store.Champion(ctx)
	// A damaged champion has nothing to keep; promoting repairs it.
	if _, damaged := errors.AsType[*models.FileError](err); err != nil && !damaged &&
		!errors.Is(err, models.ErrNotFound) {
		return nil, fmt.Errorf("looking for the champion: %w", err)
	}
	g, err := t.generation(ctx, store, before)
	if err != nil {
		return nil, err
	}
	g.By = by
	return g, store.AddGeneration(ctx, g)
}

// generation adds the versions to the store and returns the generation for Save; before is served, or nil.
func (t *Trained) generation(ctx context.Context, store *models.Store,
	before *models.Generation,
) (*models.Generation, error) {
	g := &models.Generation{
		Models: t.staying(before), Pooled: map[string]models.Pooled{}, RareComplaints: t.RareComplaints,
	}
	parents := map[string]models.Member{}
	if before != nil {
		g.Parent, parents = before.Name, before.Models
	}
	outcomes := map[string]*Outcome{}
	for i := range t.Outcomes {
		o := &t.Outcomes[i]
		outcomes[o.Model] = o
		if _, served := g.Models[o.Model]; o.Stays && served {
			o.Why += "; the served model is kept"
		} else if !o.Kept {
			g.Pooled[o.Model] = models.Pooled{Complaint: o.Complaint, Reason: o.Why}
		}
	}
	for _, b := range t.Bundles {
		name := b.Manifest.Name
		b.Manifest.Parent = parents[name].Version
		if _, err := store.Save(ctx, b); err != nil {
			return nil, err
		}
		if o := outcomes[name]; o != nil {
			o.Version = b.Version
		}
		reason := fmt.Sprintf("trained on %d notes", b.Manifest.Training.Documents)
		g.Models[name] = models.Member{Complaint: b.Manifest.Complaint, Version: b.Version, Reason: reason}
		g.CreatedAt = later(g.CreatedAt, b.Manifest.CreatedAt)
	}
	return g, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Previous returns a Job.Previous that reads the served models. A damaged champion counts as none: training repairs it.
func Previous(store *models.Store, log *slog.Logger) func(ctx context.Context, model string) (*bundle.Bundle, error) {
	return func(ctx context.Context, model string) (*bundle.Bundle, error) {
		g, err := store.Champion(ctx)
		var b *bundle.Bundle
		if err == nil && g.Models[model].Version != "" {
			b, err = store.Load(ctx, model, g.Models[model].Version)
		}
		damaged, ok := errors.AsType[*models.FileError](err)
		switch {
		case ok:
			log.Warn("the champion is damaged: topics get new numbers", "model", model, "file", damaged.File)
			return nil, nil
		case errors.Is(err, models.ErrNotFound):
			return nil, nil
		}
		return b, err
	}
}
