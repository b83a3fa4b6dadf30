package sonmf

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/plotter"

	"github.com/wardcast/wardcast/cmd/papers/internal/report"
)

// printed holds the rows of tables 1 to 4: table, method and rank, then the values in the order of the part's columns.
//
//go:embed printed.txt
var printed string

// printedSize is the number of rows and of columns of the paper's simulated matrices.
const printedSize = 500

// Simulated is the result of Simulations.
type Simulated struct {
	Settings *Simulations `json:"settings"`
	Tables   []Table      `json:"tables"`
	Figures  []Figure     `json:"figures"`
}

// Table is one table of the paper, or our table for a part where the paper has only figures.
type Table struct {
	Part    Part     `json:"part"`
	Title   string   `json:"title"`
	Columns []string `json:"columns"` // of the values of each row
	Rows    []Row    `json:"rows"`
}

// Row is the mean of the trials of one method at one rank.
type Row struct {
	Method string  `json:"method"`
	Panel  string  `json:"panel"` // the rank, or the scenario
	Rank   int     `json:"rank"`
	Trials int     `json:"trials"`
	Values []Value `json:"values"`
}

// Value is one entry of a table.
type Value struct {
	// Mean is nil if the measure is not defined for the method.
	Mean          *float64 `json:"mean"`
	StandardError float64  `json:"standard_error"`
	// Unmet counts the trials in which no update met the criterion, or whose method failed before.
	Unmet int `json:"unmet,omitempty"`
	// Paper is the value as printed in the paper; "" if there is none.
	Paper string `json:"paper,omitempty"`
	text  string // of the mean
}

// String returns the mean and, in brackets, the paper's value.
func (v Value) String() string {
	text := v.text
	if v.Unmet > 0 {
		text += "+"
	}
	if v.Paper != "" {
		text += " (" + v.Paper + ")"
	}
	return text
}

// Figure is one panel of a figure of the paper.
type Figure struct {
	Name   string  `json:"name"`
	Title  string  `json:"title"`
	Y      string  `json:"y"`
	LogY   bool    `json:"log_y"` // drawn as log(y + 1), like in the paper
	Every  int     `json:"every"` // updates from one point to the next
	Curves []Curve `json:"curves"`
	// Truth is the level of the true factors, if the figure shows it.
	Truth *float64 `json:"truth"`
}

// Curve is the mean over the trials by update, the start first. After the end of a run its last value counts.
type Curve struct {
	Name string    `json:"name"`
	Y    []float64 `json:"values"`
}

// objective names the objective of the part's methods.
func (p Part) objective() string {
	if p == Table4 || p == StepSizes {
		return "average cost"
	}
	return "average residual"
}

// formats are the number formats of measures; the default is "%.4f".
func formats() map[string]string {
	return map[string]string{
		orthogonalResidual: "%.2g", "ε_F": "%.3f", "ε_G": "%.3f", "ε_P": "%.2f", "least ε_P": "%.2f",
		"F sparsity %": "%.2f", "G sparsity %": "%.2f", "seconds": "%.3f", "iterations": "%.1f",
	}
}

// report returns the results of the completed trials: the tables, tables.csv, curves.csv, and an SVG for each figure of
// the paper that has a curve.
func (s *Simulations) report(studies []*study) *report.Report {
	found := &Simulated{Settings: s}
	values := report.NewTable("", "part,method,panel,rank,trials,measure,mean,standard_error,unmet,paper")
	points := report.NewTable("", "figure,curve,update,mean")
	out := &report.Report{
		Data: found, CSV: map[string]*report.Table{"tables.csv": values, "curves.csv": points},
		SVG: map[string]report.Figure{},
	}
	for _, st := range studies {
		t := Table{Part: st.part, Title: st.title, Columns: st.columns}
		shown := report.NewTable(st.title, "method,of,trials,"+strings.Join(st.columns, ","))
		for i, contender := range st.cells[0].contenders {
			for _, c := range st.cells {
				done := c.done(i)
				row := Row{Method: contender.name, Panel: c.label, Rank: c.rank, Trials: len(done)}
				line := []any{row.Method, row.Panel, row.Trials}
				for j, column := range st.columns {
					v := Value{text: "-"}
					if column != orthogonalResidual || contender.orthogonal {
						v = mean(done, column, slices.Contains(st.unmet, column))
					}
					if paper := report.Printed(printed, st.part, contender.name, c.rank); paper != nil &&
						s.Size == printedSize {
						v.Paper = paper[j]
					}
					if v.Mean != nil {
						values.Add(t.Part, row.Method, row.Panel, row.Rank, row.Trials, column, v.Mean, v.StandardError,
							v.Unmet, v.Paper)
					}
					row.Values, line = append(row.Values, v), append(line, v.String())
				}
				t.Rows = append(t.Rows, row)
				shown.Add(line...)
			}
		}
		found.Tables, out.Tables = append(found.Tables, t), append(out.Tables, *shown)
		file := fmt.Sprintf("figure-%d.svg", number(st.part))
		for _, c := range st.cells {
			for row, f := range c.figures() {
				found.Figures = append(found.Figures, f)
				for _, curve := range f.Curves {
					for u, y := range curve.Y {
						points.Add(f.Name, curve.Name, u*f.Every, y)
					}
				}
				if panel := f.panel(); len(panel.Curves) > 0 {
					out.SVG[file] = out.SVG[file].With(row, panel)
				}
			}
		}
	}
	return out
}

