package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/wording"
)

func newChart(title string, x, y chart.Span) *chart.Chart {
	return &chart.Chart{
		Title: title, Class: "fig", Width: 400, Height: 360, Left: 50, Right: 16, Top: 30, Bottom: 48, X: x, Y: y,
	}
}

// CalibrationChart draws the share admitted against the probability: the smooth curve with its band, the tenths of the
// notes, and below them how often each probability was given.
func (r *Report) CalibrationChart() template.HTML {
	const floor, middle, room = -0.22, -0.11, 0.09 // admitted stand above the middle, others below it
	c := newChart("Calibration", chart.Unit, chart.Span{From: floor, To: 1})
	c.Height = 410
	c.AxisY("share admitted", chart.Shares()...)
	c.AxisX("probability given", chart.Shares()...)
	c.Line("now", chart.At(0, 0), chart.At(1, 1))
	c.Curve("b80", "med", lists.Map(r.Calibration, func(p eval.CurvePoint) chart.Estimate {
		return chart.Estimate{X: p.Predicted, Y: p.Observed, Low: p.Low, High: p.High}
	}))
	var worst eval.Bin
	for _, b := range r.Bins {
		low, high := eval.Wilson(b.Observed, float64(b.N))
		c.Line("whisk", chart.At(b.Predicted, low), chart.At(b.Predicted, high))
		c.Dot("open", chart.At(b.Predicted, b.Observed), 3.5)
		if worst.N == 0 || math.Abs(b.Observed-b.Predicted) > math.Abs(worst.Observed-worst.Predicted) {
			worst = b
		}
	}
	if worst.N > 0 {
		c.Desc = fmt.Sprintf("Farthest from the diagonal: of patients given %s to %s, %s were admitted (%s notes).",
			wording.Percent(worst.Low), wording.Percent(worst.High), wording.Percent(worst.Observed), grouped(worst.N))
	}
	most := float64(max(1, slices.Max(slices.Concat([]int{0}, r.Risks.Admitted, r.Risks.Others))))
	for i, edge := range r.Risks.edges() {
		above, below := float64(r.Risks.Admitted[i])/most, float64(r.Risks.Others[i])/most
		c.Bar("fa", chart.At(edge, middle), chart.At(r.Risks.Edges[i+1], middle+room*math.Sqrt(above)))
		c.Bar("fd", chart.At(edge, middle), chart.At(r.Risks.Edges[i+1], middle-room*math.Sqrt(below)))
	}
	c.Label("end", chart.At(1, middle), chart.At(0, -14), "admitted ▲")
	c.Label("end", chart.At(1, middle), chart.At(0, 22), "not admitted ▼")
	c.Legend(chart.Key{Text: "smooth curve, 95 %", Line: "med"}, chart.Key{Text: "right", Line: "now"},
		chart.Key{Text: "tenth of the notes, 95 %", Line: "whisk", Mark: "open"})
	return c.SVG()
}

// edges returns the lower edges of the bars.
func (h *Histogram) edges() []float64 {
	return h.Edges[:max(0, min(len(h.Edges)-1, len(h.Admitted), len(h.Others)))]
}

// RiskChart draws the distribution of the predictions by outcome, with the threshold.
func (r *Report) RiskChart() template.HTML {
	edges, top := r.Risks.edges(), 0.05
	outline := func(counts []int) []chart.Point {
		total := 0
		for _, n := range counts {
			total += n
		}
		out := []chart.Point{chart.At(0, 0)}
		for i, edge := range edges {
			share := float64(counts[i]) / float64(max(total, 1))
			top = max(top, share)
			out = append(out, chart.At(edge, share), chart.At(r.Risks.Edges[i+1], share))
		}
		return append(out, chart.At(1, 0))
	}
	admitted, others := outline(r.Risks.Admitted), outline(r.Risks.Others)
	c := newChart("Predicted probability of patients who were admitted, and of those who were not", chart.Unit,
		chart.Span{To: 1.1 * top})
	c.AxisY("share of the patients with this outcome", c.Y.Ticks(5, 0)...)
	c.AxisX("probability given", chart.Shares()...)
	c.Area("fd soft", others...)
	c.Area("fa soft", admitted...)
	c.Line("ed", others...)
	c.Line("ea", admitted...)
	r.drawThreshold(c)
	c.Legend(chart.Key{Text: "admitted", Line: "ea"}, chart.Key{Text: "not admitted", Line: "ed"})
	return c.SVG()
}

