// Package report shows the people who answer for a model what it is worth: a card in Markdown, a page in HTML and the
// same figures as JSON.
//
// Build makes a Report from plain data: the manifest, the counts of the notes, the predictions of notes that the model
// was not trained on, the verdict of the gate, and the site's statements. The report of the model of all complaints is
// about all models that are served together: its figures are those that patients meet. A report follows the items of
// TRIPOD+AI (Collins et al. 2024, BMJ 385), the measures that Van Calster et al. (2025, Lancet Digit. Health) call
// essential, and the sections of CHAI's applied model card. Every figure has a 95 % interval that counts the notes of a
// patient as one. Subgroups of fewer than 20 admissions, or other notes, are named without figures.
//
// Nothing in a report is a note's text or a patient's identifier. The HTML page asks for nothing else and runs nothing.
package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/folds"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/models/gate"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Report is what a model is worth. The JSON names are stable.
type Report struct {
	Format   string           `json:"format"`
	Model    string           `json:"model"`
	Trained  time.Time        `json:"trained"`
	Manifest *bundle.Manifest `json:"-"` // it stands next to the report
	// Topics, Words and Pieces are the numbers of features that count; Terms is the size of the vocabulary.
	Topics     int      `json:"topics"`
	Words      int      `json:"words"`
	Pieces     int      `json:"pieces"`
	Terms      int      `json:"terms"`
	Supervised bool     `json:"supervised,omitempty"`     // topics and coefficients were made together
	Heaviest   []string `json:"heaviest_words,omitempty"` // those that move predictions most
	// Correction is the number of coefficients in which the model of a complaint differs from that of all complaints,
	// whose other coefficients it shares; nil if it is no such correction.
	Correction *int `json:"correction,omitempty"`
	Data       Data `json:"data"`
	// EventsPerVariable is the rarer outcome's notes in training for each coefficient; 0 without coefficients.
	EventsPerVariable float64 `json:"events_per_variable"`

	Kind        Kind                `json:"evaluated_on"`
	System      *System             `json:"system,omitempty"` // nil if it is about one model
	Metrics     *eval.Assessment    `json:"metrics"`
	Thresholds  []eval.Operating    `json:"thresholds"` // the model's own first
	Calibration []eval.CurvePoint   `json:"calibration_curve,omitempty"`
	Bins        []eval.Bin          `json:"calibration_bins"`
	Decision    []eval.BenefitPoint `json:"decision_curve"`
	Risks       Histogram           `json:"predicted_risk"`
	Ranking     []RankingPoint      `json:"ranking"` // of ROC and precision-recall curve
	Subgroups   []Subgroup          `json:"subgroups,omitempty"`
	Classes     *eval.ClassMetrics  `json:"classes,omitempty"` // of several outcomes; nil for yes and no
	Verdict     *gate.Verdict       `json:"verdict,omitempty"` // nil if no gate has judged
	Shifts      []Shift             `json:"shifts,omitempty"`
	Style       *float64            `json:"style_share,omitempty"` // see Evaluation
	Warnings    []string            `json:"warnings,omitempty"`
	Site        *Site               `json:"site"`
	Items       []Item              `json:"tripod_ai"`
}

// Format is the version of a report's JSON.
const Format = "1"

// Histogram counts the predictions between Edges, for both outcomes.
type Histogram struct {
	Edges    []float64 `json:"edges"` // one more than counts
	Admitted []int     `json:"admitted"`
	Others   []int     `json:"others"`
}

// RankingPoint is what calling p ≥ Threshold comes to.
type RankingPoint struct {
	Threshold   float64 `json:"threshold"`
	Sensitivity float64 `json:"sensitivity"`
	Specificity float64 `json:"specificity"`
	PPV         float64 `json:"ppv"`
}

// Subgroup holds the figures of one level of a grouping; all but its names are 0 or nil if it is suppressed.
type Subgroup struct {
	Grouping   string           `json:"grouping"`
	Level      string           `json:"level"`
	Suppressed bool             `json:"suppressed,omitempty"` // fewer than 20 admissions, or other notes
	Metrics    *eval.Assessment `json:"metrics,omitempty"`
	Threshold  *eval.Operating  `json:"at_threshold,omitempty"`
}

// Suppression is the number of admissions, and of other notes, below which a subgroup has no figures.
const Suppression = 20

// Points of the curves.
const (
	curvePoints = 60
	bins        = 10
	riskBars    = 40
	rankPoints  = 200
	benefitStep = 0.02
	benefitTo   = 0.9
)

// otherThresholds are shown next to the model's own, three of them.
var otherThresholds = []float64{0.1, 0.3, 0.5, 0.2}

const apart = 0.05 // the least distance of another threshold from the model's own

