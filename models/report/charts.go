package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"github.com/wardcast/wardcast/classifier/eval"
)

// unit is the span of probabilities.
var unit = span{0, 1}

// calibrationChart draws the smooth curve, its band and the bins over a histogram of the predictions.
func (r *Report) calibrationChart() template.HTML {
	c := newChart(unit, span{-0.22, 1})
	c.height = 440
	c.axes("predicted probability", "share admitted", ticks(unit, 0.2), ticks(unit, 0.2), shortNumber)
	c.line("ideal", point{0, 0}, point{1, 1})
	var band, curve []point
	for _, p := range r.Calibration {
		band = append(band, point{p.Predicted, p.High})
		curve = append(curve, point{p.Predicted, p.Observed})
	}
	for _, p := range slices.Backward(r.Calibration) {
		band = append(band, point{p.Predicted, p.Low})
	}
	c.area("band", band...)
	c.line("model", curve...)
	for _, b := range r.Bins {
		c.dot("bin", point{b.Predicted, b.Observed}, 3.5)
	}
	// Admitted above the line at −0.11, others below it.
	const middle, room = -0.11, 0.09
	most := 1
	for i := range r.Risks.Admitted {
		most = max(most, r.Risks.Admitted[i], r.Risks.Others[i])
	}
	for i := range r.Risks.Admitted {
		from, to := r.Risks.Edges[i], r.Risks.Edges[i+1]
		c.bar("admitted", point{from, middle}, point{to, middle + room*math.Sqrt(float64(r.Risks.Admitted[i])/float64(most))})
		c.bar("others", point{from, middle - room*math.Sqrt(float64(r.Risks.Others[i])/float64(most))}, point{to, middle})
	}
	c.label("end", point{1, middle}, 0, -14, "admitted ▲")
	c.label("end", point{1, middle}, 0, 22, "not admitted ▼")
	c.legend(c.left+14, c.top+16, key{"model", "smooth curve, 95 % band"}, key{"ideal", "perfect"})
	fmt.Fprintf(&c.b, `<circle class="bin" cx="%s" cy="%s" r="3.5"/>`, pixel(c.left+25), pixel(c.top+42))
	c.text("label", "start", c.left+42, c.top+46, "tenths of the notes")
	return c.svg("Calibration: share of patients admitted against the predicted probability")
}

// riskChart draws the distribution of the predictions by outcome, with the threshold.
func (r *Report) riskChart() template.HTML {
	share := func(counts []int) []float64 {
		total := 0
		for _, n := range counts {
			total += n
		}
		out := make([]float64, len(counts))
		for i, n := range counts {
			out[i] = float64(n) / float64(max(total, 1))
		}
		return out
	}
	admitted, others := share(r.Risks.Admitted), share(r.Risks.Others)
	top := 0.05
	for i := range admitted {
		top = max(top, admitted[i], others[i])
	}
	s := span{0, top * 1.15}
	c := newChart(unit, s)
	c.axes("predicted probability", "share of the patients with this outcome", ticks(unit, 0.2), ticks(s, step(s)), shortNumber)
	outline := func(values []float64) []point {
		out := []point{{0, 0}}
		for i, v := range values {
			out = append(out, point{r.Risks.Edges[i], v}, point{r.Risks.Edges[i+1], v})
		}
		return append(out, point{1, 0})
	}
	c.area("others fill", outline(others)...)
	c.area("admitted fill", outline(admitted)...)
	c.line("others edge", outline(others)...)
	c.line("admitted edge", outline(admitted)...)
	t := r.Manifest.Threshold
	c.line("threshold", point{t, 0}, point{t, s.to})
	c.legend(c.width-c.right-170, c.top+16, key{"admitted edge", "admitted"}, key{"others edge", "not admitted"}, key{"threshold", "threshold " + shortNumber(math.Round(t*1000)/1000)})
	return c.svg("Predicted probability of patients who were admitted, and of those who were not")
}

