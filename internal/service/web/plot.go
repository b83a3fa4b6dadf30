package web

import (
	"math"
	"strings"
)

// plot is a chart with axes. Its template draws the shapes in their order.
type plot struct {
	ID, Class, Title, Desc   string
	Width, Height            float64
	left, right, top, bottom float64 // margins
	x, y                     span
	Shapes                   []shape
}

// span is a range of data.
type span struct{ from, to float64 }

// shape is a path, a circle of radius R or a text, in pixels.
type shape struct{ Class, Path, X, Y, R, Anchor, Text string }

// point is a place in data coordinates.
type point struct{ x, y float64 }

func (p *plot) atX(v float64) float64 {
	return p.left + (v-p.x.from)/(p.x.to-p.x.from)*(p.Width-p.left-p.right)
}

func (p *plot) atY(v float64) float64 {
	return p.Height - p.bottom - (v-p.y.from)/(p.y.to-p.y.from)*(p.Height-p.top-p.bottom)
}

// line draws a line through points, which end at the lower and upper edge.
func (p *plot) line(class string, points ...point) {
	if len(points) > 1 {
		p.Shapes = append(p.Shapes, shape{Class: class, Path: p.path(points)})
	}
}

// area fills what points surround.
func (p *plot) area(class string, points ...point) {
	if len(points) > 2 {
		p.Shapes = append(p.Shapes, shape{Class: class, Path: p.path(points) + "Z"})
	}
}

func (p *plot) path(points []point) string {
	var b strings.Builder
	for i, at := range points {
		b.WriteByte("ML"[min(i, 1)])
		b.WriteString(geometry(p.atX(at.x)) + " " + geometry(p.atY(min(max(at.y, p.y.from), p.y.to))))
	}
	return b.String()
}

func (p *plot) dot(class string, at point, radius float64) {
	p.Shapes = append(p.Shapes, shape{Class: class, X: geometry(p.atX(at.x)), Y: geometry(p.atY(at.y)), R: geometry(radius)})
}

// text writes at a place in pixels; anchor is start, middle or end.
func (p *plot) text(class, anchor string, x, y float64, text string) {
	p.Shapes = append(p.Shapes, shape{Class: class, X: geometry(x), Y: geometry(y), Anchor: anchor, Text: text})
}

// tick is a place on an axis with its label.
type tick struct {
	at    float64
	label string
}

// axisY draws lines across the chart, with their labels at its left.
func (p *plot) axisY(ticks []tick) {
	for _, t := range ticks {
		p.line("gr", point{p.x.from, t.at}, point{p.x.to, t.at})
		p.text("", "end", p.left-8, p.atY(t.at)+4, t.label)
	}
}

// axisX draws the base of the chart with labels below it, and says what they are.
func (p *plot) axisX(ticks []tick, name string) {
	base := p.Height - p.bottom
	p.line("ax", point{p.x.from, p.y.from}, point{p.x.to, p.y.from})
	for _, t := range ticks {
		p.text("", "middle", p.atX(t.at), base+18, t.label)
	}
	if name != "" {
		p.text("", "middle", (p.left+p.Width-p.right)/2, base+38, name)
	}
}

// every returns ticks at the multiples of a step, with as many decimals as given.
func (s span) every(step float64, decimals int) (ticks []tick) {
	const slack = 1e-9 // of a step, by rounding
	for i := math.Ceil(s.from/step - slack); i*step <= s.to+slack*step; i++ {
		ticks = append(ticks, tick{i * step, number(i*step, decimals)})
	}
	return ticks
}

// step returns the step of about so many ticks: 1, 2 or 5 times a power of ten, and at least the least.
func (s span) step(ticks, least float64) float64 {
	raw := max((s.to-s.from)/ticks, least)
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= raw*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}
