package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/evaluate"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
)

// plotWidth is the width of plots, and longestKey the most letters of a name in their legends.
const plotWidth, longestKey = 600, 28

// newPlot returns an empty plot.
func newPlot(title string) *chart.Chart {
	return &chart.Chart{Title: title, Width: plotWidth, Height: 320, Left: 56, Right: 12, Top: 30, Bottom: 44}
}

// stability draws how well loadings from a share of the participants agree with those from all, the whole: a line for each method, with
// standard deviations.
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
		line := &all[n]
		line.Points = append(line.Points, chart.At(percent+float64(n), m.Mean)) // side by side, so that no bar hides another
		line.Low, line.High = append(line.Low, m.Mean-m.Deviation), append(line.High, min(m.Mean+m.Deviation, 1))
	}
	c.Legend(c.Plot("% of the participants", "correlation with the whole", ticks, all...)...)
	return c
}

// mostAges is the largest number of items in a panel of AgesPlot.
const mostAges = 7

// largest returns the largest y, 0 without any.
func largest(s chart.Series) (top float64) {
	for _, p := range s.Points {
		top = max(top, p.Y)
	}
	return top
}

// ages returns a line for each item, in their order: its loadings on a factor over the numbers of the bins, with their intervals
// if there are any. A bin that left the item out has no point.
func (m sheet) ages(factor int) []chart.Series {
	names := questionnaire.Names(m.Items)
	var curves []chart.Series
	for _, item := range m.VisitItems {
		curve := chart.Series{Name: item.Name}
		for b := range m.Visits.Bins() {
			if j := slices.Index(names, m.Visits.ItemName(item.Name, b)); j >= 0 {
				q := m.Loadings().At(j, factor)
				curve.Points = append(curve.Points, chart.At(float64(b), q))
				if b := m.Summary.Bootstrap; b != nil {
					curve.Low = append(curve.Low, min(q, b.Loadings.Low[j][factor]))
					curve.High = append(curve.High, max(q, b.Loadings.High[j][factor]))
				}
			}
		}
		curves = append(curves, curve)
	}
	return curves
}

func (m sheet) agesTable() []byte {
	rows := [][]string{{"factor", "item", "from", "to", "loading"}}
	if m.Summary.Bootstrap != nil {
		rows[0] = append(rows[0], "low", "high")
	}
	for t, name := range model.FactorNames(m.Loadings()) {
		for _, curve := range m.ages(t) {
			for i, p := range curve.Points {
				bin := int(p.X)
				row := []string{name, curve.Name, model.Cell(m.Visits.Edges[bin]), model.Cell(m.Visits.Edges[bin+1]), model.Cell(p.Y)}
				if curve.Low != nil {
					row = append(row, model.Cell(curve.Low[i]), model.Cell(curve.High[i]))
				}
				rows = append(rows, row)
			}
		}
	}
	return model.CSV(rows)
}

// agePanels returns a plot for each factor: the curves of the items that load on it most, all on the same scale.
func (m sheet) agePanels() (panels []*chart.Chart) {
	bins := m.Visits.Bins()
	var ticks []chart.Tick
	for b := range bins {
		ticks = append(ticks, chart.Tick{At: float64(b), Label: m.Visits.Label(b)})
	}
	values := []float64{0, mat.Min(m.Loadings()), mat.Max(m.Loadings())}
	if b := m.Summary.Bootstrap; b != nil {
		for j := range b.Loadings.Low {
			values = append(append(values, b.Loadings.Low[j][:m.Summary.Factors]...), b.Loadings.High[j][:m.Summary.Factors]...)
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
				for i := range curve.Points { // side by side, so that no bar hides another
					curve.Points[i].X += 0.03 * float64(len(all))
				}
				all = append(all, curve)
			}
		}
		c.Legend(c.Plot(m.Visits.Time, "loading", ticks, all...)...)
		panels = append(panels, c)
	}
	return panels
}

// compact draws how much of the scores the items of the compact set explain, over their number, with intervals.
func (m sheet) compact() *chart.Chart {
	c := newPlot("Variance explained over the number of items")
	line := chart.Series{Name: "explained"}
	for i, item := range m.Summary.Compact {
		line.Points = append(line.Points, chart.At(float64(i+1), item.Explained))
		line.Low, line.High = append(line.Low, min(item.Low, item.Explained)), append(line.High, max(item.High, item.Explained))
	}
	c.Y = chart.Unit
	c.Legend(c.Plot("items", "share of the scores' variance", nil, line)...)
	return c
}

// mostScree is the largest number of eigenvalues that a scree plot shows.
const mostScree = 40

// scree draws the first eigenvalues and the reference that they must exceed.
func (r *Ranking) scree() *chart.Chart {
	c := newPlot("Eigenvalues and their reference")
	all := []chart.Series{{Name: "eigenvalues"}, {Name: "95 % of random answers"}}
	for n, values := range [][]float64{r.Eigenvalues, r.Reference} {
		for i, v := range values[:min(len(values), mostScree)] {
			all[n].Points = append(all[n].Points, chart.At(float64(i+1), v))
		}
	}
	c.Y = chart.Cover(0, slices.Max(r.Eigenvalues), slices.Max(r.Reference)).Round(5)
	c.Legend(c.Plot("component", "eigenvalue", nil, all...)...)
	return c
}
