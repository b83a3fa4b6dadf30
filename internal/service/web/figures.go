package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/models/report"
)

// figuresPage shows what a version of a model is worth: the figures of its report.
type figuresPage struct {
	Label, Version, About           string
	Topics, Card, Report, JSON, CSV string
	Missing                         string // why there are no figures
	Warnings                        []string
	Measures                        []measureRow
	Operating                       []operatingRow
	Calibration, Decision           *chart.Chart
	ROC, Forest                     *chart.Chart
	Bins                            []binRow
	Benefits                        []benefitRow
	Groups                          []groupRow
	Sparks                          []spark
	Versions                        []versionRow
	Shifts                          []shiftRow
	Verdict, Reason, Difference     string
}

// measureRow is a measure with its interval, and what it means.
type measureRow struct{ Name, Value, Exact, Interval, Means string }

// operatingRow is what a threshold comes to.
type operatingRow struct {
	Threshold string
	Own       bool
	Shares    []measureRow // called, sensitivity, specificity, PPV, NPV
}

// binRow is a tenth of the notes.
type binRow struct{ Given, Admitted, Exact, Interval, Notes string }

// benefitRow is a point of the decision curve, in admissions for each 100 patients.
type benefitRow struct{ Assess, Threshold, Model, Exact, Interval, All string }

// groupRow is a subgroup.
type groupRow struct {
	Grouping, Level, Notes string
	Suppressed             bool
	AUROC, Observed        measureRow
}

// shiftRow tells what changed since the version before.
type shiftRow struct{ Name, Before, Now, PSI, Chance string }

// versionRow is a version in the table behind the sparklines.
type versionRow struct {
	Version, Trained, Notes, Admitted, AUROC, Interval, Brier, Slope string
	Current                                                          bool
}

// figures shows the figures of a version.
func (p *Pages) figures(w http.ResponseWriter, r *http.Request) {
	b := p.bundle(w, r)
	if b == nil {
		return
	}
	base := "/models/" + url.PathEscape(b.Manifest.Name) + "/" + url.PathEscape(b.Version)
	page := &figuresPage{
		Label: modelLabel(b.Manifest.Name, b.Manifest.Complaint), Version: b.Version, Card: base + "/card", Report: base + "/report", JSON: base + "/report.json",
		CSV: base + "/figures.csv", Topics: "/topics?model=" + url.QueryEscape(b.Manifest.Name),
	}
	var figures report.Report
	switch err := json.Unmarshal(b.Report, &figures); {
	case len(b.Report) == 0:
		page.Missing = "This version has no report: an earlier wardcast made it."
	case err != nil || figures.Metrics == nil || len(figures.Thresholds) == 0:
		page.Missing = "The report of this version cannot be read by this wardcast."
	default:
		page.fill(&figures)
	}
	if err := page.history(r.Context(), p, b.Manifest.Name); err != nil && r.Context().Err() == nil {
		p.options.Logger.Error("the versions of a model cannot be read", "err", err)
	}
	p.write(w, r, view{template: "figures", title: "Figures of " + page.Label, here: "Models", data: page})
}

