package questionnaire

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

const (
	point      = vg.Inch / 72
	cellSize   = 16 * point // of the heat map
	smallFont  = 9 * point
	normalFont = 10 * point
	rim        = 4 * point
	sansSerif  = "Sans"

	curveWidth  = 15 * vg.Centimeter
	curveHeight = 9 * vg.Centimeter

	imageDPI = 144
)

// drawing is a plot and the size that suits it.
type drawing struct {
	*plot.Plot
	width, height vg.Length
}

// newPlot returns an empty plot in sans serif.
func newPlot(title string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.Title.Padding = title, rim
	for _, s := range []*text.Style{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		s.Font.Variant, s.Font.Size = sansSerif, normalFont
	}
	return p
}

// svg returns the drawing as an SVG document.
func (d *drawing) svg() ([]byte, error) { return d.write(vgsvg.New(d.width, d.height)) }

// png returns the drawing as a PNG image.
func (d *drawing) png() ([]byte, error) {
	return d.write(vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(d.width, d.height), vgimg.UseDPI(imageDPI))})
}

func (d *drawing) write(canvas interface {
	vg.CanvasSizer
	io.WriterTo
},
) ([]byte, error) {
	d.Draw(draw.Crop(draw.New(canvas), rim, -rim, rim, -rim))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("drawing %q: %w", d.Title.Text, err)
	}
	return b.Bytes(), nil
}

// blues go from white to a dark blue, in equal steps of lightness.
type blues struct{}

// Colors implements palette.Palette.
func (blues) Colors() []color.Color {
	const steps = 128
	all := make([]color.Color, steps)
	for i := range all {
		a := float64(i) / (steps - 1)
		mix := func(light, dark float64) uint8 { return uint8(math.Round(light + a*(dark-light))) }
		all[i] = color.RGBA{mix(255, 8), mix(255, 48), mix(255, 107), 255}
	}
	return all
}

// grid shows a matrix, its first row on top.
type grid struct {
	*mat.Dense
	columns []int // of the matrix' rows, for the columns of the grid
}

// Dims implements plotter.GridXYZ.
func (g grid) Dims() (c, r int) {
	_, r = g.Dense.Dims()
	return len(g.columns), r
}

// Z implements plotter.GridXYZ.
func (g grid) Z(c, r int) float64 {
	_, rows := g.Dims()
	return g.At(g.columns[c], rows-1-r)
}

// X implements plotter.GridXYZ.
func (g grid) X(c int) float64 { return float64(c) }

// Y implements plotter.GridXYZ.
func (g grid) Y(r int) float64 { return float64(r) }

// group is a run of items of one subscale in the order of a heat map.
type group struct {
	name        string
	first, size int
}

