package train

import (
	"context"
	"fmt"
	"slices"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/models/report"
)

// estimateField is the field that holds the nurse's own estimate of admission: from 0 to 1, or in percent if most are
// above 1. A wrong one cannot change the meaning of all others.
const estimateField = "nurse_estimate"

// besideNurse returns how good the nurses' estimates are, a model without them, and fitted, which has them; nil if no
// field holds any. The second model is trained for this alone, and all are judged on the notes with an estimate.
func (f *Fitted) besideNurse(ctx context.Context, d Data, s Settings) ([]report.Beside, error) {
	at := slices.IndexFunc(d.Aux, func(a Aux) bool { return a.Name == estimateField })
	if at < 0 || d.Classes != nil {
		return nil, nil
	}
	var nurse []float64
	var asked []int
	for i, r := range d.Rows {
		if v, ok := r.Aux[at].Number(); ok {
			nurse, asked = append(nurse, v), append(asked, i)
		}
	}
	unit, err := estimateUnit(nurse)
	if err != nil {
		return nil, err
	}
	y, who := lists.Take(labels(d.Rows), asked), lists.Take(patients(d.Rows), asked)
	if n := eval.Positives(y); min(n, len(y)-n) < minClass {
		return nil, nil
	}
	for i, v := range nurse {
		nurse[i] = min(max(v/unit, 0), 1)
	}
	d.Aux = slices.Delete(slices.Clone(d.Aux), at, at+1)
	d.Rows = slices.Clone(d.Rows)
	for i := range d.Rows {
		d.Rows[i].Aux = slices.Delete(slices.Clone(d.Rows[i].Aux), at, at+1)
	}
	without, err := Fit(ctx, d, s)
	if err != nil {
		return nil, fmt.Errorf("training without the nurse's estimate: %w", err)
	}
	var all []report.Beside
	for _, p := range []struct {
		who           string
		probabilities []float64
	}{
		{"the nurse", nurse},
		{"the model without the nurse's estimate", lists.Take(without.OutOfFold, asked)},
		{"both: the model with it", lists.Take(f.OutOfFold, asked)},
	} {
		m, err := eval.Measure(y, p.probabilities, nurseThreshold, who)
		if err != nil {
			return nil, fmt.Errorf("measuring the nurse's estimate: %w", err)
		}
		all = append(all, report.Beside{Who: p.who, Notes: len(y), AUROC: *m.AUROC, Accuracy: m.Accuracy})
	}
	return all, nil
}

// estimateUnit returns what stands for certain in estimates: 1 in shares, 100 in percent. The error says that there are
// many of both, of which a model would learn a mixture.
func estimateUnit(estimates []float64) (float64, error) {
	percents, shares := 0, 0
	for _, v := range estimates {
		if v > 1 {
			percents++
		} else if v > 0 && v < 1 {
			shares++
		}
	}
	if 10*min(percents, shares) > len(estimates) {
		return 0, fmt.Errorf("the field %s has %d shares below 1 and %d percents: write all on one scale", estimateField,
			shares, percents)
	}
	if 2*percents > len(estimates) {
		return 100, nil
	}
	return 1, nil
}

// nurseThreshold is from where on an estimate says that the patient will be admitted.
const nurseThreshold = 0.5
