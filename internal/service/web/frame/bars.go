package frame

import (
	"html/template"

	"github.com/wardcast/wardcast/internal/chart"
)

// BarRow is a row of a table of signed bars.
type BarRow struct {
	Name, Sub, Tag string
	Denied         bool
	Value, Exact   string
	Bar            template.HTML
	value          float64
}

// NewBarRow returns a row whose value is written as text.
func NewBarRow(name string, v float64, text string) BarRow {
	return BarRow{Name: name, Value: text, Exact: Exact(v), value: v}
}

// DrawBars gives rows of several tables their bars, on one scale. The class is that of bars above 0.
func DrawBars(class string, tables ...[]BarRow) {
	values := []float64{0}
	for _, t := range tables {
		for i := range t {
			values = append(values, t[i].value)
		}
	}
	scale := chart.Cover(values...)
	for _, t := range tables {
		for i := range t {
			c := &chart.Chart{
				Class: "stretch", Width: 100, Height: 14, Left: 1.5, Right: 1.5, X: scale,
				Y: chart.Span{From: 14, To: 0},
			}
			of := class
			if t[i].value < 0 {
				of = "fd"
			}
			c.Bar(of, chart.At(0, 2), chart.At(t[i].value, 12))
			c.Line("ax", chart.At(0, 0), chart.At(0, 14))
			t[i].Bar = c.SVG()
		}
	}
}
