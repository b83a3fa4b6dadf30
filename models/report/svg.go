package report

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// chart draws one picture in data coordinates. Colours come from the page's style, so that they follow its theme; lines differ by
// their dashes too, for paper without colour.
type chart struct {
	width, height            float64 // of the picture in pixels
	left, right, top, bottom float64 // margins
	x, y                     span
	b                        strings.Builder
}

// span is a range of data.
type span struct{ from, to float64 }

// Sizes in pixels of CSS.
const (
	chartWidth  = 460
	chartHeight = 360
	tickLength  = 4
	lineHeight  = 15
)

func newChart(x, y span) *chart {
	return &chart{width: chartWidth, height: chartHeight, left: 58, right: 14, top: 12, bottom: 46, x: x, y: y}
}

func (c *chart) atX(v float64) float64 {
	return c.left + (v-c.x.from)/(c.x.to-c.x.from)*(c.width-c.left-c.right)
}

func (c *chart) atY(v float64) float64 {
	return c.height - c.bottom - (v-c.y.from)/(c.y.to-c.y.from)*(c.height-c.top-c.bottom)
}

func pixel(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// point is a place in data coordinates.
type point struct{ x, y float64 }

func (c *chart) path(points []point) string {
	var b strings.Builder
	for i, p := range points {
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(&b, "%s%s %s", command, pixel(c.atX(p.x)), pixel(c.atY(min(max(p.y, c.y.from), c.y.to))))
	}
	return b.String()
}

// line draws through points in the style of a class.
func (c *chart) line(class string, points ...point) {
	if len(points) > 1 {
		fmt.Fprintf(&c.b, `<path class="%s" d="%s"/>`, class, c.path(points))
	}
}

// area fills what the points surround.
func (c *chart) area(class string, points ...point) {
	if len(points) > 2 {
		fmt.Fprintf(&c.b, `<path class="%s" d="%sZ"/>`, class, c.path(points))
	}
}

func (c *chart) dot(class string, p point, radius float64) {
	fmt.Fprintf(&c.b, `<circle class="%s" cx="%s" cy="%s" r="%s"/>`, class, pixel(c.atX(p.x)), pixel(c.atY(p.y)), pixel(radius))
}

// bar draws a bar between two places.
func (c *chart) bar(class string, from, to point) {
	x0, x1, y0, y1 := c.atX(from.x), c.atX(to.x), c.atY(to.y), c.atY(from.y)
	if y1-y0 > 0.05 {
		fmt.Fprintf(&c.b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, pixel(x0), pixel(y0), pixel(x1-x0), pixel(y1-y0))
	}
}

// text writes at a place in pixels; anchor is start, middle or end.
func (c *chart) text(class, anchor string, x, y float64, text string) {
	fmt.Fprintf(&c.b, `<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>`, class, anchor, pixel(x), pixel(y), html.EscapeString(text))
}

// label writes next to a place in data coordinates.
func (c *chart) label(anchor string, p point, dx, dy float64, text string) {
	c.text("label", anchor, c.atX(p.x)+dx, c.atY(p.y)+dy, text)
}

// axes draws both axes with ticks and names.
func (c *chart) axes(xName, yName string, xTicks, yTicks []float64, name func(float64) string) {
	base, side := c.height-c.bottom, c.left
	for _, v := range xTicks {
		x := c.atX(v)
		fmt.Fprintf(&c.b, `<path class="grid" d="M%s %sV%s"/><path class="axis" d="M%s %sv%d"/>`, pixel(x), pixel(c.top), pixel(base), pixel(x), pixel(base), tickLength)
		c.text("tick", "middle", x, base+tickLength+12, name(v))
	}
	for _, v := range yTicks {
		y := c.atY(v)
		fmt.Fprintf(&c.b, `<path class="grid" d="M%s %sH%s"/><path class="axis" d="M%s %sh-%d"/>`, pixel(side), pixel(y), pixel(c.width-c.right), pixel(side), pixel(y), tickLength)
		c.text("tick", "end", side-tickLength-3, y+4, name(v))
	}
	fmt.Fprintf(&c.b, `<path class="axis" d="M%s %sV%sH%s"/>`, pixel(side), pixel(c.top), pixel(base), pixel(c.width-c.right))
	c.text("name", "middle", (side+c.width-c.right)/2, c.height-8, xName)
	middle := (c.top + base) / 2
	fmt.Fprintf(&c.b, `<text class="name" text-anchor="middle" transform="rotate(-90 14 %s)" x="14" y="%s">%s</text>`, pixel(middle), pixel(middle), html.EscapeString(yName))
}

// key is one line of the legend.
type key struct{ class, text string }

// legend writes keys below each other, from a place in pixels on.
func (c *chart) legend(x, y float64, keys ...key) {
	for i, k := range keys {
		at := y + float64(i)*lineHeight
		fmt.Fprintf(&c.b, `<path class="%s" d="M%s %sh22"/>`, k.class, pixel(x), pixel(at-4))
		c.text("label", "start", x+28, at, k.text)
	}
}

// svg returns the picture, with a text for those who do not see it.
func (c *chart) svg(alt string) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg role="img" aria-label="%s" viewBox="0 0 %s %s" width="%s" height="%s">%s</svg>`, //nolint:gosec // all texts in it are escaped
		html.EscapeString(alt), pixel(c.width), pixel(c.height), pixel(c.width), pixel(c.height), c.b.String()))
}

// ticks returns the multiples of step in the span.
func ticks(s span, step float64) []float64 {
	var out []float64
	for i := math.Ceil(s.from/step - 1e-9); i*step <= s.to+1e-9; i++ {
		out = append(out, i*step)
	}
	return out
}

// step returns a tick's step that makes about five ticks.
func step(s span) float64 {
	raw := (s.to - s.from) / 5
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= raw-1e-12 {
			return m * power
		}
	}
	return 10 * power
}

func shortNumber(v float64) string {
	v = math.Round(v * 1e4)
	if v == 0 {
		return "0"
	}
	return strings.Replace(strconv.FormatFloat(v/1e4, 'f', -1, 64), "-", "−", 1)
}