// number is the number of a part's figure.
func number(p Part) int { return 1 + slices.Index(Parts(), p) }

// done returns the completed trials of a contender.
func (c *cell) done(contender int) []*outcome {
	var out []*outcome
	for _, run := range c.runs {
		if run != nil {
			out = append(out, run[contender])
		}
	}
	return out
}

// mean is the mean of a measure over trials.
func mean(done []*outcome, column string, countUnmet bool) Value {
	if len(done) == 0 {
		return Value{text: "-"}
	}
	var values []float64
	v := Value{}
	for _, o := range done {
		values = append(values, o.value(column))
		if countUnmet && o.unmet {
			v.Unmet++
		}
	}
	format, ok := formats()[column]
	if !ok {
		format = "%.4f"
	}
	mean, standardError := report.MeanError(values)
	v.Mean, v.StandardError, v.text = &mean, standardError, fmt.Sprintf(format, mean)
	return v
}

// figures returns the panels of a cell, one for each row.
func (c *cell) figures() []Figure {
	panel := fmt.Sprintf("k%d", c.rank)
	if c.part == Initialization {
		panel = fmt.Sprintf("scenario%d", c.scenario)
	}
	objective := Figure{
		Name:  fmt.Sprintf("figure-%d-%s", number(c.part), panel),
		Title: fmt.Sprintf("Figure %d, %s", number(c.part), c.label), Y: c.part.objective(),
		LogY: c.part == Table1 || c.part == Table2 || c.part == Table3, Every: 1,
		Truth: mean(c.done(0), "truth", false).Mean, Curves: c.curves(func(o *outcome) []float64 { return o.curve }),
	}
	if c.scenario != Bernoulli {
		return []Figure{objective}
	}
	probability := Figure{
		Name: objective.Name + "-probability", Title: objective.Title, Y: "ε_P", Every: probabilityEvery,
		Curves: c.curves(func(o *outcome) []float64 { return o.probabilityCurve }),
	}
	objective.Name += "-cost"
	return []Figure{objective, probability}
}

// curves returns the mean curve of each contender, up to the end of the longest run.
func (c *cell) curves(of func(*outcome) []float64) []Curve {
	var curves []Curve
	for i, contender := range c.contenders {
		done, length := c.done(i), 0
		for _, o := range done {
			length = max(length, len(of(o)))
		}
		y := make([]float64, length)
		for u := range y {
			for _, o := range done {
				y[u] += at(of(o), u) / float64(len(done))
			}
		}
		curves = append(curves, Curve{Name: contender.name, Y: y})
	}
	return curves
}

// panel draws the curves that have points, and the truth.
func (f *Figure) panel() *report.Panel {
	p := &report.Panel{Title: f.Title, X: "update", Y: f.Y}
	scale := func(y float64) float64 { return y }
	if f.LogY {
		p.Y, scale = "log(residual + 1)", math.Log1p
	}
	last := 0.0
	for _, c := range f.Curves {
		points := make(plotter.XYs, len(c.Y))
		for u, y := range c.Y {
			points[u] = plotter.XY{X: float64(u * f.Every), Y: scale(y)}
			last = max(last, points[u].X)
		}
		if len(points) > 0 {
			p.Curves = append(p.Curves, report.Curve{Name: c.Name, Points: points})
		}
	}
	if f.Truth != nil {
		p.Curves = append(p.Curves,
			report.Curve{Name: "truth", Points: plotter.XYs{{X: 0, Y: scale(*f.Truth)}, {X: last, Y: scale(*f.Truth)}}})
	}
	return p
}
