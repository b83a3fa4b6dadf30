package train

import (
	"fmt"
	"slices"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/models"
)

// served is the models of one generation, which score notes as a scorer of the stream does.
type served map[string]*classifier.Model

var errWithoutOther = fmt.Errorf("the generation has no model %q: %w", bundle.Other, models.ErrNotFound)

// probabilities returns the probability of admission of each row, by the model of its complaint or that of all.
// Auxiliary values that the rows do not have are missing.
func (s served) probabilities(d *Data) []float64 {
	out := make([]float64, len(d.Rows))
	for name, at := range scoredBy(d.Rows, s.has) {
		r := newReader(s[name], d)
		for _, i := range at {
			row := &d.Rows[i]
			out[i] = r.scorer.Probability(row.Text, r.read(row))
		}
	}
	return out
}

func (s served) has(model string) bool { return s[model] != nil }

// reader scores rows with one model, as a scorer of the stream reads them.
type reader struct {
	scorer *classifier.Scorer
	from   []int // for each auxiliary column of the model its place in a row: -1 is missing, -2 the complaint
	values []msg.Value
}

const (
	missing     = -1
	ofComplaint = -2
)

func newReader(m *classifier.Model, d *Data) *reader {
	few := classifier.Limits{Topics: 1, Terms: 1, Words: 1, Evidence: 1}
	scorer := m.Scorer(classifier.Options{Limits: few, Intake: d.Intake})
	r := &reader{scorer: scorer, values: make([]msg.Value, len(m.Aux()))}
	for _, column := range m.Aux() {
		r.from = append(r.from, place(d.Aux, column.Name))
	}
	return r
}

// place returns where rows with these auxiliary values have a column: a position, missing or ofComplaint.
func place(aux []Aux, column string) int {
	if column == bundle.ComplaintColumn {
		return ofComplaint
	}
	return slices.IndexFunc(aux, func(a Aux) bool { return a.Name == column })
}

// value returns the auxiliary value at a place.
func (r *Row) value(at int) msg.Value {
	switch at {
	case missing:
		return msg.Value{}
	case ofComplaint:
		return classifier.Complaint(r.Complaint)
	}
	return r.Aux[at]
}

// read returns the auxiliary values of a row, until the next call.
func (r *reader) read(row *Row) []msg.Value {
	for c, at := range r.from {
		r.values[c] = row.value(at)
	}
	return r.values
}

// Probabilities returns those of admission of labelled notes, each by the model that will score it.
func (t *Trained) Probabilities(d Data) ([]float64, error) {
	s := served{}
	for _, b := range t.Bundles {
		m, err := classifier.Load(b)
		if err != nil {
			return nil, fmt.Errorf("reading model %q: %w", b.Manifest.Name, err)
		}
		s[b.Manifest.Name] = m
	}
	if s[bundle.Other] == nil {
		return nil, errWithoutOther
	}
	return s.probabilities(&d), nil
}
