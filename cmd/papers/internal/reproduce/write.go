package reproduce

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/renameio/v2"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Header returns the headings of the table's lines.
func (t *Table) Header() []string {
	return append([]string{"method", "of", "trials"}, t.Columns...)
}

// Lines returns the rows as text, the paper's values in brackets.
func (t *Table) Lines() [][]string {
	var lines [][]string
	for _, r := range t.Rows {
		line := []string{r.Method, r.Panel, strconv.Itoa(r.Trials)}
		for _, v := range r.Values {
			line = append(line, v.String())
		}
		lines = append(lines, line)
	}
	return lines
}

// Markdown writes a table of text as Markdown, under its title.
func Markdown(w io.Writer, title string, header []string, lines [][]string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n\n| %s |\n|%s\n", title, strings.Join(header, " | "), strings.Repeat(" --- |", len(header)))
	for _, l := range lines {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(l, " | "))
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

// Write puts everything into a folder, made where it is missing: results.json, tables.csv, curves.csv, and an SVG for
// each panel of the figures that holds a curve.
func (s *Simulated) Write(dir string) error {
	data, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return fmt.Errorf("writing results: %w", err)
	}
	files := map[string][]byte{"results.json": append(data, '\n')}
	tables := [][]string{{"part", "method", "panel", "rank", "trials", "measure", "mean", "standard_error", "unmet", "paper"}}
	for _, t := range s.Tables {
		for _, r := range t.Rows {
			for i, v := range r.Values {
				if v.Mean != nil {
					tables = append(tables, []string{string(t.Part), r.Method, r.Panel, strconv.Itoa(r.Rank), strconv.Itoa(r.Trials), t.Columns[i], exact(*v.Mean), exact(v.StandardError), strconv.Itoa(v.Unmet), v.Paper})
				}
			}
		}
	}
	curves := [][]string{{"figure", "curve", "update", "mean"}}
	for _, f := range s.Figures {
		drawn := false
		for _, c := range f.Curves {
			for i, y := range c.Y {
				curves = append(curves, []string{f.Name, c.Name, strconv.Itoa(i * f.Every), exact(y)})
			}
			drawn = drawn || len(c.Y) > 0
		}
		if drawn {
			if files[f.Name+".svg"], err = f.svg(); err != nil {
				return err
			}
		}
	}
	if files["tables.csv"], err = csvBytes(tables); err != nil {
		return err
	}
	if files["curves.csv"], err = csvBytes(curves); err != nil {
		return err
	}
	return writeFiles(dir, files)
}

// writeFiles writes files by their names into a folder, made where it is missing, each whole or not at all.
func writeFiles(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the output folder: %w", err)
	}
	for name, data := range files {
		if err := renameio.WriteFile(filepath.Join(dir, name), data, 0o644, renameio.WithTempDir(dir)); err != nil {
			return fmt.Errorf("writing results: %w", err)
		}
	}
	return nil
}

func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func csvBytes(rows [][]string) ([]byte, error) {
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
		return nil, fmt.Errorf("writing results: %w", err)
	}
	return b.Bytes(), nil
}

const (
	figureWidth  = 12 * vg.Centimeter
	figureHeight = 9 * vg.Centimeter
)

// svg draws the panel.
func (f *Figure) svg() ([]byte, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.Title, "update", f.Y
	p.Legend.Top = true
	scale := func(y float64) float64 { return y }
	if f.LogY {
		p.Y.Label.Text = "log(" + f.Y + " + 1)"
		scale = math.Log1p
	}
	add := func(name string, i int, points plotter.XYs) error {
		line, err := plotter.NewLine(points)
		if err != nil {
			return fmt.Errorf("drawing %s, %s: %w", f.Name, name, err)
		}
		line.Color, line.Dashes = plotutil.Color(i), plotutil.Dashes(i)
		p.Add(line)
		p.Legend.Add(name, line)
		return nil
	}
	last := 0
	for i, c := range f.Curves {
		points := make(plotter.XYs, len(c.Y))
		for u, y := range c.Y {
			points[u] = plotter.XY{X: float64(u * f.Every), Y: scale(y)}
		}
		last = max(last, (len(points)-1)*f.Every)
		if len(points) > 0 {
			if err := add(c.Name, i, points); err != nil {
				return nil, err
			}
		}
	}
	if f.Truth != nil {
		y := scale(*f.Truth)
		if err := add("truth", len(f.Curves), plotter.XYs{{X: 0, Y: y}, {X: float64(last), Y: y}}); err != nil {
			return nil, err
		}
	}
	canvas := vgsvg.New(figureWidth, figureHeight)
	p.Draw(draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("drawing %s: %w", f.Name, err)
	}
	return b.Bytes(), nil
}
