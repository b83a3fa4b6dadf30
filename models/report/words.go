package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/models/gate"
)

// fewEvents and fewPerVariable are the numbers below which a report warns: Riley et al. (2020, BMJ 368) ask for more
// than the traditional ten events per variable, Collins et al. (2016, Stat. Med. 35(2)) for 100 in a validation.
const (
	fewEvents      = 100
	fewPerVariable = 10
	// slopeOff and ratioOff are how far from 1, beyond chance, slope and observed to expected may be without a warning.
	slopeOff  = 0.1
	ratioOff  = 0.05
	muchStyle = 0.03 // the share of style from which on a model leans on how notes are written
)

// warnings returns what a reader must not overlook, as whole sentences.
func (r *Report) warnings() []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	m, at := r.Metrics, r.Thresholds[0]
	if !gate.Knows(m) {
		add("No better than the base rate: the log loss is not below that of the base rate by %g standard errors. Do "+
			"not use it.", gate.Knowledge)
	}
	if TooGood(m) {
		text := wording.Capital(LooksLeaked)
		if len(r.Heaviest) > 0 {
			text += ". The words with the largest weights are " + quoted(r.Heaviest)
		}
		add("%s.", text)
	}
	if r.Kind == OutOfFold {
		add("The figures are cross-validated on the training notes, not measured on later notes. They may be too good.")
	}
	if s := at.Sensitivity; s != nil && s.Value < 0.5 {
		add("%s finds fewer than half of the patients who are admitted. The threshold was chosen for %s; choose your "+
			"own from the decision curve.", r.atThreshold(), orElse(r.Manifest.ThresholdRule, "an unrecorded rule"))
	}
	if groups := r.overlooked(); groups != "" {
		add("In these groups it finds less than half the share of admissions that it finds overall, %s: %s.",
			shareRange(at.Sensitivity), groups)
	}
	if s := m.CalibrationSlope; s != nil && (s.High < 1 || s.Low > 1) && math.Abs(s.Value-1) > slopeOff {
		direction := "extreme"
		if s.Value > 1 {
			direction = "timid"
		}
		add("Predictions are too %s: the calibration slope is %s.", direction, ranged(s, 2))
	}
	if o := m.ObservedExpected; o != nil && (o.High < 1 || o.Low > 1) && math.Abs(o.Value-1) > ratioOff {
		many := "few"
		if o.Value < 1 {
			many = "many"
		}
		add("It expects too %s admissions: %s observed for each one expected.", many, ranged(o, 2))
	}
	if r.Style != nil && *r.Style > muchStyle {
		add("Words that are no finding are %s: the model leans on how notes are written.", r.leaning())
	}
	if events := min(m.Positives, m.N-m.Positives); events < fewEvents {
		add("Only %d of the measured notes have the rarer outcome; a reliable evaluation needs at least %d.", events,
			fewEvents)
	}
	if r.EventsPerVariable > 0 && r.EventsPerVariable < fewPerVariable {
		add("Training had only %s events per variable. The penalty limits overfitting, but rely on figures from later "+
			"notes, not from training notes.", wording.Fixed(r.EventsPerVariable, 1))
	}
	return out
}

// overlooked lists the subgroups whose sensitivity is below half of that of all notes, "" for none.
func (r *Report) overlooked() string {
	all := r.Thresholds[0].Sensitivity
	var groups []string
	for _, g := range r.shown() {
		if s := g.Threshold.Sensitivity; all != nil && s != nil && s.Value < all.Value/2 {
			groups = append(groups, g.Grouping+" "+g.Level+" "+shareRange(s))
		}
	}
	return strings.Join(groups, "; ")
}

const tooGood = 0.95 // an AUROC that triage notes alone do not reach

// LooksLeaked is the warning about predictions that are TooGood.
const LooksLeaked = "the AUROC is above 0.95, too good to be true: look for text that was written after triage"

// TooGood reports whether predictions are better than triage notes allow.
func TooGood(a *eval.Assessment) bool { return a != nil && a.AUROC != nil && a.AUROC.Value > tooGood }

func grouped(n int) string { return wording.Grouped(n, ",") }

func counted(n *int) string {
	if n == nil {
		return "unknown"
	}
	return grouped(*n)
}

func (r *Report) name() string {
	switch s := r.System; {
	case s == nil:
		return "Model " + r.Manifest.Name
	case len(s.Own) == 0:
		return "Model " + r.Manifest.Name + ", for every complaint"
	default:
		return "All models together: " + r.Manifest.Name + " and those of " + wording.Count(len(s.Own), "complaint")
	}
}

// atThreshold begins a sentence about what the thresholds find.
func (r *Report) atThreshold() string {
	if r.System != nil && len(r.System.Own) > 0 {
		return "With each model at its own threshold, the system"
	}
	return fmt.Sprintf("At its threshold of %s the model", wording.Fixed(r.Thresholds[0].Threshold, 3))
}

