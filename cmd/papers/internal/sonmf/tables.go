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

// printedRow returns the values that the paper prints in a row, nil if it has no such row.
func printedRow(p Part, method string, rank int) []string {
	for line := range strings.Lines(printed) {
		if fields := strings.Fields(line); slices.Equal(fields[:3], []string{string(p), method, fmt.Sprint(rank)}) {
			return fields[3:]
		}
	}
	return nil
}

// Simulated is what Simulations found.
type Simulated struct {
	Settings *Simulations `json:"settings"`
	Tables   []Table      `json:"tables"`
	Figures  []Figure     `json:"figures"`
}

// Table is one table of the paper, or what stands for one if it shows figures only.
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
	// Unmet counts the trials that did not meet the criterion in all updates, or whose method failed before.
	Unmet int `json:"unmet,omitempty"`
	// Paper is what the paper prints, as it prints it; "" if it prints nothing.
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
	LogY   bool    `json:"log_y"` // drawn as log(y + 1), as the paper does
	Every  int     `json:"every"` // updates from one point to the next
	Curves []Curve `json:"curves"`
	// Truth is the level of the true factors, if the figure shows it.
	Truth *float64 `json:"truth"`
	file  string   // that draws it
	row   int      // there
}

// Curve is the mean over the trials by update, the start first. A run that ended keeps its last value.
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

// layout returns the title of a part and its measures, in the order of the paper's table if it has one: see
// observer.measure.
func (s *Simulations) layout(p Part) (title string, columns []string) {
	after := func(updates int) string { return fmt.Sprintf("after %d", updates) }
	k := s.middle()
	switch p {
	case Table4:
		return "Table 4: binary", []string{p.objective(), orthogonalResidual, "ε_P", "ε_F", "ε_G", "F sparsity %", "G sparsity %", "seconds"}
	case Initialization:
		return fmt.Sprintf("Section 8.2: SONMF from three starts, K = %d, average residual", k),
			[]string{after(10), after(50), after(min(shownStarts, s.Updates)), "truth", "iterations"}
	case RankDeficient:
		return fmt.Sprintf("Section 8.3: more topics than the true %d, scenario (3), average residual", k/2),
			[]string{p.objective(), after(10), after(50), after(min(shownRankDeficient, s.Updates)), "truth", "ε_F", "ε_G", "iterations"}
	case StepSizes:
		return "Section 8.4: step lengths η of the binary method, average cost",
			[]string{after(50), after(100), after(s.Updates), "truth", "least ε_P", "ε_P", "ε_F"}
	default:
		return fmt.Sprintf("Table %[1]s: scenario (%[1]s)", p[len(p)-1:]),
			[]string{p.objective(), orthogonalResidual, "ε_F", "ε_G", "F sparsity %", "G sparsity %", "seconds", "iterations"}
	}
}

// formats are those of the measures; others are written as "%.4f".
func formats() map[string]string {
	return map[string]string{
		orthogonalResidual: "%.2g", "ε_F": "%.3f", "ε_G": "%.3f", "ε_P": "%.2f", "least ε_P": "%.2f",
		"F sparsity %": "%.2f", "G sparsity %": "%.2f", "seconds": "%.3f", "iterations": "%.1f",
	}
}

// tellsUnmet reports whether a column shows that a run did not end as it was to.
func (s *Simulations) tellsUnmet(p Part, column string) bool {
	return column == "seconds" || column == "iterations" || p == StepSizes && column == fmt.Sprintf("after %d", s.Updates)
}