// Build completes a report of which Manifest is given and, as far as they are known, Topics to Data, Classes, Verdict
// and Site. Errors are those of package eval about the predictions.
func Build(r Report, e Evaluation) (_ *Report, err error) {
	m := r.Manifest
	r.Format, r.Model, r.Trained, r.Site = Format, m.Name, m.CreatedAt, cmp.Or(r.Site, &Site{})
	r.Kind, r.System, r.Shifts, r.Style = e.Kind, e.System, e.Shifts, e.Style
	r.Data.Outcome = orElse(r.Data.Outcome, r.Site.Outcome)
	n := r.Topics + r.Words + r.Pieces
	for _, a := range m.Aux {
		n += max(1, len(a.Mean))
	}
	if r.Correction != nil {
		n = *r.Correction
	}
	if n > 0 {
		w := r.Data.Training
		r.EventsPerVariable = float64(min(w.Events, w.Notes-w.Events)) / float64(n)
	}
	if err := r.measure(&e); err != nil {
		return nil, fmt.Errorf("reporting on model %q: %w", m.Name, err)
	}
	w := &r.Data.Evaluation
	w.Notes, w.Events = r.Metrics.N, r.Metrics.Positives
	r.Warnings = r.warnings()
	r.Items, err = r.items()
	return &r, err
}

// Write draws the report: card.md, report.json and report.html.
func (r *Report) Write(b *bundle.Bundle) (err error) {
	if b.Card, err = r.Card(); err != nil {
		return err
	}
	if b.Report, err = r.JSON(); err != nil {
		return err
	}
	b.Page, err = r.HTML()
	return err
}

// read returns the report of b.
func read(b *bundle.Bundle) (*Report, error) {
	r := &Report{Manifest: &b.Manifest}
	if err := json.Unmarshal(b.Report, r); err != nil {
		return nil, fmt.Errorf("reading the report of model %q: %w", b.Manifest.Name, err)
	}
	return r, nil
}

// Judged returns the report of b with the verdict of the gate.
func Judged(b *bundle.Bundle, v *gate.Verdict) (*Report, error) {
	r, err := read(b)
	if err != nil {
		return nil, err
	}
	r.Verdict = v
	r.Items, err = r.items()
	return r, err
}

// Renew returns the report of b on other predictions, with the verdict of the gate. What does not depend on them is
// kept from the report of b; d describes their notes and may say what was left out.
func Renew(b *bundle.Bundle, d Data, e Evaluation, v *gate.Verdict) (*Report, error) {
	r, err := read(b)
	if err != nil {
		return nil, err
	}
	d.Training, d.Nurse = r.Data.Training, r.Data.Nurse
	r.Data, r.Verdict = d, v
	return Build(*r, e)
}

// measure sets all figures: with many notes each part takes long, so they run side by side.
func (r *Report) measure(e *Evaluation) error {
	var parts errgroup.Group
	parts.Go(func() (err error) {
		r.Metrics, err = eval.Assess(e.Admitted, e.Probabilities, e.Patients)
		return err
	})
	parts.Go(func() error { return r.curves(e) })
	groups := make([][]Subgroup, len(e.Groupings))
	for i, g := range e.Groupings {
		parts.Go(func() (err error) {
			groups[i], err = r.subgroups(e, g)
			return err
		})
	}
	err := parts.Wait()
	r.Subgroups = slices.Concat(groups...)
	return err
}

// atOwn returns what the threshold of the model comes to, or those of the models that predict the notes.
func (r *Report) atOwn(e *Evaluation) (*eval.Operating, error) {
	if e.Thresholds == nil {
		return eval.AtThreshold(e.Admitted, e.Probabilities, r.Manifest.Threshold, e.Patients)
	}
	called := make([]float64, len(e.Probabilities))
	for i, p := range e.Probabilities {
		if p >= e.Thresholds[i] {
			called[i] = 1
		}
	}
	o, err := eval.AtThreshold(e.Admitted, called, 1, e.Patients)
	if err == nil {
		o.Threshold = r.Manifest.Threshold
	}
	return o, err
}