// decisionChart draws the net benefit.
func (r *Report) decisionChart() template.HTML {
	high := r.Metrics.Prevalence.Value * 1.15
	s := span{-0.25 * high, max(high, 0.02)}
	x := span{0, benefitTo}
	c := newChart(x, s)
	c.axes("threshold", "net benefit for each patient", ticks(x, 0.1), ticks(s, step(s)), shortNumber)
	var band, model, all []point
	for _, p := range r.Decision {
		band = append(band, point{p.Threshold, p.Model.High})
		model = append(model, point{p.Threshold, p.Model.Value})
		if p.TreatAll.Value > s.from {
			all = append(all, point{p.Threshold, p.TreatAll.Value})
		}
	}
	for _, p := range slices.Backward(r.Decision) {
		band = append(band, point{p.Threshold, p.Model.Low})
	}
	c.area("band", band...)
	c.line("none", point{0, 0}, point{x.to, 0})
	c.line("all", all...)
	c.line("model", model...)
	t := r.Manifest.Threshold
	c.line("threshold", point{min(t, x.to), s.from}, point{min(t, x.to), s.to})
	c.legend(c.width-c.right-170, c.top+16, key{"model", "the model, 95 % band"}, key{"all", "act on everybody"}, key{"none", "act on nobody"}, key{"threshold", "the model's threshold"})
	return c.svg("Decision curve: net benefit of acting at each threshold")
}

// rocChart draws sensitivity against 1 − specificity, with the thresholds.
func (r *Report) rocChart() template.HTML {
	c := newChart(unit, unit)
	c.axes("share of patients not admitted who are called (1 − specificity)", "share of admitted who are called (sensitivity)", ticks(unit, 0.2), ticks(unit, 0.2), shortNumber)
	c.line("ideal", point{0, 0}, point{1, 1})
	curve := []point{{0, 0}}
	for _, p := range r.Ranking {
		curve = append(curve, point{1 - p.Specificity, p.Sensitivity})
	}
	c.line("model", curve...)
	for i, at := range r.Thresholds {
		if at.Sensitivity == nil || at.Specificity == nil {
			continue
		}
		p, class := point{1 - at.Specificity.Value, at.Sensitivity.Value}, "bin"
		if i == 0 {
			class = "own"
		}
		c.dot(class, p, 4.5)
		c.label("start", p, 8, 12, "at "+shortNumber(math.Round(at.Threshold*1000)/1000))
	}
	if a := r.Metrics.AUROC; a != nil {
		c.label("end", point{1, 0}, -6, -10, "AUROC "+ranged(a, 3))
	}
	return c.svg("ROC curve: sensitivity against 1 − specificity")
}

// precisionChart draws PPV against sensitivity.
func (r *Report) precisionChart() template.HTML {
	c := newChart(unit, unit)
	c.axes("share of admitted who are called (sensitivity)", "share of the called who are admitted (PPV)", ticks(unit, 0.2), ticks(unit, 0.2), shortNumber)
	prevalence := r.Metrics.Prevalence.Value
	c.line("ideal", point{0, prevalence}, point{1, prevalence})
	var curve []point
	for _, p := range r.Ranking {
		curve = append(curve, point{p.Sensitivity, p.PPV})
	}
	c.line("model", curve...)
	for i, at := range r.Thresholds {
		if at.Sensitivity == nil || at.PPV == nil {
			continue
		}
		class := "bin"
		if i == 0 {
			class = "own"
		}
		p := point{at.Sensitivity.Value, at.PPV.Value}
		c.dot(class, p, 4.5)
		c.label("start", p, 8, -6, "at "+shortNumber(math.Round(at.Threshold*1000)/1000))
	}
	c.label("start", point{0, prevalence}, 6, -6, "prevalence "+number(prevalence, 3))
	if a := r.Metrics.AUPRC; a != nil {
		c.label("end", point{1, 1}, -6, 14, "AUPRC "+ranged(a, 3))
	}
	return c.svg("Precision-recall curve")
}

