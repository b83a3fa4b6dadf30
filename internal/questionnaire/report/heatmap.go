package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
)

// Sizes in pixels of the heat map, and the most letters of a name and of a text in it.
const (
	cellSize = 18.0
	rim      = 5.0
	barCells = 10 // width of its colour bar

	longestName = 32
	longestText = 60
)

// group is a run of items of one subscale in the order of a heat map.
type group struct {
	name        string
	first, size int
}

// arrange orders the items by subscale as in the file, then by the factor that they load on most, then by falling loading, whatever
// its sign.
func (m sheet) arrange() (order []int, groups []group) {
	subscale := map[string]int{}
	factor := make([]int, len(m.Items))
	order = make([]int, len(m.Items))
	loadings := m.AllStretched()
	for j, item := range m.Items {
		order[j] = j
		if _, ok := subscale[item.Subscale]; !ok {
			subscale[item.Subscale] = len(subscale)
		}
		row := loadings.RawRowView(j)[:m.Summary.Factors]
		for t, q := range row {
			if math.Abs(q) > math.Abs(row[factor[j]]) {
				factor[j] = t
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(
			cmp.Compare(subscale[m.Items[a].Subscale], subscale[m.Items[b].Subscale]),
			cmp.Compare(factor[a], factor[b]),
			cmp.Compare(math.Abs(loadings.At(b, factor[b])), math.Abs(loadings.At(a, factor[a]))),
		)
	})
	for at, j := range order {
		name := m.Items[j].Subscale
		if len(groups) == 0 || groups[len(groups)-1].name != name {
			groups = append(groups, group{name: name, first: at})
		}
		groups[len(groups)-1].size++
	}
	return order, groups
}

// heatMap is a drawing of loadings: a row for each item, a column for each factor and confound.
type heatMap struct {
	sheet
	loadings *mat.Dense
	columns  []string
	order    []int
	groups   []group // empty if there is only one
	largest  float64 // loading, whatever its sign, the darkest
}

func (m sheet) heatMap() *heatMap {
	h := &heatMap{sheet: m}
	h.loadings = m.AllStretched()
	_, h.columns = m.AllLoadings()
	if m.FA != nil { // what confounds add is on another scale
		h.loadings, h.columns = m.Loadings(), h.columns[:m.Summary.Factors]
	}
	if h.order, h.groups = m.arrange(); len(h.groups) == 1 {
		h.groups = nil
	}
	if h.largest = max(mat.Max(h.loadings), -mat.Min(h.loadings)); h.largest == 0 {
		h.largest = m.Summary.Settings.Range.High
	}
	return h
}

func (h *heatMap) label(j int) string {
	s := chart.Shorten(h.Items[j].Name, longestName)
	if h.Items[j].Reversed {
		s += " (reversed)"
	}
	return s
}

// unit tells what the colours mean.
func (h *heatMap) unit() string {
	if h.FA != nil {
		return "loading, between standardized answers and factors; a minus marks those below 0"
	}
	r := h.Summary.Settings.Range
	return fmt.Sprintf("loading, on the scale of the answers, %v to %v", r.Low, r.High)
}

// chart draws the loadings: subscales and items on the left, the items' texts on the right, and the names of the factors and
// confounds above and below, under a bar of colours.
func (h *heatMap) chart() *chart.Chart {
	var subscale, name, text, column float64
	for _, g := range h.groups {
		subscale = max(subscale, 2*rim+chart.TextWidth(chart.Shorten(g.name, longestName)))
	}
	for j := range h.Items {
		name = max(name, rim+chart.TextWidth(h.label(j)))
		text = max(text, rim+chart.TextWidth(chart.Shorten(h.Items[j].Text, longestText)))
	}
	for _, s := range h.columns {
		column = max(column, 2*rim+chart.TextWidth(chart.Shorten(s, longestName)))
	}
	cells, left, top := float64(len(h.columns))*cellSize, rim+subscale+name, 4*cellSize+column
	right, bottom := left+cells, top+float64(len(h.order))*cellSize
	c := &chart.Chart{
		Title: "Heat map of the loadings", Height: bottom + column,
		Width: left + max(cells+rim+text, barCells*cellSize, chart.TextWidth(h.unit())) + rim,
	}
	box := func(x, y, width, share float64) {
		c.Parts = append(c.Parts, chart.Part{Class: "heat", Filled: true, Opacity: share, Points: []chart.Point{
			chart.At(x, y), chart.At(x+width, y), chart.At(x+width, y+cellSize), chart.At(x, y+cellSize),
		}})
	}
	line := func(class string, x0, y0, x1, y1 float64) {
		c.Parts = append(c.Parts, chart.Part{Class: class, Points: []chart.Point{chart.At(x0, y0), chart.At(x1, y1)}})
	}
	const base = cellSize/2 + 4 // of a row's text
	for r, j := range h.order {
		y := top + float64(r)*cellSize
		for t, q := range h.loadings.RawRowView(j) {
			x, share := left+float64(t)*cellSize, math.Abs(q)/h.largest
			if q != 0 {
				box(x, y, cellSize, share)
			}
			if q < 0 && share >= model.TopShare {
				class := "minus"
				if share > 0.5 {
					class = "pale"
				}
				line(class, x+cellSize/4, y+cellSize/2, x+3*cellSize/4, y+cellSize/2)
			}
		}
		c.Text("end", chart.At(left-rim, y+base), h.label(j))
		c.Text("", chart.At(right+rim, y+base), chart.Shorten(h.Items[j].Text, longestText))
	}
	for t, s := range h.columns {
		at := chart.Part{Text: chart.Shorten(s, longestName), Upright: true}
		for _, end := range []struct {
			class string
			y     float64
		}{{"", top - rim}, {"end", bottom + rim}} {
			at.Class, at.Points = end.class, []chart.Point{chart.At(left+float64(t)*cellSize+base, end.y)}
			c.Parts = append(c.Parts, at)
		}
	}
	for _, g := range h.groups {
		y := top + float64(g.first)*cellSize
		c.Text("", chart.At(rim, y+base), chart.Shorten(g.name, longestName))
		line("ax", rim, y, right, y)
	}
	line("ax", left, top, right, top)
	line("ax", left, bottom, right, bottom)
	for _, t := range []int{0, h.Summary.Factors, len(h.columns)} {
		x := left + float64(t)*cellSize
		line("ax", x, top, x, bottom)
	}
	const shades, width = 64, barCells * cellSize
	c.Text("", chart.At(left, cellSize), h.unit())
	for i := range shades {
		box(left+float64(i)*width/shades, 1.5*cellSize, width/shades, (float64(i)+0.5)/shades)
	}
	for _, tick := range (chart.Span{To: h.largest}).Ticks(4, 0) {
		x := left + tick.At/h.largest*width
		line("ax", x, 2.5*cellSize, x, 2.5*cellSize+4)
		c.Text("mid", chart.At(x, 2.5*cellSize+16), tick.Label)
	}
	return c
}
