package scoring

import (
	"strings"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/models"
)

// Scorer scores notes with one set in one goroutine.
type Scorer struct {
	set     *Set
	options classifier.Options
	routes  map[string]route // by complaint as spelled
	open    map[*classifier.Model]*opened
}

// route is what the spelling of a complaint leads to.
type route struct {
	*opened   // nil without a model
	complaint msg.Value
}

// opened is a model's scorer and how its auxiliary values are read from a note.
type opened struct {
	scorer *classifier.Scorer
	aux    []func(*msg.Note, msg.Value) msg.Value
	values []msg.Value
}

// maxRoutes bounds the spellings of complaints that are remembered; beyond it they are looked up anew.
const maxRoutes = 10000

// Scorer returns a scorer for one goroutine.
func (s *Set) Scorer(options classifier.Options) *Scorer {
	return &Scorer{set: s, options: options, routes: map[string]route{}, open: map[*classifier.Model]*opened{}}
}

// Set returns the set that s scores with.
func (s *Scorer) Set() *Set { return s.set }

// Score answers a note in p, whose slices it reuses, with scoredAt as the time. The rest of the answer is a
// pure function of note and set. Strings of p alias the note and the model. The error is a *msg.Error: NoModel where
// neither the complaint nor all complaints have a model.
func (s *Scorer) Score(n *msg.Note, scoredAt string, p *msg.Prediction) error {
	r := s.route(n.Complaint)
	if r.opened == nil {
		return &msg.Error{Reason: msg.NoModel}
	}
	r.read(n)
	p.SchemaVersion = msg.SchemaVersion
	p.VisitID, p.ArrivedAt, p.Complaint, p.ScoredAt = n.VisitID, n.ArrivedAt, n.Complaint, scoredAt
	r.scorer.Score(n.Text, r.values, p)
	return nil
}

// Probability returns the calibrated probability of admission alone, and false where the note has no model.
func (s *Scorer) Probability(n *msg.Note) (float64, bool) {
	r := s.route(n.Complaint)
	if r.opened == nil {
		return 0, false
	}
	r.read(n)
	return r.scorer.Probability(n.Text, r.values), true
}

// read sets the auxiliary values of a note.
func (r *route) read(n *msg.Note) {
	for i, read := range r.aux {
		r.values[i] = read(n, r.complaint)
	}
}

func (s *Scorer) route(complaint string) route {
	if r, ok := s.routes[complaint]; ok {
		return r
	}
	complaint = strings.Clone(complaint) // what is kept must not hold on to the message it came in
	r := route{complaint: classifier.Complaint(complaint)}
	if model := s.set.model(complaint); model != nil {
		if r.opened = s.open[model]; r.opened == nil {
			r.opened = &opened{scorer: model.Scorer(s.options), values: make([]msg.Value, len(model.Aux()))}
			for _, c := range model.Aux() {
				r.aux = append(r.aux, reader(c.Name))
			}
			s.open[model] = r.opened
		}
	}
	if len(s.routes) < maxRoutes {
		s.routes[complaint] = r
	}
	return r
}

// reader returns how the value of an auxiliary column is read from a note: the field of that name, or nothing.
func reader(name string) func(n *msg.Note, complaint msg.Value) msg.Value {
	if name == models.ComplaintColumn {
		return func(_ *msg.Note, complaint msg.Value) msg.Value { return complaint }
	}
	read := fields[name]
	if read == nil {
		return func(*msg.Note, msg.Value) msg.Value { return msg.Value{} }
	}
	return func(n *msg.Note, _ msg.Value) msg.Value { return read(n) }
}

// Value returns the value of an auxiliary column of a note: the field of that name, null where there is none.
func Value(n *msg.Note, name string) msg.Value {
	return reader(name)(n, classifier.Complaint(n.Complaint))
}

// HasField reports whether a note has a field for an auxiliary column of this name.
func HasField(name string) bool { return name == models.ComplaintColumn || fields[name] != nil }

var fields = map[string]func(*msg.Note) msg.Value{
	"age":           func(n *msg.Note) msg.Value { return number(n.Age) },
	"sex":           func(n *msg.Note) msg.Value { return text(n.Sex) },
	"acuity":        func(n *msg.Note) msg.Value { return number(n.Acuity) },
	"site":          func(n *msg.Note) msg.Value { return text(n.Site) },
	"vitals.sbp":    func(n *msg.Note) msg.Value { return number(n.Vitals.SBP) },
	"vitals.dbp":    func(n *msg.Note) msg.Value { return number(n.Vitals.DBP) },
	"vitals.hr":     func(n *msg.Note) msg.Value { return number(n.Vitals.HR) },
	"vitals.rr":     func(n *msg.Note) msg.Value { return number(n.Vitals.RR) },
	"vitals.temp_c": func(n *msg.Note) msg.Value { return number(n.Vitals.TempC) },
	"vitals.spo2":   func(n *msg.Note) msg.Value { return number(n.Vitals.SpO2) },
}

func number(o msg.Optional) msg.Value {
	if !o.Set {
		return msg.Value{}
	}
	return msg.Number(o.Value)
}

func text(s string) msg.Value {
	if s == "" {
		return msg.Value{}
	}
	return msg.Text(s)
}
