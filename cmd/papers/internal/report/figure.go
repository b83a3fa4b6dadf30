package report

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is a grid of panels with one legend. A row may be shorter than others.
type Figure [][]*Panel

// With returns the figure with the panel in a row, or with its curves in the panel of the same title there.
func (f Figure) With(row int, p *Panel) Figure {
	for len(f) <= row {
		f = append(f, nil)
	}
	if at := slices.IndexFunc(f[row], func(o *Panel) bool { return o.Title == p.Title }); at >= 0 {
		f[row][at].Curves = append(f[row][at].Curves, p.Curves...)
	} else {
		f[row] = append(f[row], p)
	}
	return f
}

// Panel is one pair of axes.
type Panel struct {
	Title, X, Y string
	// LogX and LogY make an axis logarithmic from this value on; smaller values are raised to it. 0 means linear.
	LogX, LogY float64
	// Curves are drawn in the colour of their name.
	Curves []Curve
	// Bars, unless nil, names the rows of a bar chart from the bottom: the curves' Y are then row numbers from 0.
	Bars []string
}

// Curve is a line, or the bars of one colour.
type Curve struct {
	Name   string
	Points plotter.XYs
}

const (
	panelWidth  = 5.2 * vg.Centimeter
	panelHeight = 5.8 * vg.Centimeter
	legendWidth = 4.2 * vg.Centimeter
	gutter      = 0.4 * vg.Centimeter
	barWidth    = 0.3 * vg.Centimeter
	curveWidth  = vg.Length(1.3)
	fontSize    = vg.Length(9)
	// axisMarks is the number of marks that fit on an axis.
	axisMarks = 6
)

// draw writes the figure as SVG.
func (f Figure) draw(w io.Writer) error {
	legend := plot.NewLegend()
	legend.TextStyle.Font.Size, legend.Padding, legend.Top, legend.Left = fontSize, fontSize/2, true, true
	grid, columns, highest := make([][]*plot.Plot, len(f)), 0, 0.0
	var names []string
	for i, row := range f {
		columns = max(columns, len(row))
		for _, panel := range row {
			p := panel.axes()
			for _, c := range panel.Curves {
				at := slices.Index(names, c.Name)
				first := at < 0
				if first {
					at, names = len(names), append(names, c.Name)
				}
				drawn, err := panel.drawing(c, plotutil.DarkColors[at%len(plotutil.DarkColors)])
				if err != nil {
					return fmt.Errorf("drawing %s, %s: %w", panel.Title, c.Name, err)
				}
				p.Add(drawn)
				if first {
					legend.Add(c.Name, drawn)
				}
			}
			highest = max(highest, p.Y.Max)
			grid[i] = append(grid[i], p)
		}
	}
	for i, row := range grid {
		for j, p := range row {
			if f[i][j].LogY > 0 {
				p.Y.Max = highest
			}
		}
		grid[i] = append(row, make([]*plot.Plot, columns-len(row))...)
	}
	width := panelWidth*vg.Length(columns) + legendWidth
	canvas := vgsvg.New(width, panelHeight*vg.Length(len(grid)))
	all := draw.New(canvas)
	all.SetColor(color.White)
	all.Fill(all.Path())
	const edge = gutter / 2
	tiles := draw.Tiles{
		Rows: len(grid), Cols: columns, PadX: gutter, PadY: gutter, PadTop: edge, PadLeft: edge,
		PadRight: edge, PadBottom: edge,
	}
	for i, row := range plot.Align(grid, tiles, draw.Crop(all, 0, -legendWidth, 0, 0)) {
		for j := range row {
			if grid[i][j] != nil {
				grid[i][j].Draw(row[j])
			}
		}
	}
	legend.Draw(draw.Crop(all, width-legendWidth+gutter, 0, 0, -gutter))
	_, err := canvas.WriteTo(w)
	return err
}

func (p *Panel) axes() *plot.Plot {
	axes := plot.New()
	axes.Title.Text, axes.X.Label.Text, axes.Y.Label.Text = p.Title, p.X, p.Y
	axes.Title.TextStyle.Font.Size = fontSize
	for axis, least := range map[*plot.Axis]float64{&axes.X: p.LogX, &axes.Y: p.LogY} {
		axis.Label.TextStyle.Font.Size, axis.Tick.Label.Font.Size = fontSize, fontSize
		if least > 0 {
			axis.Scale, axis.Tick.Marker, axis.Min, axis.Max = plot.LogScale{},
				plot.TickerFunc(decades), least, 10*least
		}
	}
	if p.Bars != nil {
		axes.NominalY(p.Bars...)
	} else {
		axes.Add(plotter.NewGrid())
	}
	return axes
}

// drawing is the part of a plot that shows a curve.
type drawing interface {
	plot.Plotter
	plot.Thumbnailer
}

func (p *Panel) drawing(c Curve, colour color.Color) (drawing, error) {
	if p.Bars != nil {
		lengths := make(plotter.Values, len(p.Bars))
		for _, point := range c.Points {
			lengths[int(point.Y)] = point.X
		}
		bars, err := plotter.NewBarChart(lengths, barWidth)
		if err == nil {
			bars.Horizontal, bars.Color, bars.LineStyle.Width = true, colour, 0
		}
		return bars, err
	}
	points := slices.Clone(c.Points)
	for i, point := range points {
		if p.LogX > 0 {
			points[i].X = max(point.X, p.LogX)
		}
		if p.LogY > 0 {
			points[i].Y = max(point.Y, p.LogY)
		}
	}
	line, err := plotter.NewLine(points)
	if err == nil {
		line.Color, line.Width = colour, curveWidth
	}
	return line, err
}

// decades marks as many powers of ten as fit.
func decades(least, most float64) []plot.Tick {
	from, to := math.Floor(math.Log10(least)), math.Ceil(math.Log10(most))
	every := max(1, math.Ceil((to-from)/axisMarks))
	var ticks []plot.Tick
	for e := every * math.Ceil(from/every); e <= to; e += every {
		if v := math.Pow(10, e); v >= least && v <= most {
			ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("1e%v", e)})
		}
	}
	return ticks
}
