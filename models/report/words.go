package report

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/models/gate"
)

//go:embed words.txt.tmpl
var wordsTemplate string

// functions are what all templates use.
var functions = template.FuncMap{
	"grouped": grouped, "number": wording.Fixed, "percent": wording.Percent, "ranged": ranged, "share": shareRange,
	"figure": figure, "count": counted, "on": evaluatedOn, "orElse": orElse, "days": days, "leaning": leaning,
	"join": strings.Join, "site": func(text string) string { return orElse(text, missing) },
}

// words, like the other templates, is parsed on first use: each command of the program links them.
var words = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("words").Funcs(functions).Funcs(template.FuncMap{
		"quoted": quoted, "several": wording.Count, "settings": settings,
		"item": func(number, topic string) string { return "\x00" + number + "\x00" + topic + "\x00" },
	}).Parse(wordsTemplate))
})

// Say returns a text of words.txt.tmpl by its name.
func (r *Report) Say(name string) (string, error) {
	var b strings.Builder
	if err := words().ExecuteTemplate(&b, name, r); err != nil {
		return "", fmt.Errorf("writing %q: %w", name, err)
	}
	return b.String(), nil
}

// fewEvents and fewPerVariable are the numbers below which a report warns: Riley et al. (2020, BMJ 368) ask for more
// than the traditional ten events per variable, Collins et al. (2016, Stat. Med. 35(2)) for 100 in a validation.
const (
	fewEvents      = 100
	fewPerVariable = 10
	// slopeOff and ratioOff are how far from 1, beyond chance, slope and observed to expected may be without a warning.
	slopeOff  = 0.1
	ratioOff  = 0.05
	MuchStyle = 0.03 // the share of style from which on a model leans on how notes are written
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
	if r.Style != nil && *r.Style > MuchStyle {
		add("Words that are no finding are %s: the model leans on how notes are written.", leaning(r.Style))
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

// atThreshold begins a sentence about what the thresholds find.
func (r *Report) atThreshold() string {
	if r.System != nil && len(r.System.Own) > 0 {
		return "With each model at its own threshold, the system"
	}
	return fmt.Sprintf("At its threshold of %s the model", wording.Fixed(r.Thresholds[0].Threshold, 3))
}

// leaning returns the share of words that are no finding in explanations.
func leaning(style *float64) string {
	if style == nil {
		return "not counted"
	}
	return wording.Percent(*style) + " of the three largest parts of explanations"
}

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

func quoted(names []string) string {
	out := lists.Map(names, strconv.Quote)
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
