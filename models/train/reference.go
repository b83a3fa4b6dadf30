package train

import (
	"encoding/json"
	"fmt"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/drift"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/models"
)

// mostReference is how many notes a reference reads again. With ten bins it adds .002 to what chance makes of a PSI.
const mostReference = 5000

// reference returns what the training notes look like to the model, or as many of them as are enough, spread evenly.
// Scores are those out of fold: of its own training notes a model is surer than of new ones.
//
// In the model of all complaints, those that may have a model of their own are counted apart as well: which of them it
// will score is not known yet.
func (f *Fitted) reference(d *Data, s *Settings) (*drift.Reference, error) {
	model, err := classifier.New(f.Parts)
	if err != nil {
		return nil, fmt.Errorf("describing the training notes: %w", err)
	}
	ref := &drift.Reference{Topics: make([]float64, model.Rank()+1)}
	if ref.Scores, err = drift.NewHistogram(f.OutOfFold, drift.DefaultBins); err != nil {
		return nil, fmt.Errorf("describing the training notes: %w", err)
	}
	for _, name := range model.Categorical() {
		ref.Levels = append(ref.Levels, drift.ColumnLevels{Column: name})
	}
	ref = ref.Empty()
	if d.Pooled {
		ref.Parts = map[string]*drift.Reference{}
		for _, g := range byComplaint(*d) {
			if g.enough(s.MinDocuments, s.MinEvents) {
				ref.Parts[models.Slug(g.Complaint)] = ref.Empty()
			}
		}
	}
	r := newReader(model, d.Aux)
	var p msg.Prediction
	n := min(len(d.Rows), mostReference)
	for i := range n {
		at := i * len(d.Rows) / n
		note := r.note(&d.Rows[at], &p)
		note.Score = f.OutOfFold[at]
		ref.Add(&note)
		if part := ref.Parts[models.Slug(d.Rows[at].Complaint)]; part != nil {
			part.Add(&note)
		}
	}
	return ref, nil
}

// note returns what a row looks like to the model. It uses p.
func (r *reader) note(row *Row, p *msg.Prediction) drift.Note {
	r.read(row)
	r.scorer.Score(row.Text, r.values, p)
	return r.scorer.Reading(r.values, p)
}

// referenceField is the part of an evaluation that holds the reference.
const referenceField = "reference"

// recalibrateReference returns an evaluation whose reference holds the scores that r makes of those it has: without it,
// the recalibration would look like drift.
func recalibrateReference(evaluation json.RawMessage, r eval.Recalibration) (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(evaluation, &all); err != nil {
		return nil, fmt.Errorf("reading the evaluation: %w", err)
	}
	if all[referenceField] == nil {
		return evaluation, nil
	}
	ref := &drift.Reference{}
	if err := json.Unmarshal(all[referenceField], ref); err != nil || ref.Scores == nil || !(r.Slope > 0) {
		delete(all, referenceField) // nothing to compare with is better than a wrong reference
		return encoded("the evaluation", all)
	}
	ref.MapScores(r.Apply)
	var err error
	if all[referenceField], err = encoded("the reference", ref); err != nil {
		return nil, err
	}
	return encoded("the evaluation", all)
}
