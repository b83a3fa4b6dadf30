package train

import (
	"encoding/json"
	"fmt"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/drift"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/ingest/msg"
)

const (
	// leastReference is the number of notes below which a reference would be mostly chance.
	leastReference = 100
	// mostReference is how many notes a reference reads again. With ten bins it adds .002 to what chance makes of a PSI.
	mostReference = 5000
)

// reference returns what the notes that the model will score look like to it, nil if they are too few. Scores are those out
// of fold: to its own training notes a model is surer than to new ones. The notes are spread evenly over all.
func (m *made) reference() (*drift.Reference, error) {
	if len(m.serves) < leastReference {
		return nil, nil
	}
	model, err := classifier.New(m.fitted.Parts)
	if err != nil {
		return nil, fmt.Errorf("describing the training notes: %w", err)
	}
	scores := take(m.fitted.OutOfFold, m.serves)
	ref := &drift.Reference{Topics: make([]float64, model.Rank()+1)}
	if ref.Scores, err = drift.NewHistogram(scores, drift.DefaultBins); err != nil {
		return nil, fmt.Errorf("describing the training notes: %w", err)
	}
	for _, name := range model.Categorical() {
		ref.Levels = append(ref.Levels, drift.ColumnLevels{Column: name})
	}
	all := ref.Scores // of all notes, not of those that are read again alone
	ref.Scores = all.Empty()
	r := newReader(model, m.data.Aux)
	var p msg.Prediction
	n := min(len(m.serves), mostReference)
	for i := range n {
		at := m.serves[i*len(m.serves)/n]
		note := r.note(&m.data.Rows[at], &p)
		ref.Add(&note)
	}
	ref.Scores = all
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

// recalibrateReference returns an evaluation whose reference holds the scores that r makes of those it has: without it, the
// recalibration would look like drift.
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
