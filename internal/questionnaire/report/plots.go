package report

import (
	"bytes"
	"cmp"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/evaluate"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
)

const (
	point      = vg.Inch / 72
	smallFont  = 9 * point
	normalFont = 10 * point
	rim        = 4 * point
	sansSerif  = "Sans"

	curveWidth  = 16 * vg.Centimeter
	curveHeight = 9 * vg.Centimeter

	imageDPI = 144
)

// drawing is a picture with its size.
type drawing struct {
	draw          func(draw.Canvas)
	width, height vg.Length
}

// svg returns the drawing as an SVG document. It replaces letters that XML forbids.
func (d *drawing) svg() ([]byte, error) {
	document, err := d.write(vgsvg.New(d.width, d.height))
	return bytes.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == '\ufffe' || r == '\uffff' {
			return utf8.RuneError
		}
		return r
	}, document), err
}

func (d *drawing) png() ([]byte, error) {
	return d.write(vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(d.width, d.height), vgimg.UseDPI(imageDPI))})
}

func (d *drawing) write(canvas interface {
	vg.CanvasSizer
	io.WriterTo
},
) ([]byte, error) {
	d.draw(draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("drawing: %w", err)
	}
	return b.Bytes(), nil
}

// shorten returns the text on one line, cut to that many letters.
func shorten(s string, most int) string {
	letters := []rune(strings.Join(strings.Fields(s), " "))
	if len(letters) > most {
		letters = append(letters[:most-1], '…')
	}
	return string(letters)
}

// colors can be told apart by most eyes (Okabe and Ito 2008).
var colors = []color.Color{
	color.RGBA{0, 114, 178, 255},
	color.RGBA{213, 94, 0, 255},
	color.RGBA{0, 158, 115, 255},
	color.RGBA{204, 121, 167, 255},
	color.RGBA{86, 180, 233, 255},
	color.RGBA{230, 159, 0, 255},
	color.RGBA{64, 64, 64, 255},
}

// chart is a plot of lines in sans serif, with a legend on its right.
type chart struct {
	*plot.Plot
	legend plot.Legend
	count  int // of lines
}

// newChart returns an empty chart with these labels of its axes.
func newChart(title, x, y string) *chart {
	c := &chart{Plot: plot.New(), legend: plot.NewLegend()}
	c.Title.Text, c.Title.Padding, c.X.Label.Text, c.Y.Label.Text = title, rim, x, y
	c.legend.Top, c.legend.Left, c.legend.Padding = true, true, rim/2
	for _, s := range []*text.Style{&c.Title.TextStyle, &c.X.Label.TextStyle, &c.Y.Label.TextStyle, &c.X.Tick.Label, &c.Y.Tick.Label, &c.legend.TextStyle} {
		s.Font.Variant, s.Font.Size = sansSerif, normalFont
	}
	return c
}

// explain puts a name into the legend.
func (c *chart) explain(name string, thumbs ...plot.Thumbnailer) {
	const longest = 28
	c.legend.Add(shorten(name, longest), thumbs...)
}

// series holds the points of a line, with or without a bar at each.
type series struct {
	name string
	plotter.XYs
	plotter.YErrors
}

// lines are told apart by their names.
type lines []*series

// add adds a point to the line of this name, a new one at the end if there is none, and how far its bar goes down and up. It
// returns the number of the line.
func (l *lines) add(name string, x, y, down, up float64) (number int) {
	number = slices.IndexFunc(*l, func(s *series) bool { return s.name == name })
	if number < 0 {
		number = len(*l)
		*l = append(*l, &series{name: name})
	}
	s := (*l)[number]
	s.XYs = append(s.XYs, plotter.XY{X: x, Y: y})
	s.YErrors = append(s.YErrors, struct{ Low, High float64 }{down, up})
	return number
}

