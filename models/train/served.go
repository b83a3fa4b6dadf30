package train

import (
	"fmt"
	"slices"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/models"
)

// served is the models of one generation, which score notes as a scorer of the stream does.
type served map[string]*classifier.Model

// serve makes served of bundles by the names of their models.
func serve(bundles map[string]*models.Bundle) (served, error) {
	s := served{}
	for name, b := range bundles {
		m, err := classifier.Load(b)
		if err != nil {
			return nil, fmt.Errorf("reading model %q: %w", name, err)
		}
		s[name] = m
	}
	if s[models.Other] == nil {
		return nil, fmt.Errorf("the generation has no model %q: %w", models.Other, models.ErrNotFound)
	}
	return s, nil
}

// probabilities returns the probability of admission of each row, by the model of its complaint or that of all. Auxiliary
// values that the rows do not have are missing.
func (s served) probabilities(rows []Row, aux []Aux) []float64 {
	readers := map[string]*reader{}
	out := make([]float64, len(rows))
	for i := range rows {
		name := models.Slug(rows[i].Complaint)
		if s[name] == nil {
			name = models.Other
		}
		r := readers[name]
		if r == nil {
			r = newReader(s[name], aux)
			readers[name] = r
		}
		out[i] = r.probability(&rows[i])
	}
	return out
}

// reader scores rows with one model.
type reader struct {
	scorer *classifier.Scorer
	from   []int // for each auxiliary column of the model its place in a row: -1 is missing, -2 the complaint
	values []msg.Value
}

const (
	missing     = -1
	ofComplaint = -2
)

func newReader(m *classifier.Model, aux []Aux) *reader {
	r := &reader{scorer: m.Scorer(classifier.Options{Limits: classifier.Limits{Topics: 1, Terms: 1, Words: 1, Evidence: 1}}), values: make([]msg.Value, len(m.Aux()))}
	for _, column := range m.Aux() {
		at := slices.IndexFunc(aux, func(a Aux) bool { return a.Name == column.Name })
		if column.Name == models.ComplaintColumn {
			at = ofComplaint
		}
		r.from = append(r.from, at)
	}
	return r
}

func (r *reader) probability(row *Row) float64 {
	r.read(row)
	return r.scorer.Probability(row.Text, r.values)
}

// read sets the auxiliary values of a row.
func (r *reader) read(row *Row) {
	for c, at := range r.from {
		switch at {
		case missing:
			r.values[c] = msg.Value{}
		case ofComplaint:
			r.values[c] = classifier.Complaint(row.Complaint)
		default:
			r.values[c] = row.Aux[at]
		}
	}
}

// Probabilities returns those of admission of labelled notes, each by the model that will score it.
func (t *Trained) Probabilities(d Data) ([]float64, error) {
	bundles := map[string]*models.Bundle{}
	for _, b := range t.Bundles {
		bundles[b.Manifest.Name] = b
	}
	s, err := serve(bundles)
	if err != nil {
		return nil, err
	}
	return s.probabilities(d.Rows, d.Aux), nil
}
