package models

import (
	"context"
	"encoding/json"
	"html/template"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/web/frame"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/models/report"
)

type figuresView struct {
	Name, Label, Version, Path string
	Missing                    string // why there are no figures
	Listed                     string // its AUROC where versions are listed, if that is of other notes
	Report                     *report.Report
	Notes                      string // that they are measured on
	Measures                   []measure
	Calibration, Decision      template.HTML
	ROC, Forest                template.HTML
	Bins                       []bin
	Benefits                   []benefit
	Groups                     []report.Subgroup // all notes first; none if they are alone
	Sparks                     []spark
	Versions                   []version
}

// measure is a measure, and what it means.
type measure struct {
	Name     string
	Estimate *eval.Estimate // nil if it is undefined
	Means    string
	Alone    bool // without an interval
}

func (m *measure) value() float64 {
	if m.Estimate == nil {
		return math.NaN()
	}
	return m.Estimate.Value
}

// bin is a tenth of the notes with Wilson's interval.
type bin struct {
	eval.Bin
	Least, Most float64
}

// benefit is a point of the decision curve, in admissions for each 100 patients.
type benefit struct{ eval.BenefitPoint }

// Assess returns how many patients one assesses to find an admission.
func (b benefit) Assess() string { return wording.Short(1/b.Threshold, 1) }

type version struct {
	*facts
	Name    string
	Current bool
}

func (h *room) figures(r *http.Request, b *bundle.Bundle) http.Handler {
	data := &figuresView{
		Name: b.Manifest.Name, Label: frame.ModelLabel(b.Manifest.Name, b.Manifest.Complaint), Version: b.Version,
		Path: pathOf(b.Manifest.Name, b.Version),
	}
	var figures report.Report
	err := json.Unmarshal(b.Report, &figures)
	if err != nil || figures.Metrics == nil || len(figures.Thresholds) == 0 {
		data.Missing = "The report of this version cannot be read by this wardcast."
	} else {
		data.fill(&figures)
		own := newFacts(b.Manifest.Metrics, b.Manifest.Training, b.Manifest.CreatedAt).AUROC
		if text := frame.Fixed(own); own != nil && text != frame.Fixed(data.Measures[0].value()) {
			data.Listed = text
		}
	}
	if err = data.history(r.Context(), h, b.Manifest.Name); err != nil && r.Context().Err() == nil {
		h.Logger.Error("the versions of a model cannot be read", "err", err)
	}
	v := h.figuresView.View(data)
	v.Title = "Figures of " + data.Label
	return v
}

func (data *figuresView) fill(r *report.Report) {
	m := r.Metrics
	data.Report, data.Notes = r, map[report.Kind]string{
		report.Later:     "later notes",
		report.Latest:    "of the latest training notes, predicted with coefficients from the earlier notes",
		report.OutOfFold: "training notes, by cross-validation",
	}[r.Kind]
	add := func(name string, e *eval.Estimate, means string) {
		data.Measures = append(data.Measures, measure{Name: name, Estimate: e, Means: means})
	}
	add("AUROC", m.AUROC, "chance that a patient who was admitted has the higher probability of two; 0.5 is a coin")
	add("AUPRC", m.AUPRC, "precision over all sensitivities; the share admitted is a coin")
	add("Brier score", &m.Brier, "mean squared error of the probability; less is better")
	add("Scaled Brier score", m.BrierScaled, "1 is perfect, 0 knows only the share admitted")
	add("Log loss", &m.LogLoss, "punishes confident errors; less is better")
	add("Calibration slope", m.CalibrationSlope, "1 is right; below 1 the probabilities are too extreme")
	add("Calibration intercept", m.CalibrationIntercept, "0 is right; above 0 too few admissions are expected")
	add("Observed / expected", m.ObservedExpected, "admissions for each one expected; 1 is right")
	if e := m.CalibrationError; e != nil {
		data.Measures = append(data.Measures, measure{
			Name: "Calibration error", Estimate: &eval.Estimate{Value: *e}, Alone: true,
			Means: "mean distance between probability and share admitted",
		})
	}
	data.Calibration, data.Decision, data.Forest = r.CalibrationChart(), r.DecisionChart(), r.ForestChart()
	if len(r.Ranking) > 0 {
		data.ROC = r.ROCChart()
	}
	for _, b := range r.Bins {
		low, high := eval.Wilson(b.Observed, float64(b.N))
		data.Bins = append(data.Bins, bin{b, low, high})
	}
	for i := 0; i < len(r.Decision); i += benefitRows {
		if r.Decision[i].Threshold > 0 {
			data.Benefits = append(data.Benefits, benefit{r.Decision[i]})
		}
	}
	if len(r.Subgroups) > 0 {
		data.Groups = append([]report.Subgroup{{Grouping: "All notes", Metrics: m}}, r.Subgroups...)
	}
}

const benefitRows = 5 // the step between the points of the decision curve in its table

const sparkVersions = 12 // bounds the versions of the sparklines and their table

// facts are what a manifest says of a model and its figures. What it lacks is nil.
type facts struct {
	AUROC    *float64                     `json:"auroc"`
	Interval *struct{ Low, High float64 } `json:"auroc_95"`
	Brier    *float64                     `json:"brier"`
	Slope    *float64                     `json:"calibration_slope"`

	Trained  time.Time
	Notes    int
	Admitted *float64 // share
}

