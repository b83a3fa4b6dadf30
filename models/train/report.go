package train

import (
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"

	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/gate"
	"github.com/wardcast/wardcast/models/report"
)

// report returns what the model is worth on the notes that it was trained on, out of fold.
func (f *Fitted) report(b *models.Bundle, d *Data, o *Outcome, site *report.Site) (*report.Report, error) {
	m := &b.Manifest
	nonzero := func(values []float64) int {
		return len(values) - floats.Count(func(v float64) bool { return v == 0 }, values)
	}
	who := patients(d.Rows)
	window := report.Window{From: m.Training.From, To: m.Training.To, Notes: m.Training.Documents, Events: m.Training.Positives, Patients: distinct(who)}
	return report.Build(report.Input{
		Manifest: m, Topics: m.Rank, Words: nonzero(f.Heads[0].Words), Pieces: nonzero(f.Heads[0].Grams), Terms: len(b.Vocabulary),
		Supervised: Method(m.Method).Supervised(), Classes: o.Classes,
		Data:       report.Data{Training: window, Evaluation: window},
		Evaluation: report.Evaluation{Kind: report.OutOfFold, Admitted: labels(d.Rows), Probabilities: f.OutOfFold, Patients: who, Groupings: Groupings(d)},
		Site:       site,
	})
}

// Report returns what the generation is worth on notes later than those that it learned from, whose probabilities of admission
// are p. It fills in what in lacks: the model of all complaints stands for all.
func (t *Trained) Report(d Data, p []float64, in report.Input) (*report.Report, error) {
	b, m := t.Bundles[0], &t.Bundles[0].Manifest
	in.Manifest, in.Version, in.SHA256 = m, b.Version, b.SHA256
	in.Topics, in.Terms, in.Supervised = m.Rank, len(b.Vocabulary), Method(m.Method).Supervised()
	in.Data.Training = report.Window{From: m.Training.From, To: m.Training.To, Notes: m.Training.Documents, Events: m.Training.Positives}
	for _, r := range d.Rows {
		if in.Data.Evaluation.From.IsZero() || r.Arrived.Before(in.Data.Evaluation.From) {
			in.Data.Evaluation.From = r.Arrived
		}
		if r.Arrived.After(in.Data.Evaluation.To) {
			in.Data.Evaluation.To = r.Arrived
		}
	}
	in.Evaluation = report.Evaluation{Kind: report.Later, Admitted: labels(d.Rows), Probabilities: p, Patients: patients(d.Rows), Groupings: Groupings(&d)}
	return report.Build(in)
}

func distinct(names []string) int {
	return len(slices.Compact(slices.Sorted(slices.Values(names))))
}

// ageField is the auxiliary value whose bands are subgroups; groupFields are those whose values are.
const ageField = "age"

var groupFields = []string{"sex", "site", "acuity"}

// Groupings returns the subgroups in which a model of these notes is judged: by complaint if there are several, and by those of
// age band, sex, site and acuity that are auxiliary values.
func Groupings(d *Data) []gate.Grouping {
	var out []gate.Grouping
	add := func(name string, level func(r *Row) string) {
		g := gate.Grouping{Name: name, Level: make([]string, len(d.Rows))}
		for i := range d.Rows {
			g.Level[i] = level(&d.Rows[i])
		}
		if distinct(g.Level) > 1 {
			out = append(out, g)
		}
	}
	if d.Pooled {
		add("complaint", func(r *Row) string { return models.Slug(r.Complaint) })
	}
	for i, a := range d.Aux {
		switch {
		case a.Name == ageField:
			add("age", func(r *Row) string {
				if v, ok := r.Aux[i].Number(); ok {
					return report.AgeBand(v)
				}
				return ""
			})
		case slices.Contains(groupFields, a.Name):
			add(a.Name, func(r *Row) string {
				if text, ok := r.Aux[i].Text(); ok {
					return text
				}
				if v, ok := r.Aux[i].Number(); ok {
					return strconv.FormatFloat(v, 'g', -1, 64)
				}
				return ""
			})
		}
	}
	return out
}
