package web

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/models/report"
)

// wilson returns the 95 % interval of a share of n (Wilson 1927, J. Am. Stat. Assoc. 22).
func wilson(share float64, n int) (low, high float64) {
	const z = 1.959964 // of the normal distribution, at .975
	if n == 0 {
		return 0, 1
	}
	m := float64(n)
	middle := (share + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(share*(1-share)/m+z*z/(4*m*m))
	return max(0, middle-half), min(1, middle+half)
}

// newFigure returns a chart of the size that all figures have.
func newFigure(id, title string, x, y span) *plot {
	return &plot{ID: id, Class: "fig", Title: title, Width: 400, Height: 360, left: 50, right: 16, top: 30, bottom: 48, x: x, y: y}
}

// shares are the ticks of a share, in percent.
func shares(values ...float64) (ticks []tick) {
	for _, v := range values {
		ticks = append(ticks, tick{v, number(100*v, 0) + " %"})
	}
	return ticks
}

// calibrationPlot draws the share admitted against the probability: the tenths of the notes over the smooth curve.
func calibrationPlot(r *report.Report) *plot {
	p := newFigure("cal", "Calibration", span{0, 1}, span{0, 1})
	ticks := shares(0, .2, .4, .6, .8, 1)
	p.axisY(ticks)
	var band []point
	for _, c := range r.Calibration {
		band = append(band, point{c.Predicted, c.High})
	}
	for _, c := range slices.Backward(r.Calibration) {
		band = append(band, point{c.Predicted, c.Low})
	}
	p.area("b95", band...)
	p.line("now", point{0, 0}, point{1, 1})
	p.text("", "start", p.left-34, 14, "share admitted")
	worst := -1
	for i, b := range r.Bins {
		low, high := wilson(b.Observed, b.N)
		p.line("whisk", point{b.Predicted, low}, point{b.Predicted, high})
		p.dot("pt", point{b.Predicted, b.Observed}, 4)
		if worst < 0 || math.Abs(b.Observed-b.Predicted) > math.Abs(r.Bins[worst].Observed-r.Bins[worst].Predicted) {
			worst = i
		}
	}
	p.axisX(ticks, "probability given")
	if worst >= 0 {
		b := r.Bins[worst]
		p.Desc = fmt.Sprintf("Farthest from the diagonal: of patients given %s to %s %%, %s %% were admitted (%s notes).", percent(b.Low), percent(b.High), percent(b.Observed), grouped(b.N))
	}
	return p
}

// assessed are the ticks of a decision curve: how many patients one would assess to find one admission.
var assessed = []float64{20, 10, 5, 4, 3, 2, 1.5, 1.2}

// decisionPlot draws the net benefit at each threshold, for the model, for all and for nobody.
func decisionPlot(r *report.Report) *plot {
	n := len(r.Decision)
	if n < 2 {
		return nil
	}
	const room, below = 1.15, -0.25 // of the share admitted: above, and where the curve of all leaves the chart
	high := 100 * max(r.Metrics.Prevalence.Value*room, 0.02)
	p := newFigure("dec", "Decision curve", span{0, r.Decision[n-1].Threshold}, span{below * high, high})
	p.axisY(p.y.every(p.y.step(5, 0.1), 1))
	p.text("", "start", p.left-34, 14, "net benefit: admissions found for 100 patients, less needless work")
	var band, model, all []point
	for _, d := range r.Decision {
		band = append(band, point{d.Threshold, 100 * d.Model.High})
		model = append(model, point{d.Threshold, 100 * d.Model.Value})
		if y := 100 * d.TreatAll.Value; y > p.y.from {
			all = append(all, point{d.Threshold, y})
		}
	}
	for _, d := range slices.Backward(r.Decision) {
		band = append(band, point{d.Threshold, 100 * d.Model.Low})
	}
	p.area("b80", band...)
	p.line("ax", point{0, 0}, point{p.x.to, 0})
	p.line("limit", all...)
	p.line("med", model...)
	var ticks []tick
	for _, a := range assessed {
		if 1/a <= p.x.to {
			ticks = append(ticks, tick{1 / a, number(a, 1)})
		}
	}
	p.text("", "end", p.Width-p.right, p.atY(0)+14, "admit nobody")
	if len(all) > 0 {
		last := all[len(all)-1]
		p.text("", "start", p.atX(last.x)+6, p.atY(last.y)-4, "admit all")
	}
	middle := r.Decision[n/3]
	p.text("strong", "start", p.atX(middle.Threshold)+6, p.atY(100*middle.Model.High)-6, "the model")
	p.axisX(ticks, "patients you would assess to find one admission")
	own := r.Thresholds[0].Threshold
	best := slices.MinFunc(r.Decision, func(a, b eval.BenefitPoint) int {
		return cmp.Compare(math.Abs(a.Threshold-own), math.Abs(b.Threshold-own))
	})
	p.Desc = fmt.Sprintf("At the model's threshold of %s %% the net benefit is %s for 100 patients, against %s of admitting all and 0 of admitting nobody.",
		percent(own), number(100*best.Model.Value, 1), number(100*best.TreatAll.Value, 1))
	return p
}

// rocPlot draws sensitivity against 1 − specificity, with the thresholds.
func rocPlot(r *report.Report) *plot {
	if len(r.Ranking) == 0 {
		return nil
	}
	p := newFigure("roc", "ROC curve", span{0, 1}, span{0, 1})
	ticks := shares(0, .2, .4, .6, .8, 1)
	p.axisY(ticks)
	p.text("", "start", p.left-34, 14, "of those admitted, how many are called")
	p.line("now", point{0, 0}, point{1, 1})
	curve := []point{{0, 0}}
	for _, k := range r.Ranking {
		curve = append(curve, point{1 - k.Specificity, k.Sensitivity})
	}
	p.line("med", curve...)
	for i, o := range r.Thresholds {
		if o.Sensitivity == nil || o.Specificity == nil {
			continue
		}
		at := point{1 - o.Specificity.Value, o.Sensitivity.Value}
		class := ""
		if i == 0 {
			class = "strong"
		}
		p.dot("pt", at, 4)
		p.text(class, "start", p.atX(at.x)+8, p.atY(at.y)+12, "from "+percent(o.Threshold)+" %")
	}
	p.axisX(ticks, "of those not admitted, how many are called")
	p.Desc = "The area under the curve is unknown."
	if a := r.Metrics.AUROC; a != nil {
		p.text("strong", "end", p.atX(1)-6, p.atY(0)-12, "AUROC "+interval(a))
		p.Desc = "The area under the curve is " + interval(a) + "."
	}
	return p
}

// groupWidth is the width of the dots and lines of subgroups, groupEdge what is free at both ends.
const groupWidth, groupEdge = 160.0, 6.0

// newGroupRows returns all notes and the subgroups, with each measure on one scale.
func newGroupRows(r *report.Report) []groupRow {
	all := append([]report.Subgroup{{Grouping: "All notes", Metrics: r.Metrics}}, r.Subgroups...)
	if len(all) == 1 {
		return nil
	}
	rows := make([]groupRow, len(all))
	for i := range all {
		g := &all[i]
		rows[i] = groupRow{Grouping: capital(g.Grouping), Level: g.Level, Suppressed: g.Suppressed || g.Metrics == nil}
		if !rows[i].Suppressed {
			rows[i].Notes = grouped(g.Metrics.N)
		}
	}
	one := 1.0
	of := func(get func(*eval.Assessment) *eval.Estimate, reference *float64, set func(*groupRow, groupMeasure)) {
		low, high := math.Inf(1), math.Inf(-1)
		for i := range all {
			if rows[i].Suppressed {
				continue
			}
			if e := get(all[i].Metrics); e != nil {
				low, high = min(low, e.Low), max(high, e.High)
			}
		}
		if reference != nil {
			low, high = min(low, *reference), max(high, *reference)
		}
		at := func(v float64) string {
			return geometry(groupEdge + (v-low)/max(high-low, 1e-9)*(groupWidth-2*groupEdge))
		}
		for i := range all {
			if rows[i].Suppressed {
				continue
			}
			m := groupMeasure{measureRow: estimated("", get(all[i].Metrics), "")}
			if e := get(all[i].Metrics); e != nil {
				m.Line, m.Dot = "M"+at(e.Low)+" 10H"+at(e.High), at(e.Value)
				if reference != nil {
					m.Reference = at(*reference)
				}
			}
			set(&rows[i], m)
		}
	}
	var whole *float64
	if a := r.Metrics.AUROC; a != nil {
		whole = &a.Value
	}
	of(func(a *eval.Assessment) *eval.Estimate { return a.AUROC }, whole, func(g *groupRow, m groupMeasure) { g.AUROC = m })
	of(func(a *eval.Assessment) *eval.Estimate { return a.ObservedExpected }, &one, func(g *groupRow, m groupMeasure) { g.Observed = m })
	return rows
}

// spark is a figure over the versions, 160 by 36. Versions without it leave a gap.
type spark struct {
	Name, First, Last string
	Paths             []string
	X, Y              string // of the last
}

// Sizes of a sparkline.
const sparkWidth, sparkHeight, sparkEdge = 160.0, 36.0, 5.0

// sparks draws how the figures of the manifests changed, each on a scale of its own.
func sparks(facts []*versionFacts) (all []spark) {
	for _, of := range []struct {
		name string
		get  func(*versionFacts) *float64
	}{
		{"AUROC", func(f *versionFacts) *float64 { return f.AUROC }},
		{"Brier score", func(f *versionFacts) *float64 { return f.Brier }},
		{"Calibration slope", func(f *versionFacts) *float64 { return f.Slope }},
		{"Share admitted", func(f *versionFacts) *float64 { return f.admitted }},
	} {
		low, high := math.Inf(1), math.Inf(-1)
		for _, f := range facts {
			if v := of.get(f); v != nil {
				low, high = min(low, *v), max(high, *v)
			}
		}
		if low > high {
			continue
		}
		s := spark{Name: of.name}
		path := ""
		for i, f := range facts {
			v := of.get(f)
			if v == nil {
				s.Paths, path = append(s.Paths, path), ""
				continue
			}
			s.X = geometry(sparkEdge + float64(i)/float64(len(facts)-1)*(sparkWidth-2*sparkEdge))
			s.Y = geometry(sparkHeight / 2)
			if high > low {
				s.Y = geometry(sparkHeight - sparkEdge - (*v-low)/(high-low)*(sparkHeight-2*sparkEdge))
			}
			path += map[bool]string{true: "M", false: "L"}[path == ""] + s.X + " " + s.Y
			if s.First == "" {
				s.First = fixed(*v)
			}
			s.Last = fixed(*v)
		}
		s.Paths = append(s.Paths, path)
		all = append(all, s)
	}
	return all
}
