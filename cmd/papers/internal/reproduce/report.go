package reproduce

import (
	"fmt"
	"math"
	"strings"
)

// Table is one table of the paper, or what stands for one where it shows figures only.
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
	// Mean is nil where the measure is not defined for the method.
	Mean          *float64 `json:"mean"`
	StandardError float64  `json:"standard_error"`
	// Unmet counts the trials that had not met the criterion after all updates, or whose method failed before.
	Unmet int `json:"unmet,omitempty"`
	// Paper is what the paper prints, as it prints it; "" where it has nothing.
	Paper string `json:"paper,omitempty"`
	text  string // of the mean
}

// String returns the mean and, behind it, the paper's value.
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
	Name   string  `json:"name"` // of its file
	Title  string  `json:"title"`
	Y      string  `json:"y"`
	LogY   bool    `json:"log_y"` // drawn as log(y + 1), as the paper does
	Every  int     `json:"every"` // updates from one point to the next
	Curves []Curve `json:"curves"`
	// Truth is the level of the true factors; nil where there is none.
	Truth *float64 `json:"truth"`
}

// Curve is the mean over the trials by update, the start first. A run that ended keeps its last value.
type Curve struct {
	Name string    `json:"name"`
	Y    []float64 `json:"values"`
}

// column is a measure of a table.
type column struct {
	name, format string
	of           func(*outcome) float64
	orthogonal   bool // for contenders with orthogonal topics only
	unmet        bool // "+" where Value.Unmet counts any
}

func objectiveColumn(name string) column {
	return column{name: name, format: "%.4f", of: func(o *outcome) float64 { return o.objective }}
}

func measureColumns() (orthogonality, topics, scores column) {
	return column{name: "orthogonal residual", format: "%.2g", of: func(o *outcome) float64 { return o.orthogonality }, orthogonal: true},
		column{name: "ε_F", format: "%.3f", of: func(o *outcome) float64 { return o.epsilonTopics }},
		column{name: "ε_G", format: "%.3f", of: func(o *outcome) float64 { return o.epsilonScores }}
}

func lastColumns() []column {
	return []column{
		{name: "F sparsity %", format: "%.2f", of: func(o *outcome) float64 { return o.sparsityTopics }},
		{name: "G sparsity %", format: "%.2f", of: func(o *outcome) float64 { return o.sparsityScores }},
		{name: "seconds", format: "%.3f", of: func(o *outcome) float64 { return o.seconds }, unmet: true},
	}
}

func iterationsColumn() column {
	return column{name: "iterations", format: "%.1f", of: func(o *outcome) float64 { return float64(o.iterations) }, unmet: true}
}

// truthColumn is what the true factors reach.
func truthColumn() column {
	return column{name: "truth", format: "%.4f", of: func(o *outcome) float64 { return o.truth }}
}

// after is the mean objective after so many updates.
func after(updates int) column {
	return column{name: fmt.Sprintf("after %d", updates), format: "%.4f", of: func(o *outcome) float64 { return at(o.curve, updates) }}
}

// at returns the value at an index of a curve that stays at its last one.
func at(curve []float64, i int) float64 { return curve[min(i, len(curve)-1)] }

// columns of a part, in the order of the paper's where it has a table.
func (s *Simulations) columns(p Part) []column {
	orthogonality, topics, scores := measureColumns()
	probability := column{name: "ε_P", format: "%.2f", of: func(o *outcome) float64 { return o.epsilonProbability }}
	switch p {
	case Table4:
		return append([]column{objectiveColumn("average cost"), orthogonality, probability, topics, scores}, lastColumns()...)
	case Initialization:
		return []column{after(10), after(50), after(min(shownStarts, s.Updates)), truthColumn(), iterationsColumn()}
	case RankDeficient:
		return []column{objectiveColumn("average residual"), after(10), after(50), after(min(shownRankDeficient, s.Updates)), truthColumn(), topics, scores, iterationsColumn()}
	case StepSizes:
		least := column{name: "least ε_P", format: "%.2f", of: func(o *outcome) float64 {
			least := math.Inf(1)
			for _, v := range o.probabilityCurve {
				least = min(least, v)
			}
			return least
		}}
		last := after(s.Updates)
		last.unmet = true
		return []column{after(50), after(100), last, truthColumn(), least, probability, topics}
	default:
		return append(append([]column{objectiveColumn("average residual"), orthogonality, topics, scores}, lastColumns()...), iterationsColumn())
	}
}

