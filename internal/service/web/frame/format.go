package frame

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/wording"
)

// functions are those of templates, by the names of ours.
func (f *Frame) functions() template.FuncMap {
	return template.FuncMap{
		"calibrated": f.calibrated,
		"capital":    func(v any) string { return Capital(fmt.Sprint(v)) },
		"hundred":    func(v float64, decimals int) string { return wording.Short(100*v, decimals) },
		"clock":      f.Clock, "count": wording.Count, "day": f.Day, "exact": Exact, "fixed": Fixed,
		"grouped": func(v any) string { return Grouped(int(value(v))) },
		"percent": Percent, "share": Share, "short": wording.Short, "signed": Signed, "stamp": f.Stamp,
	}
}

// calibrated says how a model of these made a probability of log-odds, with the numbers of its formula.
func (f *Frame) calibrated(m msg.Model, logit float64) string {
	var c *bundle.Calibration
	if f.Calibration != nil {
		c = f.Calibration(m.Name, m.Version)
	}
	switch {
	case c == nil || c.Kind == bundle.Uncalibrated:
		return "after calibration"
	case c.Kind == bundle.Platt:
		return fmt.Sprintf("after calibration: 1 / (1 + e^−z), z = %s × (%s) + (%s) = %s", wording.Fixed(c.Slope, 2),
			Signed(logit), Signed(c.Intercept), Signed(c.Slope*logit+c.Intercept))
	}
	to, _ := slices.BinarySearch(c.Logits, logit)
	from, to := max(0, to-1), min(to, len(c.Logits)-1)
	return fmt.Sprintf("after calibration: on the line from %s (%s %%) to %s (%s %%)", Signed(c.Logits[from]),
		Percent(c.Probabilities[from]), Signed(c.Logits[to]), Percent(c.Probabilities[to]))
}

// Exact returns a float64, or one pointed at, as messages print it; "" if it is not finite or not known.
func Exact(v any) string {
	x := value(v)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return ""
	}
	return string(msg.Number(x).AppendJSON(nil))
}

// value returns a number, NaN for nil.
func value(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case float64:
		return v
	case *float64:
		if v != nil {
			return *v
		}
	}
	return math.NaN()
}

// Unknown stands for a number that is not known.
const Unknown = "–"

// Fixed returns a measure of quality, or a pointer to one, with three decimals.
func Fixed(v any) string {
	x := value(v)
	if math.IsNaN(x) {
		return Unknown
	}
	return wording.Fixed(x, 3)
}

// Signed returns a contribution or a coefficient with its sign and two decimals.
func Signed(v float64) string { return wording.Signed(v, 2) }

// Percent returns a probability as whole percent. No estimate is certain: the ends are "<1" and ">99".
func Percent(p float64) string {
	switch {
	case p < 0.01:
		return "<1"
	case p > 0.99:
		return ">99"
	}
	return strconv.Itoa(int(math.Round(100 * p)))
}

// Share returns a share, or a pointer to one, in percent with one decimal.
func Share(v any) string {
	x := value(v)
	if math.IsNaN(x) {
		return "unknown"
	}
	return wording.Percent(x)
}

// Capital returns words of ours with a capital letter and without underscores.
func Capital(s string) string { return wording.Capital(strings.ReplaceAll(s, "_", " ")) }

// Grouped returns a count with a thin space between thousands.
func Grouped(n int) string { return wording.Grouped(n, "\u202f") }

// Stamp returns a time on the site's clock, to the minute.
func (f *Frame) Stamp(t time.Time) string { return t.In(f.Zone).Format("2 Jan 2006 15:04") }

// Day returns a day of the site's calendar.
func (f *Frame) Day(t time.Time) string { return t.In(f.Zone).Format("2 Jan 2006") }

// Clock returns the hour and the minute of a time on the site's clock.
func (f *Frame) Clock(t time.Time) string { return t.In(f.Zone).Format("15:04") }

// ModelLabel returns the name of a model for people.
func ModelLabel(name, complaint string) string {
	switch {
	case name == bundle.Other:
		return "All complaints"
	case complaint != "":
		return complaint
	}
	return name
}

// BarRow is a row of a table of signed bars.
type BarRow struct {
	Name, Sub, Tag string
	Denied         bool
	Value, Exact   string
	Href, In       string // a link of the name, and the numbers of the topics that hold the word; "" for none
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
	DrawBarsOn(chart.Cover(values...), class, tables...)
}

// DrawBarsOn is DrawBars on a given scale.
func DrawBarsOn(scale chart.Span, class string, tables ...[]BarRow) {
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