// arrange orders the items by subscale, in the order in which these come, then by the factor that they load on most, then
// by falling loading.
func (m *Model) arrange() (order []int, groups []group) {
	subscale := map[string]int{}
	factor := make([]int, len(m.Items))
	order = make([]int, len(m.Items))
	for j, item := range m.Items {
		order[j] = j
		if _, ok := subscale[item.Subscale]; !ok {
			subscale[item.Subscale] = len(subscale)
		}
		row := m.factors.Loadings.RawRowView(j)
		for t, q := range row {
			if q > row[factor[j]] {
				factor[j] = t
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(
			cmp.Compare(subscale[m.Items[a].Subscale], subscale[m.Items[b].Subscale]),
			cmp.Compare(factor[a], factor[b]),
			cmp.Compare(m.factors.Loadings.At(b, factor[b]), m.factors.Loadings.At(a, factor[a])),
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

// heatMap draws the loadings, a row for each factor and confound, a column for each item, grouped by subscale.
func (m *Model) heatMap() (*drawing, error) {
	all, names := m.allLoadings()
	order, groups := m.arrange()
	top := m.Summary.Settings.Range.High
	p := newPlot(fmt.Sprintf("Loadings, from 0 (white) to %v and more (dark blue)", top))
	h := plotter.NewHeatMap(grid{all, order}, blues{})
	h.Min, h.Max = 0, top
	h.Overflow = blues{}.Colors()[len(blues{}.Colors())-1]
	p.Add(h)

	label := func(s *text.Style) {
		s.Font.Size, s.Rotation, s.XAlign, s.YAlign = smallFont, math.Pi/2, text.XRight, text.YCenter
	}
	label(&p.X.Tick.Label)
	p.Y.Tick.Label.Font.Size = smallFont
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Tick.Length, axis.Tick.Width, axis.Width = rim, 0, 0
	}
	p.X.Padding, p.Y.Padding = rim, 0
	longest, longestGroup := 0, 0
	var items, factors []plot.Tick
	for at, j := range order {
		items = append(items, plot.Tick{Value: float64(at), Label: m.Items[j].Name})
		longest = max(longest, len(m.Items[j].Name))
	}
	widest := 0
	for r, name := range names {
		factors = append(factors, plot.Tick{Value: float64(len(names) - 1 - r), Label: name})
		widest = max(widest, len(name))
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.ConstantTicks(items), plot.ConstantTicks(factors)

	edge := float64(len(names)) - 0.5
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -0.5, float64(len(order))-0.5, -0.5, edge
	var titles plotter.XYLabels
	if len(groups) > 1 {
		for _, g := range groups {
			left := float64(g.first) - 0.5
			if err := addLine(p, plotter.XYs{{X: left, Y: -0.5}, {X: left, Y: edge}}); err != nil {
				return nil, err
			}
			titles.XYs = append(titles.XYs, plotter.XY{X: float64(g.first) + float64(g.size-1)/2, Y: edge + 0.2})
			titles.Labels = append(titles.Labels, g.name)
			longestGroup = max(longestGroup, len(g.name))
		}
	}
	if below := float64(len(names)-m.Summary.Factors) - 0.5; below > 0 {
		if err := addLine(p, plotter.XYs{{X: -0.5, Y: below}, {X: float64(len(order)) - 0.5, Y: below}}); err != nil {
			return nil, err
		}
	}
	const perLetter = smallFont / 2
	groupHeight := vg.Length(longestGroup) * perLetter
	if len(titles.Labels) > 0 {
		l, err := plotter.NewLabels(titles)
		if err != nil {
			return nil, fmt.Errorf("drawing the heat map: %w", err)
		}
		for i := range l.TextStyle {
			label(&l.TextStyle[i])
			l.TextStyle[i].Font.Variant, l.TextStyle[i].XAlign = sansSerif, text.XLeft
		}
		p.Add(l)
		p.Y.Max = edge + float64((groupHeight+cellSize/2)/cellSize)
	}
	const margin = 3 * cellSize
	return &drawing{
		p,
		vg.Length(len(order))*cellSize + vg.Length(widest)*perLetter + margin,
		vg.Length(len(names))*cellSize + groupHeight + vg.Length(longest)*perLetter + margin + 2*rim,
	}, nil
}

func addLine(p *plot.Plot, points plotter.XYs) error {
	line, err := plotter.NewLine(points)
	if err != nil {
		return fmt.Errorf("drawing a line: %w", err)
	}
	line.Width, line.Color = 0.75, color.Gray{Y: 96}
	p.Add(line)
	return nil
}

// errorBars is a curve with a standard error at each point.
type errorBars struct {
	plotter.XYs
	plotter.YErrors
}

// errNoCurve is returned for the curve of a fit without cross-validation.
var errNoCurve = errors.New("no cross-validation")

// curve draws the cross-validated error over the number of factors, a line for each β, with standard errors.
func (m *Model) curve() (*drawing, error) {
	if len(m.Summary.BCV) == 0 {
		return nil, errNoCurve
	}
	p := newPlot("")
	p.X.Label.Text, p.Y.Label.Text = "factors", "mean squared error of held-out answers"
	p.Legend.Top = true
	var betas []float64
	lines := map[float64]*errorBars{}
	for _, c := range m.Summary.BCV {
		l, ok := lines[c.Beta]
		if !ok {
			l = &errorBars{}
			lines[c.Beta], betas = l, append(betas, c.Beta)
		}
		l.XYs = append(l.XYs, plotter.XY{X: float64(c.Factors), Y: c.Error})
		l.YErrors = append(l.YErrors, struct{ Low, High float64 }{c.StandardError, c.StandardError})
	}
	slices.Sort(betas)
	for i, beta := range betas {
		l := lines[beta]
		line, points, err := plotter.NewLinePoints(l.XYs)
		if err != nil {
			return nil, fmt.Errorf("drawing the curve: %w", err)
		}
		bars, err := plotter.NewYErrorBars(l)
		if err != nil {
			return nil, fmt.Errorf("drawing the curve: %w", err)
		}
		c := plotutil.Color(i)
		line.Color, points.Color, bars.Color, points.Shape = c, c, c, draw.CircleGlyph{}
		p.Add(line, points, bars)
		p.Legend.Add("β = "+strconv.FormatFloat(beta, 'g', -1, 64), line, points)
	}
	return &drawing{p, curveWidth, curveHeight}, nil
}
