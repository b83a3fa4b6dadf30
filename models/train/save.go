package train

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/wardcast/wardcast/models"
)

// Save adds the versions to the store, and a generation of them and of what it keeps from the champion: the models of
// complaints without any note, or with too few to judge. A complaint that the training judged, and gave no model of its own, has
// none in the generation. Nothing is served by it before Promote. by is what made it, such as "train".
func (t *Trained) Save(ctx context.Context, store *models.Store, by string) (*models.Generation, error) {
	before, err := store.Champion(ctx)
	// A damaged champion has nothing to keep; promoting repairs it.
	if _, damaged := errors.AsType[*models.FileError](err); err != nil && !damaged && !errors.Is(err, models.ErrNotFound) {
		return nil, fmt.Errorf("looking for the champion: %w", err)
	}
	g := &models.Generation{By: by, Models: map[string]models.Member{}, Pooled: map[string]models.Pooled{}}
	if before != nil {
		g.Parent = before.Name
		maps.Copy(g.Models, before.Models)
		maps.Copy(g.Pooled, before.Pooled)
	}
	outcomes := map[string]*Outcome{}
	for i := range t.Outcomes {
		o := &t.Outcomes[i]
		outcomes[o.Model] = o
		if _, served := g.Models[o.Model]; o.Stays && served {
			o.Why += "; the model that is served stays"
		} else if !o.Kept {
			delete(g.Models, o.Model)
			g.Pooled[o.Model] = models.Pooled{Complaint: o.Complaint, Reason: o.Why}
		}
	}
	for _, b := range t.Bundles {
		name := b.Manifest.Name
		b.Manifest.Parent = g.Models[name].Version
		if _, err := store.Save(ctx, b); err != nil {
			return nil, err
		}
		if o := outcomes[name]; o != nil {
			o.Version = b.Version
		}
		reason := fmt.Sprintf("trained on %d notes", b.Manifest.Training.Documents)
		g.Models[name] = models.Member{Complaint: b.Manifest.Complaint, Version: b.Version, Reason: reason}
		delete(g.Pooled, name)
		g.CreatedAt = later(g.CreatedAt, b.Manifest.CreatedAt)
	}
	if err := store.AddGeneration(ctx, g); err != nil {
		return nil, err
	}
	return g, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Promote makes the generation that Save returned the one that is served, on behalf of c. It is the only place where a
// training changes what is served. The error wraps models.ErrConflict if another generation than the one that Save found is
// served by then.
func Promote(ctx context.Context, store *models.Store, g *models.Generation, c models.Change) error {
	c.To, c.From = g.Name, g.Parent
	return store.Promote(ctx, c)
}
