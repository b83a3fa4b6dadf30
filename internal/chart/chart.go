package chart

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Point is in data units for the methods of a Chart, unless they say pixels; in a Part, in pixels from the upper left.
type Point struct{ X, Y float64 }

// At returns a Point.
func At(x, y float64) Point { return Point{x, y} }

func (p Point) isNumber() bool { return !math.IsNaN(p.X) && !math.IsNaN(p.Y) }

// Chart is a picture with two axes. Sizes are in pixels of CSS.
type Chart struct {
	// Title and Desc are for screen readers. A chart without a title is hidden from them.
	Title, Desc              string
	Class                    string // of the element, in addition to "ch"
	Width, Height            float64
	Left, Right, Top, Bottom float64 // margins around the axes
	X, Y                     Span
	Parts                    []Part
}

// Part is one of: a line through Points, the area they surround, a circle around the first, a text at it, a link.
type Part struct {
	Class   string
	Points  []Point
	Filled  bool
	Opacity float64 // of an area; 0 is 1
	Radius  float64 // of a circle
	Text    string
	Upright bool   // the text runs upwards
	Href    string // of a link with the name Text and the content Parts
	Parts   []Part
}

// Place converts a point of the data to pixels.
func (c *Chart) Place(p Point) Point {
	return Point{
		c.Left + c.X.share(p.X)*(c.Width-c.Left-c.Right),
		c.Height - c.Bottom - c.Y.share(p.Y)*(c.Height-c.Top-c.Bottom),
	}
}

func (c *Chart) path(class string, filled bool, points []Point) {
	p := Part{Class: class, Filled: filled}
	for _, at := range points {
		if at = c.Place(at); at.isNumber() || !filled {
			p.Points = append(p.Points, at)
		}
	}
	if slices.ContainsFunc(p.Points, Point.isNumber) {
		c.Parts = append(c.Parts, p)
	}
}

// Line draws a line through points. A point that is not a number leaves a gap.
func (c *Chart) Line(class string, points ...Point) { c.path(class, false, points) }

// Area fills the polygon with these corners.
func (c *Chart) Area(class string, points ...Point) { c.path(class, true, points) }

// Band fills the area between two lines.
func (c *Chart) Band(class string, high, low []Point) {
	back := slices.Clone(low)
	slices.Reverse(back)
	c.Area(class, slices.Concat(high, back)...)
}

// Bar fills the rectangle between two corners, unless it is too thin to be seen.
func (c *Chart) Bar(class string, from, to Point) {
	const thin = 0.05 // pixels
	if a, b := c.Place(from), c.Place(to); math.Abs(a.X-b.X) > thin && math.Abs(a.Y-b.Y) > thin {
		c.Area(class, from, Point{to.X, from.Y}, to, Point{from.X, to.Y})
	}
}

// marks are the shapes that distinguish series: a circle, and polygons turned by a share of the angle between corners.
var marks = []struct{ corners, turn float64 }{{}, {4, 0.5}, {3, 0}, {4, 0}, {3, 0.5}, {5, 0}, {6, 0}}

// Dot draws a circle.
func (c *Chart) Dot(class string, at Point, radius float64) { c.Mark(class, 0, at, radius) }

// Mark draws the n-th shape of marks, counted modulo their number.
func (c *Chart) Mark(class string, n int, at Point, radius float64) {
	c.mark(class, n, c.Place(at), radius)
}

func (c *Chart) mark(class string, n int, at Point, radius float64) {
	if !at.isNumber() {
		return
	}
	p, shape := Part{Class: class, Filled: true}, marks[n%len(marks)]
	if shape.corners == 0 {
		p = Part{Class: class, Points: []Point{at}, Radius: radius}
	}
	for i := range int(shape.corners) {
		sin, cos := math.Sincos(2 * math.Pi * (float64(i) + shape.turn) / shape.corners)
		p.Points = append(p.Points, Point{at.X + 1.25*radius*sin, at.Y - 1.25*radius*cos})
	}
	c.Parts = append(c.Parts, p)
}

// Text writes at a place in pixels. The classes mid and end centre the text there, or end it.
func (c *Chart) Text(class string, at Point, text string) {
	if text != "" && at.isNumber() {
		c.Parts = append(c.Parts, Part{Class: class, Points: []Point{at}, Text: text})
	}
}

// Label writes at a distance in pixels from a place of the data.
func (c *Chart) Label(class string, at, distance Point, text string) {
	p := c.Place(at)
	c.Text(class, Point{p.X + distance.X, p.Y + distance.Y}, text)
}

// Link makes the parts that draw adds a link with a name.
func (c *Chart) Link(class, href, name string, draw func()) {
	n := len(c.Parts)
	draw()
	link := Part{Class: class, Href: href, Text: name, Parts: slices.Clone(c.Parts[n:])}
	c.Parts = append(c.Parts[:n], link)
}

// AxisX draws the base of the chart with ticks, and names the axis below.
func (c *Chart) AxisX(name string, ticks ...Tick) {
	base := c.Height - c.Bottom
	line := func(from, to Point) { c.Parts = append(c.Parts, Part{Class: "ax", Points: []Point{from, to}}) }
	line(Point{c.Left, base}, Point{c.Width - c.Right, base})
	for _, t := range ticks {
		x := c.Place(Point{X: t.At}).X
		line(Point{x, base}, Point{x, base + 4})
		c.Text("mid", Point{x, base + 18}, t.Label)
	}
	c.Text("mid", Point{(c.Left + c.Width - c.Right) / 2, base + 36}, name)
}

