package train

import (
	"encoding/json"
	"fmt"

	"gonum.org/v1/gonum/floats"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/drift"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/report"
)

const (
	leastReference = 100  // the number of notes below which a reference would be mostly chance
	mostReference  = 5000 // how many notes a reference reads again; chance then adds .002 to a PSI of ten bins
)

// Describe sets what the notes of the training look like to each of its versions, as a gatekeeper does.
func (t *Trained) Describe(d Data) error {
	c := Candidate{Trained: t, Notes: d, Probabilities: t.OutOfFold}
	return c.refer(nil)
}

// refer describes in each version the notes that its generation lets it score, none of which trained it: later notes
// are compared with them. last is the served generation, of which models may be kept, or nil.
func (c *Candidate) refer(last *champion) error {
	var before *models.Generation
	if last != nil {
		before = last.generation
	}
	stays := c.staying(before)
	for _, b := range c.Bundles {
		stays[b.Manifest.Name] = models.Member{}
	}
	scored := scoredBy(c.Notes.Rows, func(model string) bool { _, own := stays[model]; return own })
	for _, b := range c.Bundles {
		if err := c.describe(b, scored[b.Manifest.Name]); err != nil {
			return err
		}
	}
	return nil
}

// describe sets what these of the notes look like to a version, unless they are too few.
func (c *Candidate) describe(b *bundle.Bundle, at []int) error {
	if len(at) < leastReference {
		return nil
	}
	model, err := classifier.Load(b)
	if err != nil {
		return fmt.Errorf("describing notes: %w", err)
	}
	ref := &drift.Reference{Topics: make([]float64, model.Rank()+1)}
	if b.Manifest.Classes == nil {
		ref.Added = make([]drift.Added, model.Rank()+2)
	}
	if ref.Scores, err = drift.NewHistogram(lists.Take(c.Probabilities, at), drift.DefaultBins); err != nil {
		return fmt.Errorf("describing notes: %w", err)
	}
	for _, name := range model.Categorical() {
		ref.Levels = append(ref.Levels, drift.ColumnLevels{Column: name})
	}
	all := ref.Scores // of all notes, not of those that are read again alone
	ref.Scores = all.Empty()
	count(ref, model, c.Notes, at)
	ref.Scores = all
	return evaluated(b, drift.InEvaluation, ref)
}

// count adds what these of the notes look like to a model, or mostReference of them, spread evenly.
func count(ref *drift.Reference, model *classifier.Model, d Data, at []int) {
	r := newReader(model, &d)
	var p msg.Prediction
	n := min(len(at), mostReference)
	for i := range n {
		row := &d.Rows[at[i*len(at)/n]]
		r.scorer.Score(row.Text, r.read(row), &p)
		note := r.scorer.Reading(&p)
		ref.Add(&note)
	}
}

// evaluated sets a field of the evaluation of b, and removes it for nil.
func evaluated(b *bundle.Bundle, field string, value any) error {
	all := map[string]json.RawMessage{}
	if len(b.Evaluation) > 0 {
		if err := json.Unmarshal(b.Evaluation, &all); err != nil {
			return fmt.Errorf("reading the evaluation of model %q: %w", b.Manifest.Name, err)
		}
	}
	delete(all, field)
	var err error
	if value != nil {
		if all[field], err = encoded("the "+field, value); err != nil {
			return err
		}
	}
	b.Evaluation, err = encoded("evaluation", all)
	return err
}

// recalibrateReference applies r to the scores of the reference: otherwise the recalibration would look like drift.
func recalibrateReference(b *bundle.Bundle, r eval.Recalibration) error {
	ref, err := drift.ReadReference(b.Evaluation)
	switch {
	case err == nil && ref == nil:
		return nil
	case err != nil || ref.Scores == nil || !(r.Slope > 0):
		return evaluated(b, drift.InEvaluation, nil) // nothing to compare with is better than a wrong reference
	}
	ref.MapScores(r.Apply)
	return evaluated(b, drift.InEvaluation, ref)
}

// changes returns what has changed in the notes since the champion's versions were made, by the name of the model, as
// each version sees the notes that it scores. A version without a reference, or with too few notes, has none.
func (c *champion) changes(d Data) (map[string][]report.Shift, error) {
	out := map[string][]report.Shift{}
	for name, at := range scoredBy(d.Rows, c.models.has) {
		b, model := c.bundles[name], c.models[name]
		ref, err := drift.ReadReference(b.Evaluation)
		if err != nil {
			return nil, fmt.Errorf("model %q: %w", name, err)
		}
		if len(at) < leastReference || ref == nil || ref.Check(model.Rank(), model.Categorical()) != nil {
			continue
		}
		seen := ref.Empty()
		count(seen, model, d, at)
		shifts, err := compared(ref, seen)
		if err != nil {
			return nil, fmt.Errorf("comparing the notes of model %q with those before: %w", name, err)
		}
		learned := d.Rows // the model of all complaints learned from all notes
		if name != bundle.Other {
			learned = lists.Take(d.Rows, at)
		}
		before, now := drift.Rate{Hits: b.Manifest.Training.Positives, Of: b.Manifest.Training.Documents},
			drift.Rate{Hits: Positives(learned), Of: len(learned)}
		out[name] = append([]report.Shift{share("share of admissions", before.Share(), now.Share())}, shifts...)
	}
	return out, nil
}

func share(name string, before, now float64) report.Shift {
	return report.Shift{Name: name, Before: &before, Now: &now}
}

func distribution(name string, s drift.Shift) report.Shift {
	return report.Shift{Name: name, PSI: &s.PSI, Chance: &s.Expected}
}

// compared returns how a period differs from its reference.
func compared(before, now *drift.Reference) ([]report.Shift, error) {
	moved, err := now.Against(before)
	if err != nil {
		return nil, err
	}
	last := func(counts []float64) float64 { return counts[len(counts)-1] / floats.Sum(counts) }
	out := []report.Shift{
		distribution("distribution of the probabilities", moved.Scores),
		distribution("distribution of the main topics", moved.Topics),
		share("notes with a probability in the highest tenth of before", last(before.Scores.Counts),
			last(now.Scores.Counts)),
		share("notes without any topic", last(before.Topics), last(now.Topics)),
		share("words that the model knows", before.Known.Share(), now.Known.Share()),
	}
	for i, l := range before.Levels {
		out = append(out, share("values of "+l.Column+" that training did not have", l.Unknown.Share(),
			now.Levels[i].Unknown.Share()))
	}
	return out, nil
}