// own says whose threshold the first is.
func (r *Report) own() string {
	if r.System != nil && len(r.System.Own) > 0 {
		return r.Manifest.Name + "; here each model's own"
	}
	return "the model's own"
}

// judged returns the verdict of the gate.
func (r *Report) judged() string {
	if r.Verdict == nil {
		return "no gate has judged this version"
	}
	return fmt.Sprintf("%s: %s", r.Verdict.Decision, r.Verdict.Reason)
}

// readers says who has read explanations.
func (r *Report) readers() string {
	return orElse(r.Site.ExplanationsReadBy, "nobody with a licence to practise, as far as is on record, neither those "+
		"of this model nor the sample in docs/explanations.md")
}

// leaning returns the share of words that are no finding in explanations.
func (r *Report) leaning() string {
	if r.Style == nil {
		return "not counted"
	}
	return wording.Percent(*r.Style) + " of the three largest parts of explanations"
}

// output says what a prediction holds, and what its decision is for.
const output = "a probability from 0 to 1; the field decision, admit from the threshold on and not_admit below it: a " +
	"mark to sort lists and count beds by, not a decision about a patient; and the parts of the note that moved the " +
	"probability, which add up to the logit exactly"

func ranged(e *eval.Estimate, digits int) string {
	if e == nil {
		return "–"
	}
	return fmt.Sprintf("%s (%s to %s)", wording.Fixed(e.Value, digits), wording.Fixed(e.Low, digits),
		wording.Fixed(e.High, digits))
}

// shareRange returns an estimated share with its interval in percent.
func shareRange(e *eval.Estimate) string {
	if e == nil {
		return "–"
	}
	return fmt.Sprintf("%s (%s to %s)", wording.Percent(e.Value), wording.Fixed(100*e.Low, 1),
		wording.Fixed(100*e.High, 1))
}

const missing = "to be filled in by the site" // stands for a field that only the site can fill in

func orElse(text, instead string) string {
	if strings.TrimSpace(text) == "" {
		return instead
	}
	return text
}

// days returns a period, "" if it is unknown.
func days(w Window) string {
	if w.From.IsZero() || w.To.IsZero() {
		return ""
	}
	return w.From.Format(time.DateOnly) + " to " + w.To.Format(time.DateOnly)
}

// InShort returns what a reader in a hurry needs, as whole sentences. The first says what the threshold finds.
func (r *Report) InShort() []string {
	m, at := r.Metrics, r.Thresholds[0]
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if at.Sensitivity != nil {
		missed := int(math.Round(100 * (1 - at.Sensitivity.Value)))
		add("%s finds %s of the patients who are admitted, and misses %d in 100.", r.atThreshold(),
			shareRange(at.Sensitivity), missed)
	}
	if at.PPV != nil {
		add("It marks %s of all patients as admissions; of these, %s are admitted.", shareRange(&at.Called),
			shareRange(at.PPV))
	}
	if a := m.AUROC; a != nil {
		add("Of 100 pairs of patients, one admitted and one not, it ranks %.0f correctly: AUROC %s. Chance is 50.",
			100*a.Value, ranged(a, 3))
	}
	if o := m.ObservedExpected; o != nil {
		expected := float64(m.Positives) / o.Value
		add("It expected %s admissions, and %s happened: %s observed for each one expected.",
			grouped(int(math.Round(expected))), grouped(m.Positives), ranged(o, 2))
	}
	add("Its log loss is %s; that of always predicting the share of admissions, %s, is %s.", ranged(&m.LogLoss, 4),
		wording.Percent(m.Prevalence.Value), wording.Fixed(m.LogLoss.Value-m.Knowledge.Value, 4))
	return out
}

func (r *Report) measuredOn() string {
	w := r.Data.Evaluation
	on := fmt.Sprintf("%s notes with %s admissions", grouped(w.Notes), grouped(w.Events))
	if w.Patients > 0 && w.Patients < w.Notes {
		on += fmt.Sprintf(", of %s patients", grouped(w.Patients))
	}
	if period := days(w); period != "" {
		on += ", " + period
	}
	switch {
	case r.Kind == Later && r.Manifest.Recalibrated != nil:
		return "Measured on " + on +
			", all later than training. The recalibration of each note comes from notes of other patients."
	case r.Kind == Later:
		return "Measured on " + on + ", all later than training."
	case r.Kind == Latest:
		return "Measured on " + on + ", the latest training notes, predicted with coefficients from the earlier notes; " +
			"the model itself learned from all."
	}
	return "Cross-validated on " + on + ", the training notes themselves."
}

