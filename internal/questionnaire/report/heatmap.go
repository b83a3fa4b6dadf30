package report

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Sizes in pixels of the heat map, and the most letters of a name and of a text in it.
const (
	cellSize    = 18.0
	rim         = 5.0
	longestName = 32
	longestText = 60
)

// group is a run of items of one subscale in the order of a heat map.
type group struct {
	name        string
	first, size int
}

// arrange orders the items by subscale in the order of the file, then by factor and size of their largest loading.
func (m sheet) arrange() (order []int, groups []group) {
	subscale := map[string]int{}
	for _, item := range m.Items {
		if _, ok := subscale[item.Subscale]; !ok {
			subscale[item.Subscale] = len(subscale)
		}
	}
	factors, sizes := model.Strongest(m.AllStretched().Slice(0, len(m.Items), 0, m.Summary.Factors))
	order = linalg.Order(len(m.Items), func(a, b int) int {
		return cmp.Or(cmp.Compare(subscale[m.Items[a].Subscale], subscale[m.Items[b].Subscale]),
			cmp.Compare(factors[a], factors[b]), cmp.Compare(sizes[b], sizes[a]))
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

// heatMap is the content of a drawing of loadings: a row for each item, a column for each factor and confound.
type heatMap struct {
	loadings *mat.Dense
	columns  []string
	order    []int
	groups   []group // empty if there is only one
	largest  float64 // absolute loading, the darkest
	unit     string  // what the colours mean
}

func (m sheet) heatMap() (h heatMap) {
	scale := m.Summary.Settings.Range
	h.loadings = m.AllStretched()
	_, h.columns = m.AllLoadings()
	h.unit = fmt.Sprintf("loading, on the scale of the answers, %v to %v", scale.Low, scale.High)
	if m.FA != nil { // the confounds' loadings are on another scale
		h.loadings, h.columns = m.Loadings(), h.columns[:m.Summary.Factors]
		h.unit = fmt.Sprintf("loading, between %s and factors; a minus marks those below 0", m.Loading())
	}
	if h.order, h.groups = m.arrange(); len(h.groups) == 1 {
		h.groups = nil
	}
	if h.largest = max(mat.Max(h.loadings), -mat.Min(h.loadings)); h.largest == 0 {
		h.largest = scale.High
	}
	return h
}

// HeatMap draws the loadings between subscales, items and their texts, with columns named above and below.
func (m sheet) HeatMap() *chart.Chart {
	h := m.heatMap()
	name := func(s string) string { // names often differ in their ends
		if runes := []rune(s); len(runes) > longestName {
			return string(runes[:longestName/2]) + "…" + string(runes[len(runes)-longestName/2+1:])
		}
		return s
	}
	label := func(j int) string {
		if m.Items[j].Reversed {
			return name(m.Items[j].Name) + " (reversed)"
		}
		return name(m.Items[j].Name)
	}
	var subscale, item, text, column float64 // widths and, of columns, height
	for _, g := range h.groups {
		subscale = max(subscale, 2*rim+chart.TextWidth(name(g.name)))
	}
	for j := range m.Items {
		item = max(item, rim+chart.TextWidth(label(j)))
		text = max(text, rim+chart.TextWidth(chart.Shorten(m.Items[j].Text, longestText)))
	}
	for _, s := range h.columns {
		column = max(column, 2*rim+chart.TextWidth(name(s)))
	}
	const bar, base = 10 * cellSize, cellSize/2 + 4 // width of the colour bar; of a row's text
	left, top := rim+subscale+item, 4*cellSize+column
	right, bottom := left+float64(len(h.columns))*cellSize, top+float64(len(h.order))*cellSize
	c := &chart.Chart{
		Title: "Heat map of the loadings", Height: bottom + column,
		Width: max(right+rim+text, left+bar, left+chart.TextWidth(h.unit)) + rim,
	}
	box := func(x, y, width, share float64) {
		c.Parts = append(c.Parts, chart.Part{Class: "heat", Filled: true, Opacity: share, Points: []chart.Point{
			chart.At(x, y), chart.At(x+width, y), chart.At(x+width, y+cellSize), chart.At(x, y+cellSize),
		}})
	}
	line := func(class string, from, to chart.Point) {
		c.Parts = append(c.Parts, chart.Part{Class: class, Points: []chart.Point{from, to}})
	}
	upright := func(class string, x, y float64, text string) {
		at := []chart.Point{chart.At(x, y)}
		c.Parts = append(c.Parts, chart.Part{Class: class, Points: at, Text: text, Upright: true})
	}
	for r, j := range h.order {
		y := top + float64(r)*cellSize
		for t, q := range h.loadings.RawRowView(j) {
			x, share, class := left+float64(t)*cellSize, math.Abs(q)/h.largest, "minus"
			if q != 0 {
				box(x, y, cellSize, share)
			}
			if share > 0.5 {
				class = "pale"
			}
			if q < 0 && share >= model.TopShare {
				line(class, chart.At(x+cellSize/4, y+cellSize/2), chart.At(x+3*cellSize/4, y+cellSize/2))
			}
		}
		c.Text("end", chart.At(left-rim, y+base), label(j))
		c.Text("", chart.At(right+rim, y+base), chart.Shorten(m.Items[j].Text, longestText))
	}
	for t, s := range h.columns {
		x := left + float64(t)*cellSize + base
		upright("", x, top-rim, name(s))
		upright("end", x, bottom+rim, name(s))
	}
	for _, g := range h.groups {
		y := top + float64(g.first)*cellSize
		c.Text("", chart.At(rim, y+base), name(g.name))
		line("ax", chart.At(rim, y), chart.At(right, y))
	}
	for _, y := range []float64{top, bottom} {
		line("ax", chart.At(left, y), chart.At(right, y))
	}
	for _, t := range []int{0, m.Summary.Factors, len(h.columns)} {
		x := left + float64(t)*cellSize
		line("ax", chart.At(x, top), chart.At(x, bottom))
	}
	const shades, barTop, barBase = 64, 1.5 * cellSize, 2.5 * cellSize
	c.Text("", chart.At(left, cellSize), h.unit)
	for i := range shades {
		box(left+float64(i)*bar/shades, barTop, bar/shades, (float64(i)+0.5)/shades)
	}
	for _, tick := range (chart.Span{To: h.largest}).Ticks(4, 0) {
		x := left + tick.At/h.largest*bar
		line("ax", chart.At(x, barBase), chart.At(x, barBase+4))
		c.Text("mid", chart.At(x, barBase+16), tick.Label)
	}
	return c
}

// zoom is the number of dots of an image for a pixel of a chart, and fontSize that of texts in pixels.
const zoom, fontSize = 2, 12

// rasterize returns a heat map as PNG: boxes, lines that run along an axis, and texts.
func rasterize(c *chart.Chart) ([]byte, error) {
	picture := image.NewRGBA(image.Rect(0, 0, dot(c.Width), dot(c.Height)))
	draw.Draw(picture, picture.Rect, image.White, image.Point{}, draw.Src)
	inks := chart.Colours()
	var face font.Face
	parsed, err := opentype.Parse(goregular.TTF)
	if err == nil {
		face, err = opentype.NewFace(parsed, &opentype.FaceOptions{Size: fontSize * zoom, DPI: 72})
	}
	if err != nil {
		return nil, fmt.Errorf("reading the font: %w", err)
	}
	for _, p := range c.Parts {
		first, last, ink := p.Points[0], p.Points[len(p.Points)-1], inks[p.Class]
		at := image.Pt(dot(first.X), dot(first.Y))
		switch {
		case p.Text != "":
			d := font.Drawer{Dst: picture, Src: image.Black, Face: face, Dot: fixed.P(at.X, at.Y)}
			if p.Upright {
				d.Dst, d.Dot = upright{picture, at}, fixed.P(0, 0)
			}
			d.Dot.X -= map[string]fixed.Int26_6{"end": 2, "mid": 1}[p.Class] * d.MeasureString(p.Text) / 2
			d.DrawString(p.Text)
			continue
		case p.Filled:
			last = p.Points[2]
		default: // the width of a pixel of the chart
			at = at.Sub(image.Pt(zoom/2, zoom/2))
			last = chart.At(last.X+0.5, last.Y+0.5)
		}
		if p.Opacity > 0 {
			ink.A = uint8(math.Round(255 * p.Opacity))
		}
		box := image.Rectangle{Min: at, Max: image.Pt(dot(last.X), dot(last.Y))}
		draw.Draw(picture, box, image.NewUniform(ink), image.Point{}, draw.Over)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		return nil, fmt.Errorf("writing the image: %w", err)
	}
	return b.Bytes(), nil
}

func dot(pixel float64) int { return int(math.Round(pixel * zoom)) }

// upright draws on a picture from a point on, turned to the left.
type upright struct {
	picture draw.Image
	origin  image.Point
}

func (u upright) ColorModel() color.Model       { return u.picture.ColorModel() }
func (u upright) Bounds() image.Rectangle       { return image.Rect(-1e4, -1e4, 1e4, 1e4) }
func (u upright) At(x, y int) color.Color       { return u.picture.At(u.origin.X+y, u.origin.Y-x) }
func (u upright) Set(x, y int, ink color.Color) { u.picture.Set(u.origin.X+y, u.origin.Y-x, ink) }
