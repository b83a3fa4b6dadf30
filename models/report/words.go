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
	slopeOff = 0.1
	ratioOff = 0.05
)

// warnings returns what a reader must not overlook, as whole sentences.
func (r *Report) warnings() []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	m, at := r.Metrics, r.Thresholds[0]
	if !gate.Knows(m) {
		add("The model knows nothing: its log loss is not below that of the base rate by %g standard errors. Do not "+
			"use it.", gate.Knowledge)
	}
	if TooGood(m) {
		add("%s", wording.Capital(LooksLeaked)+r.heaviest()+".")
	}
	if r.Kind != Later {
		add("The figures are cross-validated on the training notes, not taken from a later period. They may be too " +
			"good.")
	}
	if s := at.Sensitivity; s != nil && s.Value < 0.5 {
		add("At its threshold of %s the model finds fewer than half of the patients who are admitted. The threshold "+
			"was chosen for %s; a site sets its own from the decision curve.",
			wording.Fixed(at.Threshold, 3), orElse(r.Manifest.ThresholdRule, "a rule that is not on record"))
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
	if events := min(m.Positives, m.N-m.Positives); events < fewEvents {
		add("Measured on %d notes of the rarer outcome; fewer than %d say little.", events, fewEvents)
	}
	if r.EventsPerVariable > 0 && r.EventsPerVariable < fewPerVariable {
		add("There were %s events for each variable in training. Penalties hold the coefficients back; trust the "+
			"figures on later notes, not those on training notes.", wording.Fixed(r.EventsPerVariable, 1))
	}
	return out
}

const tooGood = 0.95 // the AUROC that triage notes alone do not give

// LooksLeaked is what to say of predictions that are TooGood.
const LooksLeaked = "the AUROC is above 0.95, too good to be true: look for text that was written after triage"

// TooGood reports whether predictions are better than notes of triage allow.
func TooGood(a *eval.Assessment) bool { return a != nil && a.AUROC != nil && a.AUROC.Value > tooGood }

func (r *Report) heaviest() string {
	if len(r.Heaviest) == 0 {
		return ""
	}
	return ". The words of the greatest weight are " + quoted(r.Heaviest)
}

func grouped(n int) string { return wording.Grouped(n, ",") }

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
		add("At its threshold of %s the model finds %s of the patients who are admitted, and misses %d in 100.",
			wording.Fixed(at.Threshold, 3), shareRange(at.Sensitivity), missed)
	}
	if at.PPV != nil {
		add("It calls %s of all patients; of those called, %s are admitted.", shareRange(&at.Called),
			shareRange(at.PPV))
	}
	if a := m.AUROC; a != nil {
		add("Of 100 pairs of patients, one admitted and one not, it ranks %.0f rightly: AUROC %s. Chance is 50.",
			100*a.Value, ranged(a, 3))
	}
	if o := m.ObservedExpected; o != nil {
		expected := float64(m.Positives) / o.Value
		add("It expected %s admissions, and %s happened: %s observed for each one expected.",
			grouped(int(math.Round(expected))), grouped(m.Positives), ranged(o, 2))
	}
	add("Its log loss is %s; always predicting the share of admissions, %s, has %s.", ranged(&m.LogLoss, 4),
		wording.Percent(m.Prevalence.Value), wording.Fixed(m.LogLoss.Value-m.Knowledge.Value, 4))
	return out
}

// measuredOn names the notes that the figures are from.
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
	}
	return "Cross-validated on " + on + ", the training notes themselves."
}

func (r *Report) summary() string {
	of := "all presenting complaints"
	if c := r.Manifest.Complaint; c != "" {
		of = "the presenting complaint " + strconv.Quote(c)
	}
	if c := r.Manifest.Classes; len(c) > 0 {
		return fmt.Sprintf("Probability of each outcome of a patient of the emergency department, from the triage "+
			"note of %s. The outcomes are %s; log-odds are against %q. Counted as admitted: %s.",
			of, quoted(c), c[0], quoted(r.Manifest.AdmissionClasses))
	}
	return fmt.Sprintf(
		"Probability that a patient of the emergency department is admitted, from the triage note of %s.", of)
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
	if r.Supervised {
		made = "supervised factorization: topics and coefficients made together from text and outcomes"
	}
	if r.Correction != nil {
		made += fmt.Sprintf(", which corrects the model of all complaints, %s, in %s of its coefficients", bundle.Other,
			grouped(*r.Correction))
	}
	return fmt.Sprintf("Logistic regression (%s) on %s. Vocabulary of %s terms, %s rows. Calibration: %s.", made,
		strings.Join(features, ", "), grouped(r.Terms), m.Weighting, m.Calibration.Kind)
}

// perVariable returns the events for each coefficient, in words.
func (r *Report) perVariable() string {
	switch {
	case r.Correction != nil && *r.Correction == 0:
		return "none: the correction is an intercept alone"
	case r.Correction != nil:
		return fmt.Sprintf("%s, for each of the %s coefficients that correct those of %s",
			wording.Fixed(r.EventsPerVariable, 1), grouped(*r.Correction), bundle.Other)
	}
	return wording.Fixed(r.EventsPerVariable, 1)
}

// caveat says which parts had seen the notes that cross-validation held out; "" for later notes.
func (r *Report) caveat() string {
	switch {
	case r.Kind == Later:
		return ""
	case r.Supervised:
		return "The vocabulary had seen the text of the held-out notes, topics and coefficients neither text nor " +
			"outcome; weights of the factorization and threshold were chosen on these very predictions."
	}
	return "Vocabulary and topics had seen the text of the held-out notes, never their outcome; penalty and " +
		"threshold were chosen on these very predictions."
}

func quoted(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = strconv.Quote(name)
	}
	return strings.Join(out, ", ")
}

// shown returns the subgroups with figures.
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
