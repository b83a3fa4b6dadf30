package web

import (
	"html/template"
	"math"

	"github.com/wardcast/wardcast/internal/chart"
)

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
		line, last := make([]chart.Point, len(facts)), 0
		for i, f := range facts {
			if line[i] = chart.At(float64(i), math.NaN()); of.get(f) != nil {
				line[i].Y, last = *of.get(f), i
				known = append(known, line[i].Y)
			}
		}
		if len(known) == 0 {
			continue
		}
		c := &chart.Chart{
			Class: "spark", Width: 160, Height: 36, Left: 5, Right: 5, Top: 5, Bottom: 5,
			X: chart.Span{To: float64(len(facts) - 1)}, Y: chart.Cover(known...),
		}
		c.Line("med", line...)
		c.Dot("pt", line[last], 3.5)
		all = append(all, spark{of.name, fixed(known[0]), fixed(known[len(known)-1]), c.SVG()})
	}
	return all
}
