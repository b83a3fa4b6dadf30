// Package scoring answers notes with predictions by the champion of their complaint, or the pooled model. The stream
// and the command line share it, so that a note gets the same bytes everywhere.
package scoring

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/drift"
	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/models"
)

// Set is one generation of models. It is safe for concurrent use unless changed.
type Set struct {
	Generation string
	Models     map[string]*classifier.Model // by name
	Versions   map[string]string            // of the models
	About      map[string]About             // the models
	Beds       string                       // version of the fit of beds, "" for none
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
	var err error
	if s.Beds, err = store.BedsOf(ctx, g); err != nil {
		return nil, err
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

// CheckClass returns an ErrClass that names the known classes if no model predicts this one, nil for "".
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

func (s *Set) model(complaint string) *classifier.Model {
	if m := s.Models[bundle.Slug(complaint)]; m != nil {
		return m
	}
	return s.Models[bundle.Other]
}

// Scorer scores notes with one set in one goroutine.
type Scorer struct {
	Set     *Set // that it scores with
	options classifier.Options
	routes  map[string]route // by complaint as spelled
	open    map[*classifier.Model]*opened
	last    *opened // of the last note
}

// route is the model for a spelling of a complaint.
type route struct {
	*opened   // nil without a model
	complaint msg.Value
}

// opened is a model's scorer with the names and values of its auxiliary columns.
type opened struct {
	model  *classifier.Model
	scorer *classifier.Scorer
	aux    []string
	values []msg.Value
}

// Bounds of the remembered spellings of complaints, about 1 MB in all. Longer ones are looked up each time; too many
// are all forgotten: senders may write anything there.
const (
	maxRoutes   = 4096
	maxSpelling = 64 // bytes
)

// Scorer returns a scorer for one goroutine.
func (s *Set) Scorer(options classifier.Options) *Scorer {
	if options.Intake == nil {
		options.Intake = intake.Standard()
	}
	return &Scorer{Set: s, options: options, routes: map[string]route{}, open: map[*classifier.Model]*opened{}}
}

// Score answers a note in p, whose slices it reuses. Apart from the time scoredAt, the answer is a pure function of
// note, set and options. Strings of p alias the note and the model. The error is a *msg.Error: NoModel if neither the
// complaint has a model nor is there a pooled one.
func (s *Scorer) Score(n *msg.Note, scoredAt string, p *msg.Prediction) error {
	r := s.route(n.Complaint)
	s.last = r.opened
	if r.opened == nil {
		return &msg.Error{Reason: msg.NoModel}
	}
	r.read(n)
	p.SchemaVersion = msg.SchemaVersion
	p.VisitID, p.Complaint, p.ScoredAt = n.VisitID, n.Complaint, scoredAt
	r.scorer.Score(n.Text, r.values, p)
	s.options.Intake.Note(n, p)
	return nil
}

// Reading returns the model that answered the last note of Score in p, and its view of the note until the next call.
func (s *Scorer) Reading(p *msg.Prediction) (*classifier.Model, drift.Note) {
	return s.last.model, s.last.scorer.Reading(p)
}

// Model returns the model of the last note of Score, or nil.
func (s *Scorer) Model() *classifier.Model {
	if s.last == nil {
		return nil
	}
	return s.last.model
}

// Probability returns only the calibrated probability of admission, or false if the note has no model.
func (s *Scorer) Probability(n *msg.Note) (float64, bool) {
	r := s.route(n.Complaint)
	if r.opened == nil {
		return 0, false
	}
	r.read(n)
	return r.scorer.Probability(n.Text, r.values), true
}

func (r *route) read(n *msg.Note) {
	for i, name := range r.aux {
		r.values[i] = value(n, name, r.complaint)
	}
}

func (s *Scorer) route(complaint string) route {
	if r, ok := s.routes[complaint]; ok {
		return r
	}
	complaint = strings.Clone(complaint) // a kept string must not retain its message
	r := route{complaint: classifier.Complaint(complaint)}
	if model := s.Set.model(complaint); model != nil {
		if r.opened = s.open[model]; r.opened == nil {
			r.opened = &opened{model: model, scorer: model.Scorer(s.options), values: make([]msg.Value,
				len(model.Aux()))}
			for _, c := range model.Aux() {
				r.aux = append(r.aux, c.Name)
			}
			s.open[model] = r.opened
		}
	}
	if len(complaint) <= maxSpelling {
		if len(s.routes) == maxRoutes {
			clear(s.routes)
		}
		s.routes[complaint] = r
	}
	return r
}

// value returns the value of an auxiliary column of a note, null if it has no such field or value.
func value(n *msg.Note, name string, complaint msg.Value) msg.Value {
	if name == bundle.ComplaintColumn {
		return complaint
	}
	return n.Value(name)
}

// Value returns the value of an auxiliary column of a note, or null.
func Value(n *msg.Note, name string) msg.Value {
	return value(n, name, classifier.Complaint(n.Complaint))
}
