package report

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/wardcast/wardcast/internal/questionnaire/model"
)

const (
	cellSize = 14 * point // of the heat map
	barCells = 10         // width of its colour bar

	// The most letters of a name and of a text in a drawing.
	longestName = 32
	longestText = 60
)

// blue returns the color of a share: white for 0, dark blue for 1, and equal steps of lightness between.
func blue(share float64) color.Color {
	mix := func(dark float64) uint8 { return uint8(math.Round(255 + share*(dark-255))) }
	return color.RGBA{mix(8), mix(48), mix(107), 255}
}

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

// heatMap is the layout of a drawing of loadings: a row for each item, a column for each factor and confound. Lengths are
// measured from the lower left corner.
type heatMap struct {
	sheet
	loadings *mat.Dense
	columns  []string
	order    []int
	groups   []group // empty if there is only one
	largest  float64 // loading, whatever its sign, the darkest

	left, right, bottom, top vg.Length // of the cells
	drawing
}

// style returns the style of small text that is aligned about its point.
func style(x text.XAlignment) text.Style {
	s := text.Style{Color: color.Black, Font: plot.DefaultFont, XAlign: x, YAlign: text.YCenter, Handler: plot.DefaultTextHandler}
	s.Font.Variant, s.Font.Size = sansSerif, smallFont
	return s
}

// heatMap lays out a drawing of the loadings: subscales and items on the left, the items' texts on the right, and the names of
// the factors and confounds above and below.
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
	width := style(text.XLeft).Width
	var subscale, name, item, column vg.Length
	for _, g := range h.groups {
		subscale = max(subscale, 2*rim+width(shorten(g.name, longestName)))
	}
	for j := range m.Items {
		name = max(name, rim+width(h.label(j)))
		item = max(item, rim+width(shorten(m.Items[j].Text, longestText)))
	}
	for c, s := range h.columns {
		h.columns[c] = shorten(s, longestName)
		column = max(column, 2*rim+width(h.columns[c]))
	}
	const bar = 4 * cellSize
	cells := vg.Length(len(h.columns)) * cellSize
	h.left = rim + subscale + name
	h.right = h.left + cells
	h.bottom = column
	h.top = h.bottom + vg.Length(len(h.order))*cellSize
	h.height = h.top + column + bar
	h.width = h.left + max(cells+rim+item, barCells*cellSize, width(h.unit())) + rim
	h.draw = h.paint
	return h
}

func (h *heatMap) label(j int) string {
	s := shorten(h.Items[j].Name, longestName)
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

func (h *heatMap) paint(c draw.Canvas) {
	box := func(x, y, w, height vg.Length, fill color.Color) {
		c.FillPolygon(fill, []vg.Point{{X: x, Y: y}, {X: x + w, Y: y}, {X: x + w, Y: y + height}, {X: x, Y: y + height}})
	}
	line, minus := draw.LineStyle{Color: color.Gray{Y: 144}, Width: point / 2}, draw.LineStyle{Width: 1.5 * point}
	box(0, 0, h.width, h.height, color.White)
	left, right, upright := style(text.XLeft), style(text.XRight), style(text.XLeft)
	upright.Rotation = math.Pi / 2

	for r, j := range h.order {
		y := h.top - vg.Length(r+1)*cellSize
		for t, q := range h.loadings.RawRowView(j) {
			x, share := h.left+vg.Length(t)*cellSize, math.Abs(q)/h.largest
			if q != 0 {
				box(x, y, cellSize, cellSize, blue(share))
			}
			if q < 0 && share >= model.TopShare {
				minus.Color = color.Black
				if share > 0.5 {
					minus.Color = color.White
				}
				c.StrokeLine2(minus, x+cellSize/4, y+cellSize/2, x+3*cellSize/4, y+cellSize/2)
			}
		}
		c.FillText(right, vg.Point{X: h.left - rim, Y: y + cellSize/2}, h.label(j))
		c.FillText(left, vg.Point{X: h.right + rim, Y: y + cellSize/2}, shorten(h.Items[j].Text, longestText))
	}
	for t, name := range h.columns {
		x := h.left + (vg.Length(t)+0.5)*cellSize
		c.FillText(upright, vg.Point{X: x, Y: h.top + rim}, name)
		c.FillText(upright, vg.Point{X: x, Y: h.bottom - rim - upright.Width(name)}, name)
	}
	for _, g := range h.groups {
		y := h.top - vg.Length(g.first)*cellSize
		c.FillText(left, vg.Point{X: rim, Y: y - cellSize/2}, shorten(g.name, longestName))
		c.StrokeLine2(line, rim, y, h.right, y)
	}
	c.StrokeLine2(line, h.left, h.top, h.right, h.top)
	c.StrokeLine2(line, h.left, h.bottom, h.right, h.bottom)
	for _, t := range []int{0, h.Summary.Factors, len(h.columns)} {
		x := h.left + vg.Length(t)*cellSize
		c.StrokeLine2(line, x, h.bottom, x, h.top)
	}

	const shades = 64
	y, width := h.height-2.5*cellSize, vg.Length(barCells*cellSize)
	c.FillText(left, vg.Point{X: h.left, Y: h.height - cellSize}, h.unit())
	for i := range shades {
		box(h.left+vg.Length(i)*width/shades, y, width/shades, cellSize, blue((float64(i)+0.5)/shades))
	}
	centred := style(text.XCenter)
	for _, tick := range (plot.DefaultTicks{}).Ticks(0, h.largest) {
		if x := h.left + vg.Length(tick.Value/h.largest)*width; !tick.IsMinor() {
			c.StrokeLine2(line, x, y-rim/2, x, y)
			c.FillText(centred, vg.Point{X: x, Y: y - rim - smallFont/2}, tick.Label)
		}
	}
}