// Sizes in pixels of the forest plot.
const (
	forestRow   = 22
	forestNames = 190
	forestPanel = 170
	forestGap   = 24
)

// forestChart draws AUROC, observed to expected and sensitivity of each subgroup next to those of all notes; "" without any.
func (r *Report) forestChart() template.HTML {
	shown := r.shown()
	if len(shown) == 0 {
		return ""
	}
	rows := append([]Subgroup{{Grouping: "all notes", Metrics: r.Metrics, Threshold: &r.Thresholds[0]}}, shown...)
	c := &chart{width: forestNames + 3*forestPanel + 2*forestGap + 20, height: float64(forestRow*len(rows)) + 66, y: unit}
	base := float64(forestRow*len(rows)) + 26
	for i, g := range rows {
		y := float64(i)*forestRow + 40
		name := g.Grouping
		if g.Level != "" {
			name += " " + shortened(g.Level)
		}
		c.text("label", "start", 4, y, name)
	}
	for panel, of := range []struct {
		name string
		get  func(*Subgroup) *eval.Estimate
		ref  func() float64
	}{
		{"AUROC", func(g *Subgroup) *eval.Estimate { return g.Metrics.AUROC }, nil},
		{"observed / expected", func(g *Subgroup) *eval.Estimate { return g.Metrics.ObservedExpected }, func() float64 { return 1 }},
		{"sensitivity", func(g *Subgroup) *eval.Estimate { return g.Threshold.Sensitivity }, nil},
	} {
		c.left = forestNames + float64(panel)*(forestPanel+forestGap)
		c.right = c.width - c.left - forestPanel
		c.x = span{math.Inf(1), math.Inf(-1)}
		for i := range rows {
			if e := of.get(&rows[i]); e != nil {
				c.x.from, c.x.to = min(c.x.from, e.Low), max(c.x.to, e.High)
			}
		}
		if of.ref != nil {
			c.x.from, c.x.to = min(c.x.from, of.ref()), max(c.x.to, of.ref())
		}
		if !(c.x.from < c.x.to) {
			continue
		}
		room := 0.05 * (c.x.to - c.x.from)
		c.x.from, c.x.to = c.x.from-room, c.x.to+room
		c.panel(of.name, base)
		at := of.get(&rows[0])
		switch {
		case of.ref != nil:
			fmt.Fprintf(&c.b, `<path class="ideal" d="M%s 24V%s"/>`, pixel(c.atX(of.ref())), pixel(base))
		case at != nil:
			fmt.Fprintf(&c.b, `<path class="ideal" d="M%s 24V%s"/>`, pixel(c.atX(at.Value)), pixel(base))
		}
		for i := range rows {
			if e := of.get(&rows[i]); e != nil {
				y := float64(i)*forestRow + 36
				fmt.Fprintf(&c.b, `<path class="range" d="M%s %sH%s"/><circle class="own" cx="%s" cy="%s" r="3.5"/>`, pixel(c.atX(e.Low)), pixel(y), pixel(c.atX(e.High)), pixel(c.atX(e.Value)), pixel(y))
			}
		}
	}
	return c.svg("AUROC, observed to expected admissions and sensitivity of each subgroup")
}

// panel draws the axis of one panel of the forest plot.
func (c *chart) panel(name string, base float64) {
	c.text("name", "middle", c.left+forestPanel/2, 16, name)
	fmt.Fprintf(&c.b, `<path class="axis" d="M%s %sH%s"/>`, pixel(c.left), pixel(base), pixel(c.left+forestPanel))
	for _, v := range ticks(c.x, step(c.x)) {
		fmt.Fprintf(&c.b, `<path class="axis" d="M%s %sv%d"/>`, pixel(c.atX(v)), pixel(base), tickLength)
		c.text("tick", "middle", c.atX(v), base+tickLength+13, shortNumber(v))
	}
}

// shortened cuts a level's name to what fits.
func shortened(name string) string {
	const most = 22
	if r := []rune(name); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return name
}
