package scoring

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/drift"
	"github.com/wardcast/wardcast/models"
)

// Set is one generation of models. It is safe for concurrent use unless changed.
type Set struct {
	Generation string
	Models     map[string]*classifier.Model // by name
	Versions   map[string]string            // of the models
	About      map[string]About             // the models
}

// About is information about a model besides its scores.
type About struct {
	Created      time.Time // when it was trained
	Complaint    string
	Training     bundle.Training
	Recalibrated *bundle.Training // nil if it was not
	Metrics      json.RawMessage  // with intervals; nil if not in the manifest
	Reference    *drift.Reference // its view of the training notes; nil if unknown
}

// ErrNoChampion says that the store serves no generation.
var ErrNoChampion = errors.New("no champion in the model store")

// Load reads and checks the served generation: all its models, or none and an error that names each bad file. It reuses
// versions of running, which may be nil and must be a set of this store.
func Load(ctx context.Context, store *models.Store, running *Set) (*Set, error) {
	g, err := store.Champion(ctx)
	_, damaged := errors.AsType[*models.FileError](err)
	switch {
	case errors.Is(err, models.ErrNotFound) && !damaged:
		return nil, fmt.Errorf("%w: %w", ErrNoChampion, err)
	case err != nil:
		return nil, fmt.Errorf("reading the champion: %w", err)
	}
	return LoadGeneration(ctx, store, g, running)
}

// LoadGeneration reads and checks a generation like Load, whether or not it is served.
func LoadGeneration(ctx context.Context, store *models.Store, g *models.Generation, running *Set) (*Set, error) {
	if running != nil && running.Generation == g.Name {
		return running, nil
	}
	s := &Set{
		Generation: g.Name, Models: map[string]*classifier.Model{}, Versions: g.Versions(),
		About: map[string]About{},
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.Versions)) {
		if running != nil && running.Versions[name] == s.Versions[name] {
			s.Models[name], s.About[name] = running.Models[name], running.About[name]
			continue
		}
		if err := s.read(ctx, store, name); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Set) read(ctx context.Context, store *models.Store, name string) error {
	b, err := store.Load(ctx, name, s.Versions[name])
	if err != nil {
		return fmt.Errorf("reading generation %q: %w", s.Generation, err)
	}
	model, err := classifier.Load(b)
	if err != nil {
		return err
	}
	reference, err := drift.ReadReference(b.Evaluation)
	if err == nil && reference != nil {
		err = reference.Check(model.Rank(), model.Categorical())
	}
	if err != nil {
		return fmt.Errorf("reading generation %q: model %q, version %q: evaluation.json: %w", s.Generation, name,
			s.Versions[name], err)
	}
	s.Models[name] = model
	s.About[name] = About{
		Created: b.Manifest.CreatedAt, Complaint: b.Manifest.Complaint, Training: b.Manifest.Training,
		Recalibrated: b.Manifest.Recalibrated, Metrics: b.Manifest.Metrics, Reference: reference,
	}
	return nil
}

// Aux returns the names of the auxiliary columns of all models, in order, without the complaint.
func (s *Set) Aux() []string {
	names := map[string]bool{}
	for _, m := range s.Models {
		for _, a := range m.Aux() {
			names[a.Name] = true
		}
	}
	delete(names, bundle.ComplaintColumn)
	return slices.Sorted(maps.Keys(names))
}

// ErrClass says that no model predicts a class.
var ErrClass = errors.New("unknown class")

// CheckClass returns an error that wraps ErrClass and names the known classes if no model predicts the class, unless
// "".
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
	if m := s.Models[bundle.Slug(complaint)]; m != nil {
		return m
	}
	return s.Models[bundle.Other]
}
