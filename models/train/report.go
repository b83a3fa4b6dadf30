package train

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/folds"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/models/gate"
	"github.com/wardcast/wardcast/models/report"
)

// report returns what the model is worth on the notes that it was trained on, out of fold.
func (f *Fitted) report(b *bundle.Bundle, d *Data, o *Outcome, job *Job) (*report.Report, error) {
	m := &b.Manifest
	model, err := classifier.Load(b)
	if err != nil {
		return nil, fmt.Errorf("reading model %q: %w", m.Name, err)
	}
	about := job.About
	if m.Name != bundle.Other {
		about.Nurse = nil // whose figures are of all complaints
	}
	about.Training = report.Window{
		From: m.Training.From, To: m.Training.To, Notes: m.Training.Documents,
		Events: m.Training.Positives, Patients: known(d.Rows),
	}
	about.Evaluation = about.Training
	o.StyleShare = style(model, d)
	return report.Build(report.Report{
		Manifest: m, Topics: m.Rank, Words: nonzero(f.Heads[0].Words), Pieces: nonzero(f.Heads[0].Grams),
		Terms: len(b.Vocabulary), Supervised: Method(m.Method).Supervised(), Heaviest: model.Words(heaviest),
		Correction: f.correction, Classes: o.Classes, Data: about, Site: job.Site,
	}, report.Evaluation{
		Kind: report.OutOfFold, Admitted: labels(d.Rows), Probabilities: f.OutOfFold,
		Patients: patients(d.Rows), Groupings: shownGroupings(d), Style: o.StyleShare,
	})
}

// The share of style is that in so many of the largest parts of the explanations of so many notes at most.
const (
	largestParts   = 3
	explainedNotes = 2000
)

// style returns the share of words that are no finding among the largest parts of a model's explanations of evenly
// spaced notes; nil if these have no parts.
func style(m *classifier.Model, d *Data) *float64 {
	r, step := newReader(m, d), (len(d.Rows)+explainedNotes-1)/explainedNotes
	style, all := 0., 0.
	var p msg.Prediction
	for i := 0; i < len(d.Rows); i += step {
		r.scorer.Score(d.Rows[i].Text, r.read(&d.Rows[i]), &p)
		for _, e := range p.Evidence[:min(len(p.Evidence), largestParts)] {
			if e.Contribution != 0 {
				all++
			}
			if e.Other == msg.OtherWords {
				style++
			}
		}
	}
	if all == 0 {
		return nil
	}
	return new(style / all)
}

const heaviest = 8 // how many words a report names of those that move predictions most

// known returns the number of patients, 0 if a row lacks its own.
func known(rows []Row) int {
	a := CountAttenders(rows)
	if a.UnknownPatient > 0 {
		return 0
	}
	return a.Patients
}