// AxisY draws a line across the chart for each tick with its label at the left, and names the axis above.
func (c *Chart) AxisY(name string, ticks ...Tick) {
	for _, t := range ticks {
		c.Line("gr", Point{c.X.From, t.At}, Point{c.X.To, t.At})
		c.Label("end", Point{c.X.From, t.At}, Point{-8, 4}, t.Label)
	}
	c.Text("", Point{0, c.Top - 14}, name)
}

// Key explains a line, a mark or both. Line and Mark are their classes, and Shape is the number of the mark.
type Key struct {
	Text, Line, Mark string
	Shape            int
}

// Legend adds a legend below the chart, which grows.
func (c *Chart) Legend(keys ...Key) {
	const row, sample, gap = 18.0, 28.0, 16.0
	wide := 1.0
	for _, k := range keys {
		wide = max(wide, sample+TextWidth(k.Text)+gap)
	}
	columns := max(1, min(len(keys), int((c.Width-c.Left)/wide)))
	for i, k := range keys {
		at := Point{c.Left + float64(i%columns)*wide, c.Height + 12 + float64(i/columns)*row}
		if k.Line != "" {
			line := []Point{{at.X, at.Y - 4}, {at.X + 22, at.Y - 4}}
			c.Parts = append(c.Parts, Part{Class: k.Line, Points: line})
		}
		if k.Mark != "" {
			c.mark(k.Mark, k.Shape, Point{at.X + 11, at.Y - 4}, 4)
		}
		c.Text("", Point{at.X + sample, at.Y}, k.Text)
	}
	grown := 4 + row*float64((len(keys)+columns-1)/columns)
	c.Height, c.Bottom = c.Height+grown, c.Bottom+grown
}

// Estimate is a value at X with an interval, which is not drawn unless High is above Low.
type Estimate struct{ X, Y, Low, High float64 }

// Curve draws a line through estimates over the band of their intervals.
func (c *Chart) Curve(band, line string, estimates []Estimate) {
	var low, high, middle []Point
	for _, e := range estimates {
		low, high, middle = append(low, At(e.X, e.Low)), append(high, At(e.X, e.High)), append(middle, At(e.X, e.Y))
	}
	c.Band(band, high, low)
	c.Line(line, middle...)
}

// Series is a line with a mark and an interval at each estimate.
type Series struct {
	Name      string
	Estimates []Estimate
}

const seriesClasses = 7 // the number of colours and dashes that style.css has for series

// Plot draws series on axes, each with its own colour, dash and mark, and returns the keys of their legend. An empty
// span of the chart becomes that of the series. Without ticks for x, whole numbers are marked.
func (c *Chart) Plot(x, y string, ticks []Tick, all ...Series) (keys []Key) {
	var xs, ys []float64
	for _, s := range all {
		for _, e := range s.Estimates {
			if xs, ys = append(xs, e.X), append(ys, e.Y); e.High > e.Low {
				ys = append(ys, e.Low, e.High)
			}
		}
	}
	if ticks == nil {
		ticks = Cover(xs...).Ticks(14, 1)
	}
	if c.X == (Span{}) {
		c.X = Cover(xs...).Pad(0.04)
	}
	if c.Y == (Span{}) {
		c.Y = Cover(ys...).Round(5)
	}
	c.AxisY(y, c.Y.Ticks(5, 0)...)
	c.AxisX(x, ticks...)
	for n, s := range all {
		own := " s" + strconv.Itoa(n%seriesClasses)
		var line []Point
		for _, e := range s.Estimates {
			if line = append(line, At(e.X, e.Y)); e.High > e.Low {
				c.Line("w"+own, At(e.X, e.Low), At(e.X, e.High))
			}
			c.Mark("m"+own, n, At(e.X, e.Y), 3)
		}
		c.Line("s"+own, line...)
		keys = append(keys, Key{Text: s.Name, Line: "s" + own, Mark: "m" + own, Shape: n})
	}
	return keys
}

// Stack returns a picture of charts without links, each below the one before.
func Stack(all ...*Chart) *Chart {
	out := &Chart{}
	for _, c := range all {
		for _, p := range c.Parts {
			p.Points = slices.Clone(p.Points)
			for i := range p.Points {
				p.Points[i].Y += out.Height
			}
			out.Parts = append(out.Parts, p)
		}
		out.Width, out.Height = max(out.Width, c.Width), out.Height+c.Height
	}
	return out
}

// TextWidth estimates the width of a text in pixels.
func TextWidth(text string) (width float64) {
	for _, r := range text {
		switch {
		case r >= 0x1100: // scripts of East Asia
			width += 12
		case strings.ContainsRune("ijl.,:;'|!()[]ft I/r-", r):
			width += 3.6
		case unicode.IsUpper(r) || strings.ContainsRune("mw@%—", r):
			width += 9
		default:
			width += 6.7
		}
	}
	return width
}

// Shorten returns a text on one line, cut to this many characters.
func Shorten(text string, most int) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > most {
		runes = append(runes[:most-1], '…')
	}
	return string(runes)
}
