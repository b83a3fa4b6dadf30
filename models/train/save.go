package train

import (
	"context"
	"errors"
	"fmt"

	"github.com/wardcast/wardcast/models"
)

// Save adds the versions to the store and makes each the champion of its model. The champion of a complaint that no longer has
// a model of its own is retired; complaints without any note keep theirs.
func (t *Trained) Save(ctx context.Context, store *models.Store, by string) error {
	for _, b := range t.Bundles {
		var err error
		b.Manifest.Parent, err = store.Champion(ctx, b.Manifest.Name)
		// A damaged pointer is not a parent; promoting repairs it.
		if _, damaged := errors.AsType[*models.FileError](err); err != nil && !damaged && !errors.Is(err, models.ErrNotFound) {
			return fmt.Errorf("looking for the champion of model %q: %w", b.Manifest.Name, err)
		}
		if _, err := store.Save(ctx, b); err != nil {
			return fmt.Errorf("saving model %q: %w", b.Manifest.Name, err)
		}
		for i := range t.Outcomes {
			if t.Outcomes[i].Model == b.Manifest.Name {
				t.Outcomes[i].Version = b.Version
			}
		}
	}
	// Promote only when all are saved, so that scorers mix old and new for as short a time as possible.
	for _, b := range t.Bundles {
		if err := store.Promote(ctx, b.Manifest.Name, models.Event{Version: b.Version, By: by, Reason: "trained on " + fmt.Sprint(b.Manifest.Training.Documents) + " notes"}); err != nil {
			return fmt.Errorf("promoting model %q: %w", b.Manifest.Name, err)
		}
	}
	for _, o := range t.Outcomes {
		if !o.Kept {
			if err := store.Retire(ctx, o.Model, models.Event{By: by, Reason: o.Why}); err != nil && !errors.Is(err, models.ErrNotFound) {
				return fmt.Errorf("retiring model %q: %w", o.Model, err)
			}
		}
	}
	return nil
}
