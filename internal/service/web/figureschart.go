package web

import (
	"html/template"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/models/report"
)

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
	draw := func(reference *eval.Estimate, of func(*eval.Assessment) *eval.Estimate, to func(*groupRow) *groupMeasure) {
		var ends []float64
		if reference != nil {
			ends = append(ends, reference.Value)
		}
		each := func(do func(m *groupMeasure, e *eval.Estimate)) {
			for i := range all {
				if !rows[i].Suppressed {
					do(to(&rows[i]), of(all[i].Metrics))
				}
			}
		}
		each(func(_ *groupMeasure, e *eval.Estimate) {
			if e != nil {
				ends = append(ends, e.Low, e.High)
			}
		})
		each(func(m *groupMeasure, e *eval.Estimate) {
			if m.measureRow = estimated("", e, ""); e == nil {
				return
			}
			c := &chart.Chart{
				Class: "mini grp", Width: 160, Height: 20, Left: 6, Right: 6, X: chart.Cover(ends...), Y: chart.Span{From: 20, To: 0},
			}
			if reference != nil {
				c.Line("wide95", chart.At(reference.Value, 0), chart.At(reference.Value, 20))
			}
			c.Line("whisk", chart.At(e.Low, 10), chart.At(e.High, 10))
			c.Dot("pt", chart.At(e.Value, 10), 4)
			m.Chart = c.SVG()
		})
	}
	draw(r.Metrics.AUROC, func(a *eval.Assessment) *eval.Estimate { return a.AUROC }, func(g *groupRow) *groupMeasure { return &g.AUROC })
	draw(&eval.Estimate{Value: 1}, func(a *eval.Assessment) *eval.Estimate { return a.ObservedExpected },
		func(g *groupRow) *groupMeasure { return &g.Observed })
	return rows
}

// spark is a figure over the versions. Versions without it leave a gap.
type spark struct {
	Name, First, Last string
	Chart             template.HTML
}

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
		var known []float64
		for _, f := range facts {
			if v := of.get(f); v != nil {
				known = append(known, *v)
			}
		}
		if len(known) == 0 {
			continue
		}
		c := &chart.Chart{
			Class: "spark", Width: 160, Height: 36, Left: 5, Right: 5, Top: 5, Bottom: 5,
			X: chart.Span{To: float64(len(facts) - 1)}, Y: chart.Cover(known...),
		}
		var line []chart.Point
		var last chart.Point
		for i, f := range facts {
			if v := of.get(f); v != nil {
				last = chart.At(float64(i), *v)
				line = append(line, last)
				continue
			}
			c.Line("med", line...)
			line = nil
		}
		c.Line("med", line...)
		c.Dot("pt", last, 3.5)
		all = append(all, spark{of.name, fixed(known[0]), fixed(known[len(known)-1]), c.SVG()})
	}
	return all
}