// lines adds lines, each with its own color and shape.
func (c *chart) lines(all lines) error {
	for _, s := range all {
		line, dots, err := plotter.NewLinePoints(s.XYs)
		if err != nil {
			return fmt.Errorf("drawing a line: %w", err)
		}
		own := colors[c.count%len(colors)]
		line.Color, dots.Color, dots.Shape = own, own, plotutil.Shape(c.count)
		line.Dashes = plotutil.Dashes(c.count) // so that lines can be told apart in grey
		c.count++
		c.Add(line, dots)
		c.explain(s.name, line, dots)
		if s.YErrors == nil {
			continue
		}
		bars, err := plotter.NewYErrorBars(s)
		if err != nil {
			return fmt.Errorf("drawing error bars: %w", err)
		}
		bars.Color = own
		c.Add(bars)
	}
	return nil
}

// drawing returns the chart with its legend.
func (c *chart) drawing() *drawing {
	return &drawing{width: curveWidth, height: curveHeight, draw: func(canvas draw.Canvas) {
		canvas.FillPolygon(color.White, []vg.Point{canvas.Min, {X: canvas.Max.X, Y: canvas.Min.Y}, canvas.Max, {X: canvas.Min.X, Y: canvas.Max.Y}})
		canvas = draw.Crop(canvas, rim, -rim, rim, -rim)
		legend := c.legend.Rectangle(canvas).Size().X
		c.Draw(draw.Crop(canvas, 0, -legend-2*rim, 0, 0))
		c.legend.Draw(draw.Crop(canvas, canvas.Size().X-legend, 0, 0, -2*rim))
	}}
}

// wholeTicks marks whole numbers.
type wholeTicks struct{}

// Ticks implements plot.Ticker.
func (wholeTicks) Ticks(low, high float64) []plot.Tick {
	const most = 20
	step := math.Ceil((high - low + 1) / most)
	var ticks []plot.Tick
	for v := math.Ceil(low); v <= high; v += step {
		ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprint(v)})
	}
	return ticks
}

// choices returns the candidate with the lowest cross-validated error, and the one with the fewest factors within one standard
// error of it.
func choices(s *model.Summary) (lowest, fewest model.Point) {
	less := func(a, b model.Point) int { return cmp.Compare(a.Error, b.Error) }
	of := slices.DeleteFunc(slices.Clone(s.BCV), func(p model.Point) bool { return p.Factors != s.OneStandardErrorFactors })
	return slices.MinFunc(s.BCV, less), slices.MinFunc(of, less)
}

// curve draws the cross-validated error over the number of factors: a line for each β, with standard errors and the two
// choices. It needs a cross-validation.
func (m sheet) curve() (*drawing, error) {
	c := newChart("", "factors", "mean squared error of held-out answers")
	c.X.Tick.Marker = wholeTicks{}
	var all lines
	for _, p := range slices.SortedStableFunc(slices.Values(m.Summary.BCV), func(a, b model.Point) int { return cmp.Compare(a.Beta, b.Beta) }) {
		all.add("β = "+model.Cell(p.Beta), float64(p.Factors), p.Error, p.StandardError, p.StandardError)
	}
	if err := c.lines(all); err != nil {
		return nil, err
	}
	lowest, fewest := choices(&m.Summary)
	bound := plotter.NewFunction(func(float64) float64 { return lowest.Error + lowest.StandardError })
	bound.Color, bound.Dashes = color.Gray{Y: 96}, []vg.Length{rim, rim}
	c.Add(bound)
	for _, mark := range []struct {
		name  string
		at    model.Point
		shape draw.GlyphDrawer
	}{{"lowest error", lowest, draw.RingGlyph{}}, {"one standard error", fewest, draw.SquareGlyph{}}} {
		dot, err := plotter.NewScatter(plotter.XYs{{X: float64(mark.at.Factors), Y: mark.at.Error}})
		if err != nil {
			return nil, fmt.Errorf("drawing the curve: %w", err)
		}
		dot.Shape, dot.Radius = mark.shape, 1.5*rim
		c.Add(dot)
		c.explain(mark.name, dot)
	}
	c.explain("lowest + its standard error", bound)
	return c.drawing(), nil
}

