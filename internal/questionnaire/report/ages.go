package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
)

// mostAges is the largest number of items in a panel of AgesPlot.
const mostAges = 7

// ages are the loadings of an item on a factor over the numbers of the bins; a bin that left the item out has none.
type ages struct {
	item string
	plotter.XYs
}

// largest returns the largest loading, 0 without any.
func (a *ages) largest() float64 {
	_, _, _, top := plotter.XYRange(a)
	return max(top, 0)
}

// ages returns the curves of a factor, in the order of the items.
func (m sheet) ages(factor int) []ages {
	names := questionnaire.Names(m.Items)
	var curves []ages
	for _, item := range m.VisitItems {
		curve := ages{item: item.Name}
		for b := range m.Visits.Bins() {
			if j := slices.Index(names, m.Visits.ItemName(item.Name, b)); j >= 0 {
				curve.XYs = append(curve.XYs, plotter.XY{X: float64(b), Y: m.ICQF.Loadings.At(j, factor)})
			}
		}
		curves = append(curves, curve)
	}
	return curves
}

// agesTable returns AgesFile.
func (m sheet) agesTable() []byte {
	rows := [][]string{{"factor", "item", "from", "to", "loading"}}
	for t, name := range model.FactorNames(m.ICQF.Loadings) {
		for _, curve := range m.ages(t) {
			for _, p := range curve.XYs {
				bin := int(p.X)
				rows = append(rows, []string{name, curve.item, model.Cell(m.Visits.Edges[bin]), model.Cell(m.Visits.Edges[bin+1]), model.Cell(p.Y)})
			}
		}
	}
	return model.CSV(rows)
}

// drawAges returns an SVG document with a panel for each factor, one above the other.
func (m sheet) drawAges() ([]byte, error) {
	panels := make([]*drawing, m.Summary.Factors)
	for t := range panels {
		var err error
		if panels[t], err = m.agePanel(t); err != nil {
			return nil, fmt.Errorf("drawing %q: %w", AgesPlot, err)
		}
	}
	all := drawing{width: curveWidth, height: vg.Length(len(panels)) * curveHeight, draw: func(c draw.Canvas) {
		for t, panel := range panels {
			panel.draw(draw.Crop(c, 0, 0, vg.Length(len(panels)-1-t)*curveHeight, -vg.Length(t)*curveHeight))
		}
	}}
	return all.svg()
}

// agePanel draws the curves of the items that load on a factor most. The panels of all factors have the same scale.
func (m sheet) agePanel(factor int) (*drawing, error) {
	c := newChart("Factor "+strconv.Itoa(factor+1), m.Visits.Time, "loading")
	bins := m.Visits.Bins()
	var ticks []plot.Tick
	for b := range bins {
		ticks = append(ticks, plot.Tick{Value: float64(b), Label: m.Visits.Label(b)})
	}
	c.X.Tick.Marker = plot.ConstantTicks(ticks)
	curves := m.ages(factor)
	slices.SortStableFunc(curves, func(a, b ages) int { return cmp.Compare(b.largest(), a.largest()) })
	var all lines
	for _, curve := range curves[:min(len(curves), mostAges)] {
		if largest := curve.largest(); largest > 0 && largest >= model.TopShare*curves[0].largest() {
			all = append(all, &series{name: curve.item, XYs: curve.XYs})
		}
	}
	c.X.Min, c.X.Max, c.Y.Min, c.Y.Max = -0.25, float64(bins)-0.75, 0, mat.Max(m.ICQF.Loadings)
	return c.drawing(), c.lines(all)
}
