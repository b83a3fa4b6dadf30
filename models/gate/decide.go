package gate

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/folds"
	"github.com/wardcast/wardcast/internal/lists"
)

// saneSlope bounds the slope of a recalibration that is served. Beyond it the champion is not out of calibration but
// broken, or the outcomes are, and a map that flattens every prediction would hide it.
var saneSlope = eval.Interval{Low: 0.5, High: 2}

// decide sets decision and reason from the figures.
func (v *Verdict) decide(n *Notes, s Settings) {
	f := &v.Figures
	objection := f.objection(n, s)
	switch r := f.Recalibrated; {
	case f.Champion != nil && !n.Seen && !n.Fixed && f.recalibrates(s) &&
		(objection != "" || r.Challenger.Value <= s.Margin*r.Challenger.StandardError):
		v.Decision = Recalibrate
		v.Reason = fmt.Sprintf("the champion with intercept %+.3f and slope %.3f has log loss %.4f, as it was %.4f, "+
			"the challenger %.4f; AUROC %s of the champion and %s of the challenger, on %s",
			r.Intercept, r.Slope, r.Assessment.LogLoss.Value, f.Champion.LogLoss.Value, f.Challenger.LogLoss.Value,
			area(f.Champion), area(f.Challenger), f.sample())
	case objection != "" && n.Seen && Knows(f.Challenger):
		v.refuse("%s, on %s; the champion may have learned from these notes, which flatters it: add notes that "+
			"arrived later", objection, f.sample())
	case objection != "":
		v.refuse("%s, on %s", objection, f.sample())
	case f.Champion == nil:
		v.Decision = Promote
		v.Reason = fmt.Sprintf("the first model: log loss %.4f, below %.4f of the base rate; AUROC %s, on %s",
			f.Challenger.LogLoss.Value, f.BaseLogLoss, area(f.Challenger), f.sample())
	default:
		v.Decision = Promote
		v.Reason = fmt.Sprintf("%s, and no subgroup is clearly worse off; AUROC %s against %s, on %s", f.losses(),
			area(f.Challenger), area(f.Champion), f.sample())
	}
}

func (v *Verdict) refuse(format string, args ...any) {
	v.Decision = Refuse
	v.Reason = fmt.Sprintf(format, args...)
}

// recalibrates reports whether the recalibrated champion is worth more than the champion as it is.
func (f *Figures) recalibrates(s Settings) bool {
	r := f.Recalibrated
	return r != nil && r.Gain.Value < 0 && r.Gain.Value <= -s.RecalibrationGain*r.Gain.StandardError &&
		Knows(r.Assessment) && saneSlope.Low <= r.Slope && r.Slope <= saneSlope.High
}

// Knowledge is the number of standard errors by which predictions must beat the base rate: chance alone does so in one
// of twenty. One standard error would let a sixth of all models of shuffled outcomes pass, and more where their penalty
// was chosen on the same notes: of eight on NEISS, two.
const Knowledge = 1.645

// Knows reports whether the log loss of predictions is below that of the base rate by Knowledge standard errors.
func Knows(a *eval.Assessment) bool {
	return a.Knowledge.Value < 0 && a.Knowledge.Value <= -Knowledge*a.Knowledge.StandardError
}

// objection returns what speaks against the challenger, "" for nothing.
func (f *Figures) objection(n *Notes, s Settings) string {
	a := f.Challenger
	if l := n.Learned; l != nil && min(l.Admissions, l.Others) < l.Least {
		return fmt.Sprintf("too few notes: %d admissions and %d others; training needs at least %d of each; "+
			"log loss %.4f, AUROC %s", l.Admissions, l.Others, l.Least, a.LogLoss.Value, area(a))
	}
	if !Knows(a) {
		return fmt.Sprintf("no better than the base rate: log loss %.4f, base rate %.4f; the difference must be at "+
			"least %g standard errors (%.4f); AUROC %s",
			a.LogLoss.Value, f.BaseLogLoss, Knowledge, Knowledge*a.Knowledge.StandardError, area(a))
	}
	if f.Champion == nil {
		return ""
	}
	areas := fmt.Sprintf("AUROC %s against %s", area(a), area(f.Champion))
	d := f.Difference.LogLoss
	switch {
	case d.Value > 0 && s.Margin == 0:
		return fmt.Sprintf("%s: it is higher; %s", f.losses(), areas)
	case d.Value > s.Margin*d.StandardError:
		return fmt.Sprintf("%s, more than the margin of %g standard errors (%.4f) allows; %s", f.losses(), s.Margin,
			d.StandardError, areas)
	}
	if w := f.Worst; w != nil && w.LogLoss.Value > quantile(s.Error/float64(len(f.Subgroups)))*w.LogLoss.StandardError {
		return fmt.Sprintf("clearly worse for %s %q: its log loss there is higher by %.4f (95 %% interval %+.4f to "+
			"%+.4f) on %d notes with %d admissions; overall %s; %s",
			w.Grouping, w.Level, w.LogLoss.Value, w.LogLoss.Low, w.LogLoss.High, w.Notes, w.Events, f.losses(), areas)
	}
	if clearlyBetter := d.Value < -quantile(s.Error)*d.StandardError; clearlyBetter {
		return ""
	}
	for _, m := range []struct {
		name string
		of   *eval.Estimate
	}{{"calibration slope", a.CalibrationSlope}, {"ratio of observed to expected admissions", a.ObservedExpected}} {
		if m.of != nil && (m.of.High < s.Calibration.Low || m.of.Low > s.Calibration.High) {
			return fmt.Sprintf("out of calibration: %s %.2f (95 %% interval %.2f to %.2f), bounds %g to %g; %s; %s",
				m.name, m.of.Value, m.of.Low, m.of.High, s.Calibration.Low, s.Calibration.High, f.losses(), areas)
		}
	}
	return ""
}

func (f *Figures) losses() string {
	d := f.Difference.LogLoss
	if d.Value == 0 && d.StandardError == 0 {
		return fmt.Sprintf("log loss %.4f, the same as that of the champion for every note", f.Challenger.LogLoss.Value)
	}
	return fmt.Sprintf("log loss %.4f against %.4f of the champion (difference %s, 95 %% interval %s to %s)",
		f.Challenger.LogLoss.Value, f.Champion.LogLoss.Value, signed(d.Value), signed(d.Low), signed(d.High))
}

// signed returns v with its sign and four decimals, or with an exponent if these would be 0.
func signed(v float64) string {
	if v != 0 && math.Abs(v) < 0.00005 {
		return fmt.Sprintf("%+.1e", v)
	}
	return fmt.Sprintf("%+.4f", v)
}

func (f *Figures) sample() string {
	return fmt.Sprintf("%d held-out notes with %d admissions", f.Challenger.N, f.Challenger.Positives)
}

func area(a *eval.Assessment) string {
	if a.AUROC == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.3f", a.AUROC.Value)
}

// quantile returns the upper quantile of the standard normal distribution.
func quantile(upper float64) float64 { return distuv.UnitNormal.Quantile(1 - upper) }

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

// crossFolds is the number of parts for cross-fitting the two parameters; more parts gain nothing. The seed is fixed.
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
		fit, err := eval.FitRecalibration(lists.Take(n.Admitted, others), lists.Take(n.Champion, others))
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
			Admitted: lists.Take(n.Admitted, at), Challenger: lists.Take(n.Challenger, at),
			Champion: lists.Take(n.Champion, at), Patients: lists.Take(n.Patients, at),
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