func (r *Report) summary() string {
	text := r.predicts()
	if r.System == nil {
		return text
	}
	text += " The figures are those that patients meet: each note is predicted by the model that scores it."
	if r.System.Seen {
		text += " Some models are kept from before and may have learned from these notes; on those of their complaints " +
			"the figures may be too good."
	}
	if own := r.System.Own; len(own) > 0 {
		text += fmt.Sprintf(" Complaints with a model of their own: %s. The model %s, described here, predicts all "+
			"others; each model has a card of its own.", strings.Join(own, ", "), r.Manifest.Name)
	}
	return text
}

func (r *Report) predicts() string {
	of := "all presenting complaints"
	if c := r.Manifest.Complaint; c != "" {
		of = "the presenting complaint " + strconv.Quote(c)
	}
	if c := r.Manifest.Classes; len(c) > 0 {
		return fmt.Sprintf("Probability of each outcome of a patient in the emergency department, from the triage "+
			"note, for %s. The outcomes are %s; log-odds are against %q. Counted as admitted: %s.",
			of, quoted(c), c[0], quoted(r.Manifest.AdmissionClasses))
	}
	return fmt.Sprintf(
		"Probability that a patient in the emergency department is admitted, from the triage note, for %s.", of)
}

func (r *Report) formula() string {
	m := r.Manifest
	var features []string
	if r.Topics > 0 || r.Words == 0 {
		features = append(features, fmt.Sprintf("%d topics (%s)", r.Topics, m.Method))
	}
	if r.Words > 0 {
		features = append(features, grouped(r.Words)+" single words")
	}
	if r.Pieces > 0 {
		features = append(features, grouped(r.Pieces)+" pieces of words")
	}
	for _, a := range m.Aux {
		features = append(features, fmt.Sprintf("%s (%s)", a.Name, a.Kind))
	}
	made := "elastic net"
	if p := m.Penalties(); p != "" && r.Words > 0 {
		made += fmt.Sprintf(" with %s penalties", p)
	}
	if r.Supervised {
		made = "supervised factorization: topics and coefficients fitted together to text and outcomes"
	}
	if r.Correction != nil {
		made += fmt.Sprintf(" that corrects %s of the coefficients of %s, the model of all complaints",
			grouped(*r.Correction), bundle.Other)
	}
	return fmt.Sprintf("Logistic regression (%s) on %s. Vocabulary of %s terms, %s rows. Calibration: %s.", made,
		strings.Join(features, ", "), grouped(r.Terms), m.Weighting, m.Calibration.Kind)
}

// perVariable returns the events for each coefficient, in words.
func (r *Report) perVariable() string {
	switch {
	case r.Correction != nil && *r.Correction == 0:
		return "none: only the intercept differs"
	case r.Correction != nil:
		return fmt.Sprintf("%s, counting only the %s coefficients that differ from those of %s",
			wording.Fixed(r.EventsPerVariable, 1), grouped(*r.Correction), bundle.Other)
	}
	return wording.Fixed(r.EventsPerVariable, 1)
}

// caveat says what had seen the notes that training held out; "" for later notes.
func (r *Report) caveat() string {
	switch {
	case r.Kind == Later:
		return ""
	case r.Supervised:
		return "The vocabulary was learned with the text of these notes, topics and coefficients without; the weights " +
			"of the factorization, calibration and threshold were chosen by cross-validation on all training notes."
	}
	return "Vocabulary and topics were learned with the text of these notes, never with their outcomes; penalty, " +
		"calibration and threshold were chosen by cross-validation on all training notes."
}

func quoted(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = strconv.Quote(name)
	}
	return strings.Join(out, ", ")
}

func (r *Report) shown() []Subgroup {
	return slices.DeleteFunc(slices.Clone(r.Subgroups), func(g Subgroup) bool {
		return g.Suppressed || g.Metrics == nil || g.Threshold == nil
	})
}

const named = 30 // how many small subgroups of a grouping are named; the others are counted

// small names the subgroups without figures, "" for none.
func (r *Report) small() string {
	var groupings []string
	levels := map[string][]string{}
	for _, g := range r.Subgroups {
		if !g.Suppressed {
			continue
		}
		if levels[g.Grouping] == nil {
			groupings = append(groupings, g.Grouping)
		}
		levels[g.Grouping] = append(levels[g.Grouping], g.Level)
	}
	if groupings == nil {
		return ""
	}
	for i, name := range groupings {
		all := levels[name]
		groupings[i] = name + " " + strings.Join(all[:min(len(all), named)], ", ")
		if more := len(all) - named; more > 0 {
			groupings[i] += fmt.Sprintf(" and %d more", more)
		}
	}
	return fmt.Sprintf("Fewer than %d admissions, or fewer than %d other notes: %s.", Suppression, Suppression,
		strings.Join(groupings, "; "))
}
