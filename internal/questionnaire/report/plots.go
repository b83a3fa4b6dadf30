package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/evaluate"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
)

// plotWidth is the width of plots, and longestKey the most letters of a name in their legends.
const plotWidth, longestKey = 600, 28

func newPlot(title string) *chart.Chart {
	return &chart.Chart{Title: title, Width: plotWidth, Height: 320, Left: 56, Right: 12, Top: 30, Bottom: 44}
}

// stability draws the agreement of loadings from a share of the participants with those from all, by method.
func stability(e *evaluate.Evaluation) *chart.Chart {
	c := newPlot("Stability of the loadings over the share of participants")
	var all []chart.Series
	ticks := []chart.Tick{}
	for _, s := range e.Shares {
		m, percent := s.Stability, 100*s.Share
		if m.Count == 0 {
			continue
		}
		n := slices.IndexFunc(all, func(line chart.Series) bool { return line.Name == s.Method })
		if n < 0 {
			n = len(all)
			all = append(all, chart.Series{Name: s.Method})
		}
		if n == 0 {
			ticks = append(ticks, chart.Tick{At: percent, Label: fmt.Sprintf("%.0f", percent)})
		}
		all[n].Estimates = append(all[n].Estimates, chart.Estimate{
			X: percent + float64(n), // side by side, so that no bar hides another
			Y: float64(m.Mean), Low: float64(m.Mean - m.Deviation), High: float64(min(m.Mean+m.Deviation, 1)),
		})
	}
	c.Legend(c.Plot("% of the participants", "correlation with the whole", ticks, all...)...)
	return c
}

// mostAges is the largest number of items in a panel of AgesPlot.
const mostAges = 7

// largest returns the largest y, 0 without any.
func largest(s chart.Series) (top float64) {
	for _, e := range s.Estimates {
		top = max(top, e.Y)
	}
	return top
}

// ages returns a line for each item, in their order: its loadings on a factor over the numbers of the bins, with their
// intervals if there are any. A bin that left the item out has no estimate.
func (m sheet) ages(factor int) []chart.Series {
	names := questionnaire.Names(m.Items)
	var curves []chart.Series
	for _, item := range m.VisitItems {
		curve := chart.Series{Name: item.Name}
		for b := range m.Visits.Bins() {
			if j := slices.Index(names, m.Visits.ItemName(item.Name, b)); j >= 0 {
				e := chart.Estimate{X: float64(b), Y: m.Loadings().At(j, factor)}
				if s := m.Summary.Sure(); s != nil {
					e.Low, e.High = min(e.Y, s.Low[j][factor]), max(e.Y, s.High[j][factor])
				}
				curve.Estimates = append(curve.Estimates, e)
			}
		}
		curves = append(curves, curve)
	}
	return curves
}

func (m sheet) agesTable() []byte {
	rows := [][]string{{"factor", "item", "from", "to", "loading"}}
	if m.Summary.Sure() != nil {
		rows[0] = append(rows[0], "low", "high")
	}
	for t, name := range model.FactorNames(m.Loadings()) {
		for _, curve := range m.ages(t) {
			for _, e := range curve.Estimates {
				bin := m.Visits.Edges[int(e.X):]
				row := model.Cells([]string{name, curve.Name}, bin[0], bin[1], e.Y, e.Low, e.High)
				rows = append(rows, row[:len(rows[0])])
			}
		}
	}
	return model.CSV(rows)
}

// AgePanels returns a plot for each factor: the curves of the items with its largest loadings, all on the same scale.
func (m sheet) AgePanels() (panels []*chart.Chart) {
	bins := m.Visits.Bins()
	ticks := lists.Make(bins, func(b int) chart.Tick { return chart.Tick{At: float64(b), Label: m.Visits.Label(b)} })
	values := []float64{0}
	for factor := range m.Summary.Factors {
		for _, curve := range m.ages(factor) {
			for _, e := range curve.Estimates {
				values = append(values, e.Y, e.Low, e.High)
			}
		}
	}
	for factor := range m.Summary.Factors {
		number := strconv.Itoa(factor + 1)
		c := newPlot("Loadings of factor " + number + " over " + m.Visits.Time)
		c.Height, c.Top = c.Height+18, c.Top+18
		c.X = chart.Span{From: -0.25, To: float64(bins) - 0.75}
		c.Y = chart.Cover(values...)
		c.Text("strong", chart.At(0, 14), "Factor "+number)
		curves := m.ages(factor)
		slices.SortStableFunc(curves, func(a, b chart.Series) int { return cmp.Compare(largest(b), largest(a)) })
		var all []chart.Series
		for _, curve := range curves[:min(len(curves), mostAges)] {
			if top := largest(curve); top > 0 && top >= model.TopShare*largest(curves[0]) {
				curve.Name = chart.Shorten(curve.Name, longestKey)
				for i := range curve.Estimates { // side by side, so that no bar hides another
					curve.Estimates[i].X += 0.03 * float64(len(all))
				}
				all = append(all, curve)
			}
		}
		c.Legend(c.Plot(m.Visits.Time, "loading", ticks, all...)...)
		panels = append(panels, c)
	}
	return panels
}

