// Package serving changes which generation of a model store is served. It holds the checks that the command line and
// the HTTP API share: a generation is served only after all its models have loaded, as a scorer loads them.
package serving

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/models"
)

// Request asks for another generation to be served, and says on whose behalf.
type Request struct {
	// generation; "" for the newest without an objection, or for a rollback the one that was served before
	To      string
	From    string // what the caller takes to be served; "" for whatever is
	By, Why string
	Command string // the command line, or what else asked
	DryRun  bool   // check everything and change nothing
	Logger  *slog.Logger
}

// Change is what was changed, or would be.
type Change struct {
	From string             // "" if nothing was served
	To   *models.Generation // that is served now
}

// ErrServed means that the generation is served already.
var ErrServed = errors.New("is served already")

// ObjectionError means that a generation was refused by the gate or rolled back, and that the request does not say why
// it should be served all the same.
type ObjectionError struct {
	Generation string
	Why        string // "was refused: …" or "was rolled back: …"
	Newest     bool   // no generation was asked for, and this is the newest one
}

func (e *ObjectionError) Error() string {
	if e.Newest {
		return fmt.Sprintf("nothing newer to promote: generation %q %s; promoting it needs its name and a reason",
			e.Generation, e.Why)
	}
	return fmt.Sprintf("generation %q %s; promoting it needs a reason", e.Generation, e.Why)
}

// Champion returns the generation that is served; one without a name if there is none. A champion that is damaged is
// logged, and can be replaced, which mends the store.
func Champion(ctx context.Context, s *models.Store, log *slog.Logger) (*models.Generation, error) {
	g, err := s.Champion(ctx)
	damage, damaged := errors.AsType[*models.FileError](err)
	switch {
	case damaged:
		log.Warn("the champion is damaged", "err", damage)
	case err != nil && !errors.Is(err, models.ErrNotFound):
		return nil, err
	}
	if g == nil {
		g = &models.Generation{}
	}
	return g, nil
}

// Newest returns the name of the newest generation whose files are sound.
func Newest(ctx context.Context, s *models.Store, log *slog.Logger) (string, error) {
	names, err := sound(ctx, s, log)
	if err != nil {
		return "", err
	}
	return names[len(names)-1], nil
}

// sound returns the names of all generations, oldest first, at least one. It warns of those whose files are damaged and
// leaves them out.
func sound(ctx context.Context, s *models.Store, log *slog.Logger) ([]string, error) {
	all, err := s.Generations(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, name := range all {
		_, err := s.Generation(ctx, name)
		if damage, damaged := errors.AsType[*models.FileError](err); damaged {
			log.Warn("a damaged generation is left out", "err", damage)
			continue
		}
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("the store has no generation: %w", models.ErrNotFound)
	}
	return names, nil
}

// Promotable returns the newest of these generations, oldest first and at least one, that was neither refused nor
// rolled back. It goes back to the one that is served at most. The error is an *ObjectionError if there is none.
func Promotable(names []string, served string, objections map[string]string) (string, error) {
	newest := names[len(names)-1]
	for _, name := range slices.Backward(names) {
		// names begin with their times
		if _, objected := objections[name]; !objected && (name > served || name == newest) {
			return name, nil
		}
	}
	return "", &ObjectionError{Generation: newest, Why: objections[newest], Newest: true}
}

// Promote serves a generation. The error wraps ErrServed or models.ErrConflict, models.ErrNotFound without such a
// generation, or is an *ObjectionError.
func Promote(ctx context.Context, s *models.Store, r *Request) (*Change, error) {
	served, err := replaced(ctx, s, r)
	if err != nil {
		return nil, err
	}
	objections, err := s.Objections(ctx)
	if err != nil {
		return nil, err
	}
	to := r.To
	if to == "" {
		names, err := sound(ctx, s, r.Logger)
		if err != nil {
			return nil, err
		}
		if to, err = Promotable(names, served.Name, objections); err != nil {
			return nil, err
		}
	}
	if to == served.Name {
		return nil, fmt.Errorf("generation %q %w", to, ErrServed)
	}
	if why, ok := objections[to]; ok && r.Why == "" {
		return nil, &ObjectionError{Generation: to, Why: why}
	}
	return r.change(ctx, s, models.Change{To: to, From: served.Name}, "promoting", s.Promote)
}

// Rollback serves a generation again. The error wraps models.ErrNeverServed if it was never served, and else is as that
// of Promote.
func Rollback(ctx context.Context, s *models.Store, r *Request) (*Change, error) {
	served, err := replaced(ctx, s, r)
	if err != nil {
		return nil, err
	}
	to, err := s.RollbackTarget(ctx, r.To)
	if err != nil {
		return nil, err
	}
	if to == served.Name {
		return nil, fmt.Errorf("generation %q %w", to, ErrServed)
	}
	return r.change(ctx, s, models.Change{To: to, From: served.Name}, "rolling back", s.Rollback)
}

// replaced returns the generation that is served, as the request expects.
func replaced(ctx context.Context, s *models.Store, r *Request) (*models.Generation, error) {
	served, err := Champion(ctx, s, r.Logger)
	if err == nil && r.From != "" && served.Name != r.From {
		err = fmt.Errorf("generation %q is served, not %q: %w", served.Name, r.From, models.ErrConflict)
	}
	return served, err
}

// change makes a change, after the generation has loaded all its models as a scorer does.
func (r *Request) change(ctx context.Context, s *models.Store, c models.Change, doing string,
	do func(context.Context, models.Change) error,
) (*Change, error) {
	g, err := s.Generation(ctx, c.To)
	if err == nil {
		_, err = scoring.LoadGeneration(ctx, s, g, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	if c.By, c.Why, c.Command = r.By, r.Why, r.Command; !r.DryRun {
		err = do(ctx, c)
	}
	return &Change{c.From, g}, err
}
