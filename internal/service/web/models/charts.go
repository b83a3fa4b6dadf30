package models

import (
	"html/template"
	"math"

	"github.com/wardcast/wardcast/internal/chart"
)

// spark is a figure over the versions. Versions without it leave a gap.
type spark struct {
	Name        string
	First, Last float64
	Chart       template.HTML
}

// sparks draws how the figures of the manifests changed, each on a scale of its own.
func sparks(versions []version) (all []spark) {
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
		c := &chart.Chart{
			Class: "spark", Width: 160, Height: 36, Left: 5, Right: 5, Top: 5, Bottom: 5,
			X: chart.Span{To: float64(len(versions) - 1)}, Y: chart.Cover(known...),
		}
		c.Line("med", line...)
		c.Dot("pt", line[last], 3.5)
		all = append(all, spark{Name: of.name, First: known[0], Last: known[len(known)-1], Chart: c.SVG()})
	}
	return all
}
