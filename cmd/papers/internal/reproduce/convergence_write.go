package reproduce

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/wardcast/wardcast/solver/smf"
)

// Write puts everything into a folder, made where it is missing: results.json, summary.csv, iterations.csv with each
// iterate of each run, and for each data set two SVG, of the gap against iterations and against seconds.
func (c *Converged) Write(dir string) error {
	data, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("writing results: %w", err)
	}
	files := map[string][]byte{"results.json": append(data, '\n')}
	summary := [][]string{{"data", "variant", "xi", "algorithm", "status", "updates", "objective", "floor", "gap", "first_factor", "first_to", "first_decades", "last_factor", "last_from", "last_to", "last_decades", "reached_iterations", "reached_seconds"}}
	iterations := [][]string{{"data", "variant", "xi", "algorithm", "iteration", "objective", "gap", "seconds"}}
	var sets []string
	for i := range c.Rows {
		r := &c.Rows[i]
		if !slices.Contains(sets, r.Data) {
			sets = append(sets, r.Data)
		}
		key := []string{r.Data, string(r.Variant), exact(r.Xi), r.Algorithm}
		summary = append(summary, append(slices.Clone(key), r.summary()...))
		for t, gap := range r.gaps() {
			iterations = append(iterations, append(slices.Clone(key), strconv.Itoa(t), exact(r.Objectives[t]), exact(gap), exact(r.Seconds[t])))
		}
	}
	if files["summary.csv"], err = csvBytes(summary); err != nil {
		return err
	}
	if files["iterations.csv"], err = csvBytes(iterations); err != nil {
		return err
	}
	for _, set := range sets {
		if files[set+"-iterations.svg"], err = c.byIteration(set); err != nil {
			return err
		}
		if files[set+"-seconds.svg"], err = c.bySeconds(set); err != nil {
			return err
		}
	}
	return writeFiles(dir, files)
}

// summary returns the columns of summary.csv behind the first four.
func (r *ConvergenceRow) summary() []string {
	last := len(r.Objectives) - 1
	line := []string{r.Status, strconv.Itoa(last), exact(r.Objectives[last]), exact(r.Floor), exact(r.Gap)}
	if s := r.First; s != nil {
		line = append(line, exact(s.Factor), strconv.Itoa(s.To), exact(s.Decades))
	} else {
		line = append(line, "", "", "")
	}
	if s := r.Last; s != nil {
		line = append(line, exact(s.Factor), strconv.Itoa(s.From), strconv.Itoa(s.To), exact(s.Decades))
	} else {
		line = append(line, "", "", "", "")
	}
	if r.ReachedIterations == nil {
		return append(line, "", "")
	}
	return append(line, strconv.Itoa(*r.ReachedIterations), exact(*r.ReachedSeconds))
}

const (
	panelWidth  = 5.2 * vg.Centimeter
	panelHeight = 5.4 * vg.Centimeter
	legendWidth = 3.6 * vg.Centimeter
	gutter      = 0.4 * vg.Centimeter
	fontSize    = vg.Length(9)
	// drawnPoints bounds the points of a curve: more are no better to see and make files of megabytes.
	drawnPoints = 100
	// firstPoints are drawn all: objectives fall most in them.
	firstPoints = 20
	// leastSeconds is the left end of axes of seconds, which are logarithmic, and shortSeconds the first right one.
	leastSeconds, shortSeconds = 1e-3, 1e-2
	curveWidth                 = vg.Length(1.3)
)

// byIteration draws the gap against the iteration: one row of panels for each variant, one column for each algorithm, a
// curve for each ξ. On the logarithmic axis of the gap, exponential convergence is a straight line.
func (c *Converged) byIteration(set string) ([]byte, error) {
	return c.grid(set, gridLayout{
		x:     "update",
		panel: func(r *ConvergenceRow) string { return r.Algorithm },
		curve: func(r *ConvergenceRow) string { return "ξ = " + exact(r.Xi) },
		at:    func(_ *ConvergenceRow, i int) float64 { return float64(i) },
	})
}

// bySeconds draws the gap against the seconds: one row of panels for each variant, one column for each ξ, a curve for each
// algorithm.
func (c *Converged) bySeconds(set string) ([]byte, error) {
	return c.grid(set, gridLayout{
		x:     "seconds",
		panel: func(r *ConvergenceRow) string { return "ξ = " + exact(r.Xi) },
		curve: func(r *ConvergenceRow) string { return r.Algorithm },
		at:    func(r *ConvergenceRow, i int) float64 { return max(leastSeconds, r.Seconds[i]) },
		logX:  true,
	})
}

// gridLayout says what stands where in a figure of many panels.
type gridLayout struct {
	x            string
	panel, curve func(*ConvergenceRow) string
	at           func(r *ConvergenceRow, i int) float64
	logX         bool
}