// curves sets the figures at thresholds, and what is drawn.
func (r *Report) curves(e *Evaluation) (err error) {
	y, p, who := e.Admitted, e.Probabilities, e.Patients
	own, err := r.atOwn(e)
	if err != nil {
		return err
	}
	r.Thresholds = []eval.Operating{*own}
	var at []float64
	for _, t := range otherThresholds {
		if len(at) < 3 && math.Abs(t-own.Threshold) >= apart {
			at = append(at, t)
		}
	}
	slices.Sort(at)
	for _, t := range at {
		o, err := eval.AtThreshold(y, p, t, who)
		if err != nil {
			return err
		}
		r.Thresholds = append(r.Thresholds, *o)
	}
	if r.Calibration, err = eval.SmoothCalibration(y, p, who, curvePoints); err != nil {
		return err
	}
	if r.Bins, err = eval.CalibrationBins(y, p, bins); err != nil {
		return err
	}
	var thresholds []float64
	for i := 0; float64(i)*benefitStep <= benefitTo; i++ {
		thresholds = append(thresholds, float64(i)*benefitStep)
	}
	if r.Decision, err = eval.DecisionIntervals(y, p, thresholds, who); err != nil {
		return err
	}
	r.Risks = risks(y, p)
	r.Ranking = ranking(y, p)
	return nil
}

func risks(y []bool, p []float64) Histogram {
	h := Histogram{Admitted: make([]int, riskBars), Others: make([]int, riskBars)}
	for i := range riskBars + 1 {
		h.Edges = append(h.Edges, float64(i)/riskBars)
	}
	for i, v := range p {
		bar := min(int(v*riskBars), riskBars-1)
		if y[i] {
			h.Admitted[bar]++
		} else {
			h.Others[bar]++
		}
	}
	return h
}

// ranking returns points of ROC and precision-recall curve, about 200 at most; nil unless both classes occur.
func ranking(y []bool, p []float64) []RankingPoint {
	order := linalg.Order(len(p), func(a, b int) int { return cmp.Compare(p[b], p[a]) })
	positives := eval.Positives(y)
	negatives := len(y) - positives
	if positives == 0 || negatives == 0 {
		return nil
	}
	var out []RankingPoint
	hits, last := 0, -1
	step := max(1, len(p)/rankPoints)
	for i, row := range order {
		if y[row] {
			hits++
		}
		end := i == len(order)-1
		if !end && (p[order[i+1]] == p[row] || i-last < step) {
			continue
		}
		last = i
		out = append(out, RankingPoint{
			Threshold: p[row], Sensitivity: float64(hits) / float64(positives),
			Specificity: 1 - float64(i+1-hits)/float64(negatives), PPV: float64(hits) / float64(i+1),
		})
	}
	return out
}

func (r *Report) subgroups(e *Evaluation, g gate.Grouping) (all []Subgroup, err error) {
	if len(g.Level) != len(e.Admitted) {
		return nil, fmt.Errorf("%w: %d outcomes, %d levels of %q", eval.ErrShape, len(e.Admitted), len(g.Level), g.Name)
	}
	for level, at := range g.Subgroups() {
		s := Subgroup{Grouping: g.Name, Level: level}
		part := &Evaluation{
			Admitted: lists.Take(e.Admitted, at), Probabilities: lists.Take(e.Probabilities, at),
			Thresholds: lists.Take(e.Thresholds, at), Patients: lists.Take(e.Patients, at),
		}
		y, who := part.Admitted, part.Patients
		events := eval.Positives(y)
		if min(events, len(y)-events) < Suppression || who != nil && folds.Distinct(who) < 2 {
			s.Suppressed = true
			all = append(all, s)
			continue
		}
		if s.Metrics, err = eval.Assess(y, part.Probabilities, who); err != nil {
			return nil, err
		}
		if s.Threshold, err = r.atOwn(part); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// JSON returns report.json.
func (r *Report) JSON() ([]byte, error) {
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return nil, fmt.Errorf("writing the report: %w", err)
	}
	return append(data, '\n'), nil
}

//go:embed report.html.tmpl
var pageTemplate string

var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("report").Funcs(functions).Funcs(template.FuncMap{
		"isMissing": func(text string) bool { return orElse(text, missing) == missing },
		"field":     func(name, text string) field { return field{name, text} },
	}).Parse(pageTemplate))
})

// field is one that the site fills in.
type field struct{ Name, Text string }

// document is what the templates of card and page are given.
type document struct {
	*Report
	Small                  string
	Shown                  []Subgroup
	CSS                    template.CSS
	BaseLogLoss, BaseBrier float64 // of the base rate
}

func (r *Report) document() *document {
	m, prevalence := r.Metrics, r.Metrics.Prevalence.Value
	return &document{
		Report: r, Small: r.small(), Shown: r.shown(), CSS: chart.Style(),
		BaseLogLoss: m.LogLoss.Value - m.Knowledge.Value, BaseBrier: prevalence * (1 - prevalence),
	}
}

// HTML returns report.html, one page without scripts that asks for nothing else.
func (r *Report) HTML() ([]byte, error) {
	var b bytes.Buffer
	if err := page().Execute(&b, r.document()); err != nil {
		return nil, fmt.Errorf("writing the report: %w", err)
	}
	return []byte(wording.VisibleLines(b.String())), nil
}
