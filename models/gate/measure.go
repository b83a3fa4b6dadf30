package gate

import (
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/folds"
)

func (f *Figures) measure(n *Notes, s Settings) (err error) {
	if f.Challenger, err = eval.Assess(n.Admitted, n.Challenger, n.Patients); err != nil {
		return err
	}
	f.BaseLogLoss = f.Challenger.LogLoss.Value - f.Challenger.Knowledge.Value
	if n.Champion == nil {
		return nil
	}
	if f.Champion, err = eval.Assess(n.Admitted, n.Champion, n.Patients); err != nil {
		return err
	}
	if f.Difference, err = eval.Compare(n.Admitted, n.Challenger, n.Champion, n.Patients); err != nil {
		return err
	}
	if f.Recalibrated, err = n.recalibrate(); err != nil {
		return err
	}
	for _, g := range n.Groupings {
		if err := f.compareLevels(n, g, s.MinEvents); err != nil {
			return err
		}
	}
	for i, g := range f.Subgroups {
		if f.Worst == nil ||
			g.LogLoss.Value*f.Worst.LogLoss.StandardError > f.Worst.LogLoss.Value*g.LogLoss.StandardError {
			f.Worst = &f.Subgroups[i]
		}
	}
	return nil
}

// crossFolds is the number of parts for the cross-fitting of a recalibration; it has two parameters, so more parts gain
// nothing. The seed is fixed, for equal verdicts.
const (
	crossFolds = 5
	crossSeed  = 1
)

// recalibrate returns the champion's recalibration, or nil if there is none.
func (n *Notes) recalibrate() (*Recalibrated, error) {
	whole, err := eval.FitRecalibration(n.Admitted, n.Champion)
	if err != nil || whole == nil || n.patients() < crossFolds {
		return nil, err
	}
	fold, err := eval.StratifiedFolds(n.Admitted, n.Patients, crossFolds, crossSeed)
	if err != nil {
		return nil, err
	}
	p := make([]float64, len(fold))
	for k := range crossFolds {
		others, held := folds.Split(fold, k)
		fit, err := eval.FitRecalibration(folds.Take(n.Admitted, others), folds.Take(n.Champion, others))
		if err != nil || fit == nil {
			return nil, err
		}
		for _, i := range held {
			p[i] = fit.Apply(n.Champion[i])
		}
	}
	r := &Recalibrated{Recalibration: *whole, Probabilities: p}
	if r.Assessment, err = eval.Assess(n.Admitted, p, n.Patients); err != nil {
		return nil, err
	}
	losses := eval.Losses(n.Admitted, p)
	if r.Gain, err = eval.MeanDifference(losses, eval.Losses(n.Admitted, n.Champion), n.Patients); err != nil {
		return nil, err
	}
	r.Challenger, err = eval.MeanDifference(losses, eval.Losses(n.Admitted, n.Challenger), n.Patients)
	return r, err
}

// compareLevels appends the subgroups of a grouping that have enough notes, by name.
func (f *Figures) compareLevels(n *Notes, g Grouping, least int) error {
	for level, at := range g.Subgroups() {
		part := Notes{
			Admitted: folds.Take(n.Admitted, at), Challenger: folds.Take(n.Challenger, at),
			Champion: folds.Take(n.Champion, at), Patients: folds.Take(n.Patients, at),
		}
		events := eval.Positives(part.Admitted)
		if min(events, len(at)-events) < least || part.patients() < 2 {
			continue
		}
		d, err := eval.MeanDifference(eval.Losses(part.Admitted, part.Challenger),
			eval.Losses(part.Admitted, part.Champion), part.Patients)
		if err != nil {
			return err
		}
		f.Subgroups = append(f.Subgroups,
			Subgroup{Grouping: g.Name, Level: level, Notes: len(at), Events: events, LogLoss: d})
	}
	return nil
}
