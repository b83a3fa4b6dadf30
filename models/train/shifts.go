package train

import (
	"fmt"

	"gonum.org/v1/gonum/floats"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/drift"
	"github.com/wardcast/wardcast/internal/folds"
	"github.com/wardcast/wardcast/models/report"
)

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
			learned = folds.Take(d.Rows, at)
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