// report draws the reports of the versions again: with the verdict v, and on the candidate's notes if they are of
// another kind than cross-validation. That of the model of all complaints is about all models that are served together,
// for each note the one that scores it: these are the figures that patients meet. Another is about the notes of its
// complaint, and keeps its cross-validation if they are too few. before may be nil.
func (c *Candidate) report(bundles []*bundle.Bundle, kind report.Kind, before *champion, v *gate.Verdict) error {
	notes := byModel(c.Notes.Rows)
	own, thresholds := c.together(bundles, before)
	for _, b := range bundles {
		d, p, at, system := c.Notes, c.Probabilities, thresholds, &report.System{Own: own, Seen: c.seen}
		if b.Manifest.Name != bundle.Other {
			rows := notes[b.Manifest.Name]
			d.Pooled = false
			d, p, at, system = d.subset(rows), lists.Take(p, rows), nil, nil
		}
		var r *report.Report
		var err error
		if system == nil && kind == report.OutOfFold || rarer(d.Rows) < report.Suppression {
			r, err = report.Judged(b, v)
		} else {
			e := report.Evaluation{Kind: kind, Probabilities: p, Thresholds: at, System: system}
			if before != nil {
				e.Shifts = before.shifts[b.Manifest.Name]
			}
			r, err = c.renewed(b, &d, e, v)
		}
		if err != nil {
			return err
		}
		if err := r.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// renewed returns the report of b on notes, of which e holds the predictions.
func (c *Candidate) renewed(b *bundle.Bundle, d *Data, e report.Evaluation, v *gate.Verdict) (*report.Report, error) {
	model, err := classifier.Load(b)
	if err != nil {
		return nil, fmt.Errorf("reading model %q: %w", b.Manifest.Name, err)
	}
	about := c.About
	about.Evaluation.From, about.Evaluation.To = period(d.Rows)
	about.Evaluation.Patients = known(d.Rows)
	e.Admitted, e.Patients, e.Groupings, e.Style = labels(d.Rows), patients(d.Rows), shownGroupings(d), style(model, d)
	return report.Renew(b, about, e, v)
}

// together returns the models of single complaints that are served with these, and the threshold of each note by the
// model that scores it.
func (c *Candidate) together(bundles []*bundle.Bundle, before *champion) (own []string, thresholds []float64) {
	by := map[string]float64{}
	if before != nil {
		for name := range c.staying(before.generation) {
			by[name] = before.bundles[name].Manifest.Threshold
		}
	}
	for _, b := range bundles {
		by[b.Manifest.Name] = b.Manifest.Threshold
	}
	thresholds = make([]float64, len(c.Notes.Rows))
	for name, at := range scoredBy(c.Notes.Rows, func(model string) bool { _, served := by[model]; return served }) {
		for _, i := range at {
			thresholds[i] = by[name]
		}
	}
	delete(by, bundle.Other)
	return slices.Sorted(maps.Keys(by)), thresholds
}

func period(rows []Row) (from, to time.Time) {
	times := slices.DeleteFunc(lists.Map(rows, func(r Row) time.Time { return r.Arrived }), time.Time.IsZero)
	if len(times) > 0 {
		from, to = slices.MinFunc(times, time.Time.Compare), slices.MaxFunc(times, time.Time.Compare)
	}
	return from, to
}

// ageField has subgroups by band, groupFields by value. site is among these even if it is no auxiliary value.
const (
	ageField  = bundle.AgeColumn
	siteField = "site"
)

var groupFields = []string{"sex", siteField, "acuity"}

// Groupings returns the subgroups in which a model of these notes is judged: by complaint if there are several, by
// site, and by age band, sex and acuity if they are auxiliary values. Levels of too few patients to be named are one
// subgroup, intake.Others.
func Groupings(d *Data) []gate.Grouping {
	var out []gate.Grouping
	who := patients(d.Rows)
	add := func(name string, level func(r *Row) string) {
		g := gate.Grouping{Name: name, Level: make([]string, len(d.Rows))}
		for i := range d.Rows {
			g.Level[i] = level(&d.Rows[i])
		}
		if name != ageField { // whose levels are ours
			intake.HideRare(g.Level, who)
		}
		if folds.Distinct(g.Level) > 1 {
			out = append(out, g)
		}
	}
	if d.Pooled {
		add("complaint", func(r *Row) string { return bundle.Slug(r.Complaint) })
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
			add(a.Name, func(r *Row) string { return intake.Level(r.Aux[i]) })
		}
	}
	if !slices.ContainsFunc(d.Aux, func(a Aux) bool { return a.Name == siteField }) {
		add(siteField, func(r *Row) string { return r.Site })
	}
	return out
}

// unanswered is the level of the notes that lack an auxiliary value.
const unanswered = "missing"

// shownGroupings returns Groupings with a subgroup of the notes that lack each auxiliary value, which a report shows
// and the gate does not judge by.
func shownGroupings(d *Data) []gate.Grouping {
	out := Groupings(d)
	for i, a := range d.Aux {
		g := gate.Grouping{Name: a.Name, Level: make([]string, len(d.Rows))}
		for k := range d.Rows {
			if d.Rows[k].Aux[i] == (msg.Value{}) {
				g.Level[k] = unanswered
			}
		}
		at := slices.IndexFunc(out, func(shown gate.Grouping) bool { return shown.Name == a.Name })
		out = slices.Insert(out, cmp.Or(at+1, len(out)), g)
	}
	return out
}