// fill fills in the report.
func (page *figuresPage) fill(r *report.Report) {
	m := r.Metrics
	on := "notes that it learned from, by cross-validation"
	if r.Kind == report.Later {
		on = "later notes"
	}
	page.About = fmt.Sprintf("Measured on %s %s, %s of them admitted", grouped(m.N), on, grouped(m.Positives))
	if e := r.Data.Evaluation; !e.From.IsZero() {
		page.About += ", " + e.From.UTC().Format("2 Jan 2006") + " to " + e.To.UTC().Format("2 Jan 2006")
	}
	page.About += "."
	page.Warnings = r.Warnings
	page.Measures = []measureRow{
		estimated("AUROC", m.AUROC, "chance that a patient who was admitted has the higher probability of two; 0.5 is a coin"),
		estimated("AUPRC", m.AUPRC, "precision over all sensitivities; the share admitted is a coin"),
		estimated("Brier score", &m.Brier, "mean squared error of the probability; less is better"),
		estimated("Scaled Brier score", m.BrierScaled, "1 is perfect, 0 knows only the share admitted"),
		estimated("Log loss", &m.LogLoss, "punishes confident errors; less is better"),
		estimated("Calibration slope", m.CalibrationSlope, "1 is right; below 1 the probabilities are too extreme"),
		estimated("Calibration intercept", m.CalibrationIntercept, "0 is right; above 0 too few admissions are expected"),
		estimated("Observed / expected", m.ObservedExpected, "admissions for each one expected; 1 is right"),
	}
	if e := m.CalibrationError; e != nil {
		page.Measures = append(page.Measures, measureRow{Name: "Calibration error", Value: fixed(*e), Exact: exact(*e), Means: "mean distance between probability and share admitted"})
	}
	for i := range r.Thresholds {
		page.Operating = append(page.Operating, newOperatingRow(&r.Thresholds[i], i == 0))
	}
	page.Calibration, page.Decision, page.Forest = r.CalibrationChart(), r.DecisionChart(), r.ForestChart()
	if len(r.Ranking) > 0 {
		page.ROC = r.ROCChart()
	}
	for _, b := range r.Bins {
		low, high := eval.Wilson(b.Observed, float64(b.N))
		page.Bins = append(page.Bins, binRow{percent(b.Low) + " to " + percent(b.High) + " %", percent(b.Observed) + " %", exact(b.Observed), percent(low) + " to " + percent(high), grouped(b.N)})
	}
	for i, d := range r.Decision {
		if d.Threshold == 0 || i%benefitRows != 0 {
			continue
		}
		page.Benefits = append(page.Benefits, benefitRow{
			number(1/d.Threshold, 1), percent(d.Threshold) + " %", number(100*d.Model.Value, 1), exact(d.Model.Value),
			number(100*d.Model.Low, 1) + " to " + number(100*d.Model.High, 1), number(100*d.TreatAll.Value, 1),
		})
	}
	for _, g := range slices.Concat([]report.Subgroup{{Grouping: "All notes", Metrics: m}}, r.Subgroups) {
		row := groupRow{Grouping: capital(g.Grouping), Level: g.Level, Suppressed: g.Suppressed || g.Metrics == nil}
		if !row.Suppressed {
			row.Notes, row.AUROC = grouped(g.Metrics.N), estimated("", g.Metrics.AUROC, "")
			row.Observed = estimated("", g.Metrics.ObservedExpected, "")
		}
		page.Groups = append(page.Groups, row)
	}
	if len(page.Groups) == 1 { // all notes alone
		page.Groups = nil
	}
	for _, s := range r.Shifts {
		page.Shifts = append(page.Shifts, shiftRow{s.Name, optional(s.Before), optional(s.Now), optional(s.PSI), optional(s.Chance)})
	}
	if v := r.Verdict; v != nil {
		page.Verdict, page.Reason = capital(string(v.Decision)), v.Reason
		if d := v.Figures.Difference; d != nil {
			page.Difference = interval(&d.LogLoss)
		}
	}
}

// benefitRows is the step between the points of the decision curve in its table.
const benefitRows = 5

// optional returns a figure, or a dash.
func optional(v *float64) string {
	if v == nil {
		return "–"
	}
	return fixed(*v)
}

// interval returns an estimate with its interval.
func interval(e *eval.Estimate) string {
	return fixed(e.Value) + " (" + fixed(e.Low) + " to " + fixed(e.High) + ")"
}

// estimated returns a measure, which may be undefined.
func estimated(name string, e *eval.Estimate, means string) measureRow {
	if e == nil {
		return measureRow{Name: name, Value: "–", Means: means}
	}
	return measureRow{name, fixed(e.Value), exact(e.Value), fixed(e.Low) + " to " + fixed(e.High), means}
}

func newOperatingRow(o *eval.Operating, own bool) operatingRow {
	row := operatingRow{Threshold: number(o.Threshold, 3), Own: own}
	for _, e := range []*eval.Estimate{&o.Called, o.Sensitivity, o.Specificity, o.PPV, o.NPV} {
		one := measureRow{Value: "–"}
		if e != nil {
			one = measureRow{Value: percent(e.Value) + " %", Exact: exact(e.Value), Interval: percent(e.Low) + " to " + percent(e.High)}
		}
		row.Shares = append(row.Shares, one)
	}
	return row
}

// sparkVersions bounds the versions of the sparklines and their table.
const sparkVersions = 12

// versionFacts are the figures of a manifest.
type versionFacts struct {
	metrics

	trained  time.Time
	notes    int
	admitted *float64
}

// factCache keeps the figures of manifests, which never change.
type factCache struct {
	mu    sync.Mutex
	known map[[2]string]*versionFacts
}

