package questionnaire

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The files that a fit of visits writes besides: the loadings of each item over the bins of time.
const (
	AgesFile = "ages.csv"
	AgesPlot = "ages.svg"
)

// mostAges is how many items a panel of AgesPlot shows, at most.
const mostAges = 7

// age is the loading of an item in a bin.
type age struct {
	bin     int
	loading float64
}

// ages is the loadings of an item on a factor, in the order of the bins; those where the item was left out have none.
type ages struct {
	item   string
	points []age
}

// largest returns the largest loading, 0 of none.
func (a *ages) largest() float64 {
	top := 0.0
	for _, p := range a.points {
		top = max(top, p.loading)
	}
	return top
}

// ages returns the curves of a factor, in the order of the items.
func (m *Model) ages(factor int) []ages {
	at := map[string]int{}
	for j, item := range m.Items {
		at[item.Name] = j
	}
	var curves []ages
	for _, item := range m.VisitItems {
		curve := ages{item: item.Name}
		for b := range len(m.Visits.Edges) - 1 {
			if j, ok := at[item.Name+"@"+m.Visits.label(b)]; ok {
				curve.points = append(curve.points, age{b, m.factors.Loadings.At(j, factor)})
			}
		}
		curves = append(curves, curve)
	}
	return curves
}

// writeAges writes AgesFile and AgesPlot for a model of visits, nothing for another one.
func (m *Model) writeAges(dir string) error {
	if m.Visits == nil {
		return nil
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write([]string{"factor", "item", "from", "to", "loading"}) // Error tells
	for t, name := range factorNames(m.factors.Loadings) {
		for _, curve := range m.ages(t) {
			for _, p := range curve.points {
				_ = w.Write([]string{name, curve.item, number(m.Visits.Edges[p.bin]), number(m.Visits.Edges[p.bin+1]), number(p.loading)})
			}
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return fmt.Errorf("writing %q: %w", AgesFile, err)
	}
	svg, err := m.drawAges()
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{AgesFile: b.Bytes(), AgesPlot: svg} {
		if err := replace(filepath.Join(dir, name), data); err != nil {
			return err
		}
	}
	return nil
}

// drawAges returns an SVG document of a panel for each factor, one above the other.
func (m *Model) drawAges() ([]byte, error) {
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

// agePanel draws the curves of the items that load on a factor most; the panels of all factors have one scale.
func (m *Model) agePanel(factor int) (*drawing, error) {
	c := newChart("Factor " + strconv.Itoa(factor+1))
	c.X.Label.Text, c.Y.Label.Text = m.Visits.Time, "loading"
	bins := len(m.Visits.Edges) - 1
	var ticks []plot.Tick
	for b := range bins {
		ticks = append(ticks, plot.Tick{Value: float64(b), Label: m.Visits.label(b)})
	}
	c.X.Tick.Marker = plot.ConstantTicks(ticks)
	curves := m.ages(factor)
	slices.SortStableFunc(curves, func(a, b ages) int { return cmp.Compare(b.largest(), a.largest()) })
	for _, curve := range curves[:min(len(curves), mostAges)] {
		if largest := curve.largest(); largest == 0 || largest < topShare*curves[0].largest() {
			break
		}
		s := &series{}
		for _, a := range curve.points {
			s.XYs = append(s.XYs, plotter.XY{X: float64(a.bin), Y: a.loading})
		}
		if err := c.line(curve.item, s); err != nil {
			return nil, err
		}
	}
	c.X.Min, c.X.Max, c.Y.Min, c.Y.Max = -0.25, float64(bins)-0.75, 0, mat.Max(m.factors.Loadings)
	return &drawing{c.Draw, curveWidth, curveHeight}, nil
}