// stability draws how well loadings from a share of the participants agree with those from all, the whole: a line for each method, with
// standard deviations.
func stability(e *evaluate.Evaluation) (*drawing, error) {
	c := newChart("", "% of the participants", "correlation with the whole")
	var all lines
	var ticks []plot.Tick
	for _, s := range e.Shares {
		m, percent := s.Stability, 100*s.Share
		if m.Count == 0 {
			continue
		}
		if line := all.add(s.Method, percent, m.Mean, m.Deviation, min(m.Deviation, 1-m.Mean)); line == 0 {
			ticks = append(ticks, plot.Tick{Value: percent, Label: fmt.Sprintf("%.0f", percent)})
		} else { // beside those before, so that no bar hides another
			points := all[line].XYs
			points[len(points)-1].X += float64(line)
		}
	}
	c.X.Tick.Marker = plot.ConstantTicks(ticks)
	return c.drawing(), c.lines(all)
}

// mostAges is the largest number of items in a panel of AgesPlot.
const mostAges = 7

// largest returns the largest y, 0 without any.
func (s *series) largest() float64 {
	_, _, _, top := plotter.XYRange(s)
	return max(top, 0)
}

// ages returns a line for each item, in their order: its loadings on a factor over the numbers of the bins, with their intervals
// if there are any. A bin that left the item out has no point.
func (m sheet) ages(factor int) lines {
	names := questionnaire.Names(m.Items)
	var curves lines
	for _, item := range m.VisitItems {
		curve := &series{name: item.Name}
		for b := range m.Visits.Bins() {
			if j := slices.Index(names, m.Visits.ItemName(item.Name, b)); j >= 0 {
				q := m.Loadings().At(j, factor)
				curve.XYs = append(curve.XYs, plotter.XY{X: float64(b), Y: q})
				if b := m.Summary.Bootstrap; b != nil {
					curve.YErrors = append(curve.YErrors, struct{ Low, High float64 }{max(0, q-b.Loadings.Low[j][factor]), max(0, b.Loadings.High[j][factor]-q)})
				}
			}
		}
		curves = append(curves, curve)
	}
	return curves
}

func (m sheet) agesTable() []byte {
	rows := [][]string{{"factor", "item", "from", "to", "loading"}}
	if m.Summary.Bootstrap != nil {
		rows[0] = append(rows[0], "low", "high")
	}
	for t, name := range model.FactorNames(m.Loadings()) {
		for _, curve := range m.ages(t) {
			for i, p := range curve.XYs {
				bin := int(p.X)
				row := []string{name, curve.name, model.Cell(m.Visits.Edges[bin]), model.Cell(m.Visits.Edges[bin+1]), model.Cell(p.Y)}
				if curve.YErrors != nil {
					row = append(row, model.Cell(p.Y-curve.YErrors[i].Low), model.Cell(p.Y+curve.YErrors[i].High))
				}
				rows = append(rows, row)
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
	slices.SortStableFunc(curves, func(a, b *series) int { return cmp.Compare(b.largest(), a.largest()) })
	var all lines
	for _, curve := range curves[:min(len(curves), mostAges)] {
		if largest := curve.largest(); largest > 0 && largest >= model.TopShare*curves[0].largest() {
			all = append(all, curve)
		}
	}
	c.X.Min, c.X.Max, c.Y.Min, c.Y.Max = -0.25, float64(bins)-0.75, min(0, mat.Min(m.Loadings())), mat.Max(m.Loadings())
	return c.drawing(), c.lines(all)
}

// compact draws how much of the scores the items of the compact set explain, over their number, with intervals.
func (m sheet) compact() (*drawing, error) {
	c := newChart("", "items", "share of the scores' variance")
	c.X.Tick.Marker = wholeTicks{}
	var all lines
	for i, item := range m.Summary.Compact {
		all.add("explained", float64(i+1), item.Explained, max(0, item.Explained-item.Low), max(0, item.High-item.Explained))
	}
	c.Y.Min, c.Y.Max = 0, 1
	return c.drawing(), c.lines(all)
}