// report lays out what was done.
func (s *Simulations) report(cells []*cell) *Simulated {
	out := &Simulated{Settings: s}
	for _, p := range s.Parts {
		title, columns := s.layout(p)
		t := Table{Part: p, Title: title, Columns: columns}
		of := slices.DeleteFunc(slices.Clone(cells), func(c *cell) bool { return c.part != p })
		for i, contender := range of[0].contenders {
			for _, c := range of {
				done := c.done(i)
				row := Row{Method: contender.name, Panel: c.label, Rank: c.rank, Trials: len(done)}
				for j, column := range columns {
					v := Value{text: "-"}
					if column != orthogonalResidual || contender.orthogonal {
						v = mean(done, column, s.tellsUnmet(p, column))
					}
					if paper := printedRow(p, contender.name, c.rank); paper != nil && s.Size == printedSize {
						v.Paper = paper[j]
					}
					row.Values = append(row.Values, v)
				}
				t.Rows = append(t.Rows, row)
			}
		}
		out.Tables = append(out.Tables, t)
		for _, c := range of {
			out.Figures = append(out.Figures, c.figures()...)
		}
	}
	return out
}

// done returns the trials of a contender that were done.
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
func mean(done []*outcome, column string, tellUnmet bool) Value {
	if len(done) == 0 {
		return Value{text: "-"}
	}
	var values []float64
	v := Value{}
	for _, o := range done {
		values = append(values, o.value(column))
		if tellUnmet && o.unmet {
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

// figures returns the panels of a cell.
func (c *cell) figures() []Figure {
	number, panel := 1+slices.Index(Parts(), c.part), fmt.Sprintf("k%d", c.rank)
	if c.part == Initialization {
		panel = fmt.Sprintf("scenario%d", c.scenario)
	}
	objective := Figure{
		Name: fmt.Sprintf("figure-%d-%s", number, panel), Title: fmt.Sprintf("Figure %d, %s", number, c.label), Y: c.part.objective(),
		LogY: c.part == Table1 || c.part == Table2 || c.part == Table3, Every: 1, Truth: mean(c.done(0), "truth", false).Mean,
		Curves: c.curves(func(o *outcome) []float64 { return o.curve }), file: fmt.Sprintf("figure-%d.svg", number),
	}
	if c.scenario != Bernoulli {
		return []Figure{objective}
	}
	probability := Figure{
		Name: objective.Name + "-probability", Title: objective.Title, Y: "ε_P", Every: probabilityEvery,
		Curves: c.curves(func(o *outcome) []float64 { return o.probabilityCurve }), file: objective.file, row: 1,
	}
	objective.Name += "-cost"
	return []Figure{objective, probability}
}

// curves returns the mean curve of each contender, as far as the longest run goes.
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

// report returns the tables, tables.csv, curves.csv, and an SVG for each figure of the paper that has a curve.
func (s *Simulated) report() *report.Report {
	values := report.NewTable("", "part,method,panel,rank,trials,measure,mean,standard_error,unmet,paper")
	points := report.NewTable("", "figure,curve,update,mean")
	out := &report.Report{Data: s, CSV: map[string]*report.Table{"tables.csv": values, "curves.csv": points}, SVG: map[string]report.Figure{}}
	for _, t := range s.Tables {
		shown := report.NewTable(t.Title, "method,of,trials,"+strings.Join(t.Columns, ","))
		for _, r := range t.Rows {
			line := []any{r.Method, r.Panel, r.Trials}
			for i, v := range r.Values {
				line = append(line, v.String())
				if v.Mean != nil {
					values.Add(t.Part, r.Method, r.Panel, r.Rank, r.Trials, t.Columns[i], v.Mean, v.StandardError, v.Unmet, v.Paper)
				}
			}
			shown.Add(line...)
		}
		out.Tables = append(out.Tables, *shown)
	}
	for i := range s.Figures {
		f := &s.Figures[i]
		for _, c := range f.Curves {
			for u, y := range c.Y {
				points.Add(f.Name, c.Name, u*f.Every, y)
			}
		}
		if panel := f.panel(); len(panel.Curves) > 0 {
			for len(out.SVG[f.file]) <= f.row {
				out.SVG[f.file] = append(out.SVG[f.file], nil)
			}
			out.SVG[f.file][f.row] = append(out.SVG[f.file][f.row], panel)
		}
	}
	return out
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
		p.Curves = append(p.Curves, report.Curve{Name: "truth", Points: plotter.XYs{{X: 0, Y: scale(*f.Truth)}, {X: last, Y: scale(*f.Truth)}}})
	}
	return p
}