// titles of the parts.
func (s *Simulations) title(p Part) string {
	switch p {
	case Table1, Table2, Table3:
		return fmt.Sprintf("Table %s: scenario (%s)", string(p[len(p)-1]), string(p[len(p)-1]))
	case Table4:
		return "Table 4: binary"
	case Initialization:
		return fmt.Sprintf("Section 8.2: SONMF from three starts, K = %d, average residual", s.middle())
	case RankDeficient:
		return fmt.Sprintf("Section 8.3: more topics than the true %d, scenario (3), average residual", s.middle()/2)
	default:
		return "Section 8.4: step lengths η of the binary method, average cost"
	}
}

// report lays out what was done.
func (s *Simulations) report(cells []*cell) *Simulated {
	out := &Simulated{Settings: *s}
	paper := printedTables()
	for _, p := range s.Parts {
		columns := s.columns(p)
		t := Table{Part: p, Title: s.title(p)}
		for _, c := range columns {
			t.Columns = append(t.Columns, c.name)
		}
		var of []*cell
		for _, c := range cells {
			if c.part == p {
				of = append(of, c)
			}
		}
		for i, contender := range of[0].contenders {
			for _, c := range of {
				done := c.done(i)
				row := Row{Method: contender.name, Panel: c.label, Rank: c.rank, Trials: len(done)}
				var beside []string
				if s.Size == printedSize {
					beside = strings.Fields(paper[printedRow{p, contender.name, c.rank}])
				}
				for j, column := range columns {
					v := column.value(done, contender.orthogonal)
					if len(beside) > 0 {
						v.Paper = beside[j]
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

// value is the mean over the trials.
func (c column) value(done []*outcome, orthogonal bool) Value {
	if len(done) == 0 || c.orthogonal && !orthogonal {
		return Value{text: "-"}
	}
	var values []float64
	v := Value{}
	for _, o := range done {
		values = append(values, c.of(o))
		if c.unmet && o.unmet {
			v.Unmet++
		}
	}
	mean, standardError := meanError(values)
	v.Mean, v.StandardError, v.text = &mean, standardError, fmt.Sprintf(c.format, mean)
	return v
}

// figures returns the panels of a cell.
func (c *cell) figures() []Figure {
	number := map[Part]int{Table1: 1, Table2: 2, Table3: 3, Table4: 4, Initialization: 5, RankDeficient: 6, StepSizes: 7}[c.part]
	panel := fmt.Sprintf("k%d", c.rank)
	if c.part == Initialization {
		panel = fmt.Sprintf("scenario%d", c.scenario)
	}
	objective := Figure{
		Name: fmt.Sprintf("figure-%d-%s", number, panel), Title: fmt.Sprintf("Figure %d, %s", number, c.label), Y: "average residual",
		LogY: c.part == Table1 || c.part == Table2 || c.part == Table3, Every: 1, Truth: truthColumn().value(c.done(0), true).Mean,
	}
	if c.scenario != Bernoulli {
		objective.Curves = c.curves(func(o *outcome) []float64 { return o.curve })
		return []Figure{objective}
	}
	objective.Y, objective.Name = "average cost", objective.Name+"-cost"
	objective.Curves = c.curves(func(o *outcome) []float64 { return o.curve })
	probability := Figure{Name: fmt.Sprintf("figure-%d-%s-probability", number, panel), Title: objective.Title, Y: "ε_P", Every: probabilityEvery}
	probability.Curves = c.curves(func(o *outcome) []float64 { return o.probabilityCurve })
	return []Figure{objective, probability}
}

// curves returns the mean curve of each contender, as far as the paper shows it or the longest run goes.
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
