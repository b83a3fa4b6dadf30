package chart

import (
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Point is a place: in the coordinates of the data where a Chart takes it, in pixels from the upper left where a Part holds it.
type Point struct{ X, Y float64 }

// At returns a Point.
func At(x, y float64) Point { return Point{x, y} }

// Chart is a picture with two axes. Sizes are in pixels of CSS. The zero margins and spans are a picture without axes.
type Chart struct {
	// Title and Desc are read to those who do not see the chart. A chart without a title is hidden from them: its facts stand
	// next to it.
	Title, Desc string
	// Class is that of the element, in addition to "ch".
	Class                    string
	Width, Height            float64
	Left, Right, Top, Bottom float64 // margins around the axes
	X, Y                     Span
	Parts                    []Part
}

// Part is a line through Points or what they surround, a circle about the first one, a text at it, or a link that holds Parts.
type Part struct {
	Class   string
	Points  []Point
	Filled  bool
	Opacity float64 // of an area; 0 is 1
	Radius  float64 // of a circle
	Text    string
	Upright bool   // the text reads from below to above
	Href    string // of a link, whose name is Text
	Parts   []Part
}

// Place returns where a point of the data lies, in pixels. What lies outside the axes is moved to their end.
func (c *Chart) Place(p Point) Point {
	return Point{
		c.Left + c.X.share(p.X)*(c.Width-c.Left-c.Right),
		c.Height - c.Bottom - c.Y.share(p.Y)*(c.Height-c.Top-c.Bottom),
	}
}

func (c *Chart) add(p Part) { c.Parts = append(c.Parts, p) }

func (c *Chart) places(points []Point) []Point {
	out := make([]Point, len(points))
	for i, p := range points {
		out[i] = c.Place(p)
	}
	return out
}

// Line draws a line through points.
func (c *Chart) Line(class string, points ...Point) {
	if len(points) > 1 {
		c.add(Part{Class: class, Points: c.places(points)})
	}
}

// Area fills what points surround.
func (c *Chart) Area(class string, points ...Point) {
	if len(points) > 2 {
		c.add(Part{Class: class, Points: c.places(points), Filled: true})
	}
}

// Band fills what lies between two lines.
func (c *Chart) Band(class string, high, low []Point) {
	back := slices.Clone(low)
	slices.Reverse(back)
	c.Area(class, append(slices.Clone(high), back...)...)
}

// Bar fills the rectangle between two corners, unless it is too thin to be seen.
func (c *Chart) Bar(class string, from, to Point) {
	const thin = 0.05 // pixels
	if a, b := c.Place(from), c.Place(to); math.Abs(a.X-b.X) > thin && math.Abs(a.Y-b.Y) > thin {
		c.Area(class, from, Point{to.X, from.Y}, to, Point{from.X, to.Y})
	}
}

// Dot draws a circle.
func (c *Chart) Dot(class string, at Point, radius float64) {
	c.add(Part{Class: class, Points: []Point{c.Place(at)}, Radius: radius})
}

// marks are the shapes that tell series apart: circles, and regular polygons turned by a share of the angle between their corners.
var marks = []struct{ corners, turn float64 }{{}, {4, 0.5}, {3, 0}, {4, 0}, {3, 0.5}, {5, 0}, {6, 0}}

// Mark draws the n-th shape of mark; after the last comes the first again.
func (c *Chart) Mark(class string, n int, at Point, radius float64) {
	c.mark(class, n, c.Place(at), radius)
}

func (c *Chart) mark(class string, n int, at Point, radius float64) {
	shape := marks[n%len(marks)]
	if shape.corners == 0 {
		c.add(Part{Class: class, Points: []Point{at}, Radius: radius})
		return
	}
	p := Part{Class: class, Filled: true}
	for i := range int(shape.corners) {
		sin, cos := math.Sincos(2 * math.Pi * (float64(i) + shape.turn) / shape.corners)
		p.Points = append(p.Points, Point{at.X + 1.25*radius*sin, at.Y - 1.25*radius*cos})
	}
	c.add(p)
}

// Text writes at a place in pixels. The classes mid and end centre the text there, or end it.
func (c *Chart) Text(class string, at Point, text string) {
	if text != "" {
		c.add(Part{Class: class, Points: []Point{at}, Text: text})
	}
}

// Label writes at a distance in pixels from a place of the data.
func (c *Chart) Label(class string, at, distance Point, text string) {
	p := c.Place(at)
	c.Text(class, Point{p.X + distance.X, p.Y + distance.Y}, text)
}

// Link makes what draw adds a link with a name.
func (c *Chart) Link(class, href, name string, draw func()) {
	n := len(c.Parts)
	draw()
	link := Part{Class: class, Href: href, Text: name, Parts: slices.Clone(c.Parts[n:])}
	c.Parts = append(c.Parts[:n], link)
}

// AxisX draws the base of the chart with ticks, and says below what they are.
func (c *Chart) AxisX(name string, ticks ...Tick) {
	base := c.Height - c.Bottom
	c.add(Part{Class: "ax", Points: []Point{{c.Left, base}, {c.Width - c.Right, base}}})
	for _, t := range ticks {
		x := c.Place(Point{X: t.At}).X
		c.add(Part{Class: "ax", Points: []Point{{x, base}, {x, base + 4}}})
		c.Text("mid", Point{x, base + 18}, t.Label)
	}
	c.Text("mid", Point{(c.Left + c.Width - c.Right) / 2, base + 36}, name)
}

// AxisY draws a line across the chart for each tick with its label at the left, and says above what they are.
func (c *Chart) AxisY(name string, ticks ...Tick) {
	for _, t := range ticks {
		y := c.Place(Point{Y: t.At}).Y
		c.add(Part{Class: "gr", Points: []Point{{c.Left, y}, {c.Width - c.Right, y}}})
		c.Text("end", Point{c.Left - 8, y + 4}, t.Label)
	}
	c.Text("", Point{0, c.Top - 14}, name)
}

// Key explains a line, a mark or both. Line and Mark are their classes, and Shape is that of Chart.Mark.
type Key struct {
	Text, Line, Mark string
	Shape            int
}

// Legend explains what is drawn, below the chart, which grows by it.
func (c *Chart) Legend(keys ...Key) {
	const row, sample, gap = 18.0, 28.0, 16.0
	wide := 0.0
	for _, k := range keys {
		wide = max(wide, sample+TextWidth(k.Text)+gap)
	}
	columns := max(1, min(len(keys), int((c.Width-c.Left)/max(wide, 1))))
	for i, k := range keys {
		x, y := c.Left+float64(i%columns)*wide, c.Height+12+float64(i/columns)*row
		if k.Line != "" {
			c.add(Part{Class: k.Line, Points: []Point{{x, y - 4}, {x + 22, y - 4}}})
		}
		if k.Mark != "" {
			c.mark(k.Mark, k.Shape, Point{x + 11, y - 4}, 4)
		}
		c.Text("", Point{x + sample, y}, k.Text)
	}
	grown := 4 + row*float64((len(keys)+columns-1)/columns)
	c.Height, c.Bottom = c.Height+grown, c.Bottom+grown
}

// Series is a line with a mark at each point and, unless Low and High are empty, its interval.
type Series struct {
	Name      string
	Points    []Point
	Low, High []float64
}

// seriesClasses is the number of colours and dashes that style.css has for series.
const seriesClasses = 7

// Plot draws series on axes, told apart by colours, dashes and marks, and returns what explains them. The spans are those of the
// points with their intervals where the chart has none yet; without ticks of x, whole numbers are marked.
func (c *Chart) Plot(x, y string, ticks []Tick, all ...Series) (keys []Key) {
	var xs, ys []float64
	for _, s := range all {
		ys = append(append(ys, s.Low...), s.High...)
		for _, p := range s.Points {
			xs, ys = append(xs, p.X), append(ys, p.Y)
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
		own := "s" + strconv.Itoa(n%seriesClasses)
		for i := range s.Low {
			c.Line("w "+own, Point{s.Points[i].X, s.Low[i]}, Point{s.Points[i].X, s.High[i]})
		}
		c.Line("s "+own, s.Points...)
		for _, p := range s.Points {
			c.Mark("m "+own, n, p, 3)
		}
		keys = append(keys, Key{Text: s.Name, Line: "s " + own, Mark: "m " + own, Shape: n})
	}
	return keys
}

// TextWidth returns about how wide a text is, in pixels.
func TextWidth(text string) (width float64) {
	const narrow, wide = "ijl.,:;'|!()[]ft I/r-", "mwMW@%—"
	for _, r := range text {
		switch {
		case r >= 0x1100: // scripts of East Asia
			width += 12
		case strings.ContainsRune(narrow, r):
			width += 3.6
		case strings.ContainsRune(wide, r):
			width += 10.5
		case unicode.IsUpper(r):
			width += 8.3
		default:
			width += 6.7
		}
	}
	return width
}

// Shorten returns a text on one line, cut to that many letters.
func Shorten(text string, most int) string {
	letters := []rune(strings.Join(strings.Fields(text), " "))
	if len(letters) > most {
		letters = append(letters[:most-1], '…')
	}
	return string(letters)
}

// Style returns the style sheet: the palette and the rules of charts.
func Style() template.CSS { return template.CSS(style) }

// Stack returns a picture of charts, each below the one before.
func Stack(all ...*Chart) *Chart {
	out := &Chart{}
	for _, c := range all {
		for _, p := range c.Parts {
			p.Points = slices.Clone(p.Points)
			for i := range p.Points {
				p.Points[i].Y += out.Height
			}
			out.add(p)
		}
		out.Width, out.Height = max(out.Width, c.Width), out.Height+c.Height
	}
	return out
}