func (r *Report) drawThreshold(c *chart.Chart) {
	t := r.Thresholds[0].Threshold
	c.Line("now", chart.At(t, c.Y.From), chart.At(t, c.Y.To))
	c.Label("", chart.At(t, c.Y.To), chart.At(5, 8), "threshold "+wording.Percent(t))
}

// assessed are ticks of a decision curve: how many patients one would assess to find one admission.
var assessed = []float64{20, 10, 5, 4, 3, 2, 1.5, 1.2}

// DecisionChart draws the net benefit at each threshold, for the model, for all and for nobody; "" without a curve.
func (r *Report) DecisionChart() template.HTML {
	n := len(r.Decision)
	if n < 2 {
		return ""
	}
	const room, below = 1.15, -0.25 // of the share admitted: above, and where the curve of all leaves the chart
	high := 100 * max(r.Metrics.Prevalence.Value*room, 0.02)
	c := newChart("Decision curve", chart.Span{To: r.Decision[n-1].Threshold}, chart.Span{From: below * high, To: high})
	c.Height, c.Bottom = 390, 84
	c.AxisY("net benefit: admissions found for 100 patients, less needless work", c.Y.Ticks(5, 0.1)...)
	var model []chart.Estimate
	var all []chart.Point
	for _, d := range r.Decision {
		m := d.Model
		model = append(model, chart.Estimate{X: d.Threshold, Y: 100 * m.Value, Low: 100 * m.Low, High: 100 * m.High})
		if y := 100 * d.TreatAll.Value; y > c.Y.From {
			all = append(all, chart.At(d.Threshold, y))
		}
	}
	c.Line("ax", chart.At(0, 0), chart.At(c.X.To, 0))
	c.Label("end", chart.At(c.X.To, 0), chart.At(0, 14), "admit nobody")
	c.Curve("b80", "med", model)
	c.Label("strong", chart.At(model[n/5].X, model[n/5].High), chart.At(6, -6), "the model, 95 %")
	if len(all) > 0 {
		c.Line("ea", all...)
		c.Label("", all[len(all)-1], chart.At(6, -4), "admit all")
	}
	r.drawThreshold(c)
	c.AxisX("threshold", slices.DeleteFunc(chart.Shares(), func(t chart.Tick) bool { return t.At > c.X.To })...)
	for _, a := range assessed {
		if 1/a <= c.X.To {
			c.Label("mid", chart.At(1/a, c.Y.From), chart.At(0, 56), strconv.FormatFloat(a, 'f', -1, 64))
		}
	}
	c.Label("mid", chart.At(c.X.To/2, c.Y.From), chart.At(0, 74), "patients you would assess to find one admission")
	own := r.Thresholds[0].Threshold
	nearest := slices.MinFunc(r.Decision, func(a, b eval.BenefitPoint) int {
		return cmp.Compare(math.Abs(a.Threshold-own), math.Abs(b.Threshold-own))
	})
	c.Desc = fmt.Sprintf(
		"At the model's threshold of %s the net benefit is %s for 100 patients, against %s of admitting "+
			"all and 0 of admitting nobody.",
		wording.Percent(own), wording.Fixed(100*nearest.Model.Value, 1), wording.Fixed(100*nearest.TreatAll.Value, 1))
	return c.SVG()
}

// ROCChart draws sensitivity against 1 − specificity, with the thresholds.
func (r *Report) ROCChart() template.HTML {
	c := newChart("ROC curve", chart.Unit, chart.Unit)
	c.AxisY("of those admitted, how many are called", chart.Shares()...)
	c.AxisX("of those not admitted, how many are called", chart.Shares()...)
	c.Line("now", chart.At(0, 0), chart.At(1, 1))
	r.drawRanking(c, 12, func(k RankingPoint) chart.Point { return chart.At(1-k.Specificity, k.Sensitivity) })
	area := ranged(r.Metrics.AUROC, 3)
	c.Label("end strong", chart.At(1, 0), chart.At(-6, -12), "AUROC "+area)
	c.Desc = "The area under the curve is " + area + "."
	return c.SVG()
}

