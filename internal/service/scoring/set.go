package scoring

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/models"
)

// Set is the champions that score notes. It is safe for concurrent use as long as nobody changes it.
type Set struct {
	Models   map[string]*classifier.Model // by name
	Versions map[string]string            // of the models
	Created  map[string]time.Time         // when each was trained
}

// ErrNoChampion means that no model of the store has a champion.
var ErrNoChampion = errors.New("no champion in the model store")

// Load reads and checks every champion of the store. If one cannot be read, the error names its file.
func Load(ctx context.Context, store *models.Store) (*Set, error) {
	versions, err := store.Champions(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading champions: %w", err)
	}
	if len(versions) == 0 {
		return nil, ErrNoChampion
	}
	s := &Set{Models: map[string]*classifier.Model{}, Versions: versions, Created: map[string]time.Time{}}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		b, err := store.Load(ctx, name, versions[name])
		if err != nil {
			errs = append(errs, fmt.Errorf("reading champion: %w", err))
			continue
		}
		model, err := classifier.Load(b)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.Models[name], s.Created[name] = model, b.Manifest.CreatedAt
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return s, nil
}

// Aux returns the names of the auxiliary values that some model takes, in order, without the complaint.
func (s *Set) Aux() []string {
	names := map[string]bool{}
	for _, m := range s.Models {
		for _, a := range m.Aux() {
			names[a.Name] = true
		}
	}
	delete(names, models.ComplaintColumn)
	return slices.Sorted(maps.Keys(names))
}

// ErrClass means that no model predicts a class.
var ErrClass = errors.New("unknown class")

// CheckClass returns an error that wraps ErrClass and names the known classes, unless a model predicts the class. "" is
// no class and always passes.
func (s *Set) CheckClass(class string) error {
	var known []string
	for _, name := range slices.Sorted(maps.Keys(s.Models)) {
		for _, c := range s.Models[name].Classes() {
			if !slices.Contains(known, c) {
				known = append(known, c)
			}
		}
	}
	switch {
	case class == "" || slices.Contains(known, class):
		return nil
	case known == nil:
		return fmt.Errorf("%w %q: the champions predict yes or no", ErrClass, class)
	}
	return fmt.Errorf("%w %q: the champions predict %q", ErrClass, class, known)
}

// model returns the model for a complaint, or nil.
func (s *Set) model(complaint string) *classifier.Model {
	if m := s.Models[models.Slug(complaint)]; m != nil {
		return m
	}
	return s.Models[models.Other]
}