func (c *Converged) grid(set string, l gridLayout) ([]byte, error) {
	var grid [][]*plot.Plot
	var curves []string
	legend := plot.NewLegend()
	legend.TextStyle.Font.Size, legend.Padding = fontSize, fontSize/2
	most := 1.0
	for _, variant := range []smf.Variant{smf.VariantW, smf.VariantH} {
		panels, columns := map[string]*plot.Plot{}, []*plot.Plot(nil)
		for _, r := range c.of(set, variant) {
			name, title := l.curve(r), l.panel(r)
			p, ok := panels[title]
			if !ok {
				p = newPanel(string(variant)+", "+title, l)
				panels[title], columns = p, append(columns, p)
			}
			points := l.points(r)
			line, err := plotter.NewLine(points)
			if err != nil {
				return nil, fmt.Errorf("drawing %s: %w", set, err)
			}
			i := slices.Index(curves, name)
			if i < 0 {
				i, curves = len(curves), append(curves, name)
				legend.Add(name, line)
			}
			line.Color, line.Width = plotutil.DarkColors[i%len(plotutil.DarkColors)], curveWidth
			p.Add(line)
			most = max(most, points[0].Y)
		}
		if columns != nil {
			grid = append(grid, columns)
		}
	}
	for _, row := range grid {
		for i, p := range row {
			p.Y.Min, p.Y.Max = leastGap, most
			if i == 0 {
				p.Y.Label.Text = "gap"
			}
		}
	}
	return drawGrid(grid, legend)
}

func newPanel(title string, l gridLayout) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text = title, l.x
	for _, font := range []*vg.Length{&p.Title.TextStyle.Font.Size, &p.X.Label.TextStyle.Font.Size, &p.Y.Label.TextStyle.Font.Size, &p.X.Tick.Label.Font.Size, &p.Y.Tick.Label.Font.Size} {
		*font = fontSize
	}
	p.X.Tick.Marker, p.Y.Scale, p.Y.Tick.Marker = wholes{}, plot.LogScale{}, decades{}
	if l.logX {
		p.X.Scale, p.X.Tick.Marker, p.X.Min, p.X.Max = plot.LogScale{}, decades{}, leastSeconds, shortSeconds
	}
	p.Add(plotter.NewGrid())
	return p
}

// points returns a curve up to the rounding of the objective, thinned.
func (l gridLayout) points(r *ConvergenceRow) plotter.XYs {
	gaps := r.gaps()
	every := 1 + len(gaps)/drawnPoints
	var points plotter.XYs
	for i, gap := range gaps {
		if gap < leastGap || i < firstPoints || i%every == 0 || i == len(gaps)-1 {
			points = append(points, plotter.XY{X: l.at(r, i), Y: max(gap, leastGap)})
		}
		if gap < leastGap {
			break
		}
	}
	return points
}

// decades marks powers of ten, as many as there is room for.
type decades struct{}

// Room for so many marks on an axis.
const (
	decadeMarks = 6
	wholeMarks  = 4
)

// Ticks implements plot.Ticker.
func (decades) Ticks(least, most float64) []plot.Tick {
	from, to := int(math.Floor(math.Log10(least))), int(math.Ceil(math.Log10(most)))
	every := (to - from + decadeMarks - 1) / decadeMarks
	var ticks []plot.Tick
	for e := from; e <= to; e++ {
		if v := math.Pow10(e); e%max(1, every) == 0 && v >= least*(1-leastGap) && v <= most*(1+leastGap) {
			ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("1e%d", e)})
		}
	}
	return ticks
}

// wholes marks whole numbers, multiples of 1, 2 or 5 times a power of ten.
type wholes struct{}

// Ticks implements plot.Ticker.
func (wholes) Ticks(least, most float64) []plot.Tick {
	every, next := 1.0, []float64{2, 2.5, 2}
	for i := 0; (most-least)/every > wholeMarks; i++ {
		every *= next[i%len(next)]
	}
	var ticks []plot.Tick
	for v := every * math.Ceil(least/every); v <= most; v += every {
		ticks = append(ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'f', -1, 64)})
	}
	return ticks
}

// drawGrid draws panels in rows with one legend beside them.
func drawGrid(grid [][]*plot.Plot, legend plot.Legend) ([]byte, error) {
	columns := 0
	for _, row := range grid {
		columns = max(columns, len(row))
	}
	for i, row := range grid {
		grid[i] = append(row, make([]*plot.Plot, columns-len(row))...)
	}
	width, height := panelWidth*vg.Length(columns)+legendWidth, panelHeight*vg.Length(len(grid))
	canvas := vgsvg.New(width, height)
	all := draw.New(canvas)
	all.SetColor(color.White)
	all.Fill(all.Path())
	tiles := draw.Tiles{Rows: len(grid), Cols: columns, PadX: gutter, PadY: gutter, PadTop: gutter / 2, PadLeft: gutter / 2, PadRight: gutter / 2, PadBottom: gutter / 2}
	panels := draw.Crop(all, 0, -legendWidth, 0, 0)
	for j, row := range plot.Align(grid, tiles, panels) {
		for i := range row {
			if p := grid[j][i]; p != nil {
				p.Draw(row[i])
			}
		}
	}
	legend.Top, legend.Left = true, true
	legend.Draw(draw.Crop(all, width-legendWidth+gutter, 0, 0, -gutter))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("drawing: %w", err)
	}
	return b.Bytes(), nil
}
