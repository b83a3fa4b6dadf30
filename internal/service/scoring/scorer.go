// Package scoring answers notes with predictions by the champion of their complaint, or the pooled model. The stream
// and the command line share it, so that a note gets the same bytes everywhere.
package scoring

import (
	"strings"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/drift"
	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/ingest/msg"
)

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

// HasField reports whether a note has a field for an auxiliary column of this name.
func HasField(name string) bool {
	var n msg.Note
	return name == bundle.ComplaintColumn || n.Number(name) != nil || n.Word(name) != nil
}
