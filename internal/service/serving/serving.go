// Package serving changes which generation of a model store is served, with the checks that the command line and the
// HTTP API share: all models of the generation must load first.
package serving

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/models"
)

// Request asks for another generation to be served.
type Request struct {
	// generation; "" for the newest without an objection, or in a rollback the one served before
	To      string
	From    string // the served one, according to the caller; "" for any
	By, Why string
	Command string // the command line or HTTP route
	DryRun  bool   // check everything and change nothing
	Mend    bool   // vouch for a history that disagrees with the champion; To is then named, with a reason
	Logger  *slog.Logger
}

// Change is a change, or in a dry run a possible one.
type Change struct {
	From string             // "" if nothing was served
	To   *models.Generation // that is served now
}

// ErrServed says that the generation is served already.
var ErrServed = errors.New("is served already")

// ObjectionError says that a generation was refused by the gate or rolled back, and that serving it requires a reason.
type ObjectionError struct {
	Generation string
	Why        string // "was refused: …" or "was rolled back: …"
	Newest     bool   // no generation was requested, and this is the newest
}

func (e *ObjectionError) Error() string {
	if e.Newest {
		return fmt.Sprintf("nothing newer to promote: generation %q %s; promoting it needs its name and a reason",
			e.Generation, wording.Visible(e.Why))
	}
	return fmt.Sprintf("generation %q %s; promoting it needs a reason", e.Generation,
		wording.Visible(e.Why))
}

// Champion returns the served generation, or one without a name. It logs a damaged champion, which can be replaced.
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

// Newest returns the name of the newest undamaged generation.
func Newest(ctx context.Context, s *models.Store, log *slog.Logger) (string, error) {
	names, err := undamaged(ctx, s, log)
	if err != nil {
		return "", err
	}
	return names[len(names)-1], nil
}

// undamaged returns the names of all undamaged generations, oldest first, at least one, and warns of the others.
func undamaged(ctx context.Context, s *models.Store, log *slog.Logger) ([]string, error) {
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
		return nil, fmt.Errorf("the store has no generation; \"wardcast train\" makes one (%w)", models.ErrNotFound)
	}
	return names, nil
}

// Promotable returns the newest of these generations (oldest first, at least one) that was neither refused nor rolled
// back, but none older than the served one. Otherwise the error is an *ObjectionError.
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

// Promote serves a generation. Errors: *ObjectionError, ErrServed, models.ErrConflict, models.ErrDisagree,
// models.ErrNotFound.
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
		names, err := undamaged(ctx, s, r.Logger)
		if err != nil {
			return nil, err
		}
		if to, err = Promotable(names, served.Name, objections); err != nil {
			return nil, err
		}
	}
	if to == served.Name && !r.Mend {
		return nil, fmt.Errorf("generation %q %w", to, ErrServed)
	}
	if why, ok := objections[to]; ok && r.Why == "" {
		return nil, &ObjectionError{Generation: to, Why: why}
	}
	return r.change(ctx, s, models.Change{To: to, From: served.Name}, "promoting", s.Promote)
}

// Rollback serves an earlier generation. Errors: models.ErrNeverServed and those of Promote.
func Rollback(ctx context.Context, s *models.Store, r *Request) (*Change, error) {
	served, err := replaced(ctx, s, r)
	if err != nil {
		return nil, err
	}
	to, err := s.RollbackTarget(ctx, r.To)
	if err != nil {
		return nil, err
	}
	if to == served.Name && !r.Mend {
		return nil, fmt.Errorf("generation %q %w", to, ErrServed)
	}
	return r.change(ctx, s, models.Change{To: to, From: served.Name}, "rolling back", s.Rollback)
}

// replaced returns the served generation, if it is the expected one.
func replaced(ctx context.Context, s *models.Store, r *Request) (*models.Generation, error) {
	served, err := Champion(ctx, s, r.Logger)
	if err == nil && r.From != "" && served.Name != r.From {
		err = fmt.Errorf("generation %q is served, not %q: %w", served.Name, r.From, models.ErrConflict)
	}
	return served, err
}

// change makes a change, if all models of the generation load.
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
	if c.From == c.To && s.Agree(ctx) == nil {
		return nil, fmt.Errorf("generation %q %w", c.To, ErrServed)
	}
	c.By, c.Why, c.Command, c.DryRun, c.Mend = r.By, r.Why, r.Command, r.DryRun, r.Mend
	return &Change{c.From, g}, do(ctx, c)
}