// Compact draws the share of the scores that the compact set explains, over the number of items, with intervals.
func (m sheet) Compact() *chart.Chart {
	c := newPlot("Variance explained over the number of items")
	line := chart.Series{Name: "explained"}
	for i, item := range m.Summary.Compact {
		line.Estimates = append(line.Estimates, chart.Estimate{
			X: float64(i + 1), Y: item.Explained, Low: item.Low, High: item.High,
		})
	}
	c.Y = chart.Unit
	c.Legend(c.Plot("items", "share of the scores' variance", nil, line)...)
	return c
}

// Steps numbers the thresholds of the item that has most.
func (m sheet) Steps() []int {
	most := 0
	for _, item := range m.Summary.Graded.Items {
		most = max(most, len(item.Thresholds))
	}
	return lists.Make(most, func(k int) int { return k + 1 })
}

// mostInformed is the largest number of items in a panel of InformationPanels.
const mostInformed = 7

// InformationPanels returns two plots for each factor: the information in the answers to all of its items, and that of
// the items that have most.
func (m sheet) InformationPanels() (panels []*chart.Chart) {
	const from, to, points = -4.0, 4.0, 33
	g := m.FA.Graded
	curve := func(name string, items ...int) chart.Series {
		s := chart.Series{Name: chart.Shorten(name, longestKey)}
		for i := range points {
			theta := from + (to-from)*float64(i)/(points-1)
			e := chart.Estimate{X: theta}
			for _, j := range items {
				e.Y += g.Information(j, theta)
			}
			s.Estimates = append(s.Estimates, e)
		}
		return s
	}
	for t := range m.Summary.Factors {
		var items []int
		var own []chart.Series
		for j, factor := range g.Factors {
			if factor == t {
				items, own = append(items, j), append(own, curve(m.Items[j].Name, j))
			}
		}
		slices.SortStableFunc(own, func(a, b chart.Series) int { return cmp.Compare(largest(b), largest(a)) })
		number := strconv.Itoa(t + 1)
		for n, all := range [][]chart.Series{{curve("all items", items...)}, own[:min(len(own), mostInformed)]} {
			c := newPlot([]string{"Test information of factor ", "Item information of factor "}[n] + number)
			c.X, c.Y = chart.Span{From: from, To: to}, chart.Cover(0, largest(all[0])).Round(5)
			c.Legend(c.Plot("factor "+number, "information", nil, all...)...)
			panels = append(panels, c)
		}
	}
	return panels
}

// mostScree is the largest number of eigenvalues that a scree plot shows.
const mostScree = 40

// scree draws the first eigenvalues and the reference that they must exceed.
func scree(eigenvalues, reference []float64) *chart.Chart {
	c := newPlot("Eigenvalues and their reference")
	c.Y = chart.Cover(0, slices.Max(eigenvalues), slices.Max(reference)).Round(5)
	c.Legend(c.Plot("number", "eigenvalue", nil, screeLine("eigenvalues", 1, eigenvalues),
		screeLine("95 % of random answers", 1, reference))...)
	return c
}

// screeLine is the line of the first values, which belong to the numbers from first on.
func screeLine(name string, first int, values []float64) chart.Series {
	return chart.Series{Name: name, Estimates: lists.Make(min(len(values), mostScree), func(i int) chart.Estimate {
		return chart.Estimate{X: float64(first + i), Y: values[i]}
	})}
}

// Scree draws the scree of the fit, nil without one.
func (m sheet) Scree() *chart.Chart {
	if c := m.Summary.Scree; c != nil && len(c.Eigenvalues) > 0 {
		return scree(c.Eigenvalues, c.Reference)
	}
	return nil
}

// MAP draws the criterion of MAP, nil without one.
func (m sheet) MAP() *chart.Chart {
	if m.Summary.Scree == nil || len(m.Summary.Scree.MAP) == 0 {
		return nil
	}
	c, line := newPlot("Velicer's MAP"), screeLine("mean squared partial correlation", 0, m.Summary.Scree.MAP)
	c.Legend(c.Plot("components", "squared partial correlation", nil, line)...)
	return c
}