func newFacts(metrics json.RawMessage, t bundle.Training, trained time.Time) *facts {
	f := &facts{}
	_ = json.Unmarshal(metrics, f) // what it lacks is unknown
	f.Trained, f.Notes = trained, t.Documents
	if t.Documents > 0 {
		admitted := float64(t.Positives) / float64(t.Documents)
		f.Admitted = &admitted
	}
	return f
}

func (h *room) factsOf(ctx context.Context, model, version string) (*facts, error) {
	key := pathOf(model, version)
	if known, ok := h.facts.Load(key); ok {
		return known.(*facts), nil
	}
	m, err := h.store.Manifest(ctx, model, version) // may hang: others go on meanwhile
	if err != nil {
		return &facts{}, err
	}
	f := newFacts(m.Metrics, m.Training, m.CreatedAt)
	h.facts.Store(key, f)
	return f, nil
}

// history fills in the latest versions up to this one. One that cannot be read leaves a gap.
func (data *figuresView) history(ctx context.Context, h *room, model string) (damage error) {
	names, err := h.store.Versions(ctx, model)
	if err != nil {
		return err
	}
	later, found := slices.BinarySearch(names, data.Version)
	if found {
		later++
	}
	for _, name := range names[max(0, later-sparkVersions):later] {
		f, err := h.factsOf(ctx, model, name)
		if err != nil {
			damage = err
		}
		data.Versions = append(data.Versions, version{f, name, name == data.Version})
	}
	if len(data.Versions) > 1 {
		data.Sparks = sparks(data.Versions)
	}
	return damage
}

func (h *room) reportJSON(_ *http.Request, b *bundle.Bundle) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(b.Report) // the client is gone
	})
}

func (h *room) figuresCSV(_ *http.Request, b *bundle.Bundle) http.Handler {
	var f report.Report
	if json.Unmarshal(b.Report, &f) != nil || f.Metrics == nil {
		return h.Missing("This version has no report that can be read.")
	}
	out := httpapi.NewCSV("figures.csv", "figure", "series", "x", "value", "low", "high", "notes")
	line := func(figure, series string, x float64, e *eval.Estimate, notes int) {
		if e != nil {
			out.Add(figure, series, frame.Exact(x), frame.Exact(e.Value), frame.Exact(e.Low), frame.Exact(e.High),
				strconv.Itoa(notes))
		}
	}
	for _, b := range f.Bins {
		low, high := eval.Wilson(b.Observed, float64(b.N))
		line("calibration", "tenths", b.Predicted, &eval.Estimate{Value: b.Observed, Low: low, High: high}, b.N)
	}
	n := f.Metrics.N
	for _, c := range f.Calibration {
		line("calibration", "smooth", c.Predicted, &eval.Estimate{Value: c.Observed, Low: c.Low, High: c.High}, n)
	}
	for _, d := range f.Decision {
		line("decision", "model", d.Threshold, &d.Model, n)
		line("decision", "all", d.Threshold, &d.TreatAll, n)
	}
	for _, k := range f.Ranking {
		line("roc", "model", 1-k.Specificity,
			&eval.Estimate{Value: k.Sensitivity, Low: k.Sensitivity, High: k.Sensitivity}, n)
	}
	for _, g := range f.Subgroups {
		if g.Metrics != nil {
			name := g.Grouping + " " + g.Level
			line("subgroup auroc", name, 0, g.Metrics.AUROC, g.Metrics.N)
			line("subgroup observed/expected", name, 0, g.Metrics.ObservedExpected, g.Metrics.N)
		}
	}
	return out
}

// spark is a figure over the versions. Versions without it leave a gap.
type spark struct {
	Name        string
	First, Last float64
	Chart       template.HTML
}

// sparks draws how the figures of the manifests changed, all on one scale.
func sparks(versions []version) (all []spark) {
	var lines [][]chart.Point
	values := []float64{0, 1}
	for _, of := range []struct {
		name string
		get  func(version) *float64
	}{
		{"AUROC", func(v version) *float64 { return v.AUROC }},
		{"Brier score", func(v version) *float64 { return v.Brier }},
		{"Calibration slope", func(v version) *float64 { return v.Slope }},
		{"Share admitted", func(v version) *float64 { return v.Admitted }},
	} {
		var known []float64
		line, last := make([]chart.Point, len(versions)), 0
		for i, v := range versions {
			if line[i] = chart.At(float64(i), math.NaN()); of.get(v) != nil {
				line[i].Y, last = *of.get(v), i
				known = append(known, line[i].Y)
			}
		}
		if len(known) == 0 {
			continue
		}
		all = append(all, spark{Name: of.name, First: known[0], Last: known[len(known)-1]})
		lines, values = append(lines, line[:last+1]), append(values, known...)
	}
	for i, line := range lines {
		c := &chart.Chart{
			Class: "spark", Width: 160, Height: 36, Left: 5, Right: 5, Top: 5, Bottom: 5,
			X: chart.Span{To: float64(len(versions) - 1)}, Y: chart.Cover(values...),
		}
		c.Line("ax", chart.At(0, 0), chart.At(c.X.To, 0))
		c.Line("med", line...)
		c.Dot("pt", line[len(line)-1], 3.5)
		all[i].Chart = c.SVG()
	}
	return all
}