// PrecisionChart draws PPV against sensitivity, with the thresholds.
func (r *Report) PrecisionChart() template.HTML {
	c := newChart("Precision and recall", chart.Unit, chart.Unit)
	c.AxisY("of those called, how many are admitted (PPV)", chart.Shares()...)
	c.AxisX("of those admitted, how many are called", chart.Shares()...)
	share := r.Metrics.Prevalence.Value
	c.Line("now", chart.At(0, share), chart.At(1, share))
	c.Label("", chart.At(0, share), chart.At(6, -6), "prevalence "+wording.Percent(share))
	r.drawRanking(c, -6, func(k RankingPoint) chart.Point { return chart.At(k.Sensitivity, k.PPV) })
	area := ranged(r.Metrics.AUPRC, 3)
	c.Label("end strong", chart.At(1, 1), chart.At(-6, 14), "AUPRC "+area)
	c.Desc = "The area under the curve is " + area + "."
	return c.SVG()
}

// drawRanking draws the ranking as a curve with the thresholds on it, the model's own full, and labels at this height.
func (r *Report) drawRanking(c *chart.Chart, height float64, place func(RankingPoint) chart.Point) {
	first := place(RankingPoint{Specificity: 1, PPV: math.NaN()})
	c.Line("med", append([]chart.Point{first}, lists.Map(r.Ranking, place)...)...)
	dot, text := "pt", "strong"
	for _, o := range r.Thresholds {
		at := place(RankingPoint{
			Sensitivity: orNone(o.Sensitivity).Value, Specificity: orNone(o.Specificity).Value,
			PPV: orNone(o.PPV).Value,
		})
		c.Dot(dot, at, 4.5)
		c.Label(text, at, chart.At(8, height), "from "+wording.Percent(o.Threshold))
		dot, text = "open", ""
	}
}

// orNone returns an estimate, or one that is not drawn for nil.
func orNone(e *eval.Estimate) eval.Estimate {
	if e == nil {
		return eval.Estimate{Value: math.NaN(), Low: math.NaN(), High: math.NaN()}
	}
	return *e
}

// ForestChart draws AUROC, observed to expected and sensitivity of each subgroup and of all notes; "" without any.
func (r *Report) ForestChart() template.HTML {
	const row, names, panel, gap = 22.0, 190.0, 170.0, 24.0
	shown := r.shown()
	if len(shown) == 0 {
		return ""
	}
	rows := append([]Subgroup{{Grouping: "all notes", Metrics: r.Metrics, Threshold: &r.Thresholds[0]}}, shown...)
	n := float64(len(rows))
	c := &chart.Chart{
		Title: "AUROC, observed to expected admissions and sensitivity of each subgroup", Class: "forest",
		Width: names + 3*(panel+gap), Height: row*n + 66, Top: 26, Bottom: 40, Y: chart.Span{From: n - 0.5, To: -0.5},
	}
	for i, g := range rows {
		c.Text("", chart.At(4, c.Top+row*(float64(i)+0.5)+4), chart.Shorten(g.Grouping+" "+g.Level, 30))
	}
	for i, of := range []struct {
		name      string
		reference float64 // NaN for the value of all notes
		get       func(*Subgroup) *eval.Estimate
	}{
		{"AUROC", math.NaN(), func(g *Subgroup) *eval.Estimate { return g.Metrics.AUROC }},
		{"observed / expected", 1, func(g *Subgroup) *eval.Estimate { return g.Metrics.ObservedExpected }},
		{"sensitivity", math.NaN(), func(g *Subgroup) *eval.Estimate { return g.Threshold.Sensitivity }},
	} {
		if math.IsNaN(of.reference) {
			of.reference = orNone(of.get(&rows[0])).Value
		}
		ends := []float64{of.reference}
		for j := range rows {
			e := orNone(of.get(&rows[j]))
			ends = append(ends, e.Low, e.High)
		}
		c.Left = names + float64(i)*(panel+gap)
		c.Right = c.Width - c.Left - panel
		c.X = chart.Cover(ends...).Pad(0.05)
		c.Text("strong mid", chart.At(c.Left+panel/2, 16), of.name)
		c.AxisX("", c.X.Ticks(4, 0)...)
		c.Line("now", chart.At(of.reference, n-0.5), chart.At(of.reference, -0.5))
		for j := range rows {
			e := orNone(of.get(&rows[j]))
			c.Line("whisk", chart.At(e.Low, float64(j)), chart.At(e.High, float64(j)))
			c.Dot("pt", chart.At(e.Value, float64(j)), 3.5)
		}
	}
	return c.SVG()
}