// factsOf reads the figures of a version's manifest, once.
func (p *Pages) factsOf(ctx context.Context, model, version string) (*versionFacts, error) {
	c := &p.facts
	c.mu.Lock()
	defer c.mu.Unlock()
	key := [2]string{model, version}
	if f := c.known[key]; f != nil {
		return f, nil
	}
	m, err := p.options.Store.Manifest(ctx, model, version)
	if err != nil {
		return nil, err
	}
	f := &versionFacts{metrics: newMetrics(m.Metrics), trained: m.CreatedAt, notes: m.Training.Documents}
	if f.notes > 0 {
		admitted := float64(m.Training.Positives) / float64(f.notes)
		f.admitted = &admitted
	}
	if c.known == nil {
		c.known = map[[2]string]*versionFacts{}
	}
	c.known[key] = f
	return f, nil
}

// history fills in the latest versions up to this one. One that cannot be read leaves a gap.
func (page *figuresPage) history(ctx context.Context, p *Pages, model string) (damage error) {
	names, err := p.options.Store.Versions(ctx, model)
	if err != nil {
		return err
	}
	later, found := slices.BinarySearch(names, page.Version)
	if found {
		later++
	}
	var facts []*versionFacts
	for _, version := range names[max(0, later-sparkVersions):later] {
		f, err := p.factsOf(ctx, model, version)
		if err != nil {
			f, damage = &versionFacts{}, err
		}
		row := versionRow{
			Version: version, Trained: "–", Notes: "–", Admitted: share(f.admitted), AUROC: optional(f.AUROC), Brier: optional(f.Brier), Slope: optional(f.Slope),
			Current: version == page.Version,
		}
		if err == nil {
			row.Trained, row.Notes = f.trained.UTC().Format("2 Jan 2006"), grouped(f.notes)
		}
		if f.Interval != nil {
			row.Interval = fixed(f.Interval.Low) + " to " + fixed(f.Interval.High)
		}
		facts, page.Versions = append(facts, f), append(page.Versions, row)
	}
	if len(facts) > 1 {
		page.Sparks = sparks(facts)
	}
	return damage
}

// reportJSON answers with the report, as the training wrote it.
func (p *Pages) reportJSON(w http.ResponseWriter, r *http.Request) {
	b := p.bundle(w, r)
	switch {
	case b == nil:
	case len(b.Report) == 0:
		p.missing(w, r, "Models", "This version has no report: an earlier wardcast made it.")
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(b.Report) // the client is gone
	}
}

// figuresCSV answers with what the charts show, one value a line.
func (p *Pages) figuresCSV(w http.ResponseWriter, r *http.Request) {
	b := p.bundle(w, r)
	if b == nil {
		return
	}
	var f report.Report
	if json.Unmarshal(b.Report, &f) != nil || f.Metrics == nil {
		p.missing(w, r, "Models", "This version has no report that can be read.")
		return
	}
	out := httpapi.NewCSV("figures.csv", "figure", "series", "x", "value", "low", "high", "notes")
	line := func(figure, series string, x float64, e eval.Estimate, notes int) {
		out.Add(figure, series, exact(x), exact(e.Value), exact(e.Low), exact(e.High), strconv.Itoa(notes))
	}
	for _, b := range f.Bins {
		low, high := eval.Wilson(b.Observed, float64(b.N))
		line("calibration", "tenths", b.Predicted, eval.Estimate{Value: b.Observed, Low: low, High: high}, b.N)
	}
	for _, c := range f.Calibration {
		line("calibration", "smooth", c.Predicted, eval.Estimate{Value: c.Observed, Low: c.Low, High: c.High}, f.Metrics.N)
	}
	for _, d := range f.Decision {
		line("decision", "model", d.Threshold, d.Model, f.Metrics.N)
		line("decision", "all", d.Threshold, d.TreatAll, f.Metrics.N)
	}
	for _, k := range f.Ranking {
		line("roc", "model", 1-k.Specificity, eval.Estimate{Value: k.Sensitivity, Low: k.Sensitivity, High: k.Sensitivity}, f.Metrics.N)
	}
	for _, g := range f.Subgroups {
		if g.Metrics != nil && g.Metrics.AUROC != nil {
			line("subgroup auroc", g.Grouping+" "+g.Level, 0, *g.Metrics.AUROC, g.Metrics.N)
		}
		if g.Metrics != nil && g.Metrics.ObservedExpected != nil {
			line("subgroup observed/expected", g.Grouping+" "+g.Level, 0, *g.Metrics.ObservedExpected, g.Metrics.N)
		}
	}
	out.ServeHTTP(w, r)
}
