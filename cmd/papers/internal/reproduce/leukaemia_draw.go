package reproduce

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

const (
	geneBar    = 0.3 * vg.Centimeter // width of a bar
	drawnGenes = 10                  // bars that a panel has room for
)

// svg draws the first genes of each topic as bars, the largest on top, coloured by the class that they speak for.
func (s *SupervisedTopics) svg(classes []string) ([]byte, error) {
	var panels []*plot.Plot
	legend := plot.NewLegend()
	for i := range s.Topics {
		t := &s.Topics[i]
		p := plot.New()
		p.Title.Text, p.X.Label.Text = fmt.Sprintf("%s, topic %d, β = %+.2f", s.Variant, t.Topic, t.Coefficient), "loading"
		if t.Topic == 0 {
			p.Title.Text = string(s.Variant) + ", together"
		}
		var names []string
		bars := make([]plotter.Values, len(classes)) // by class, 0 where a gene speaks for another
		for _, g := range slices.Backward(t.Genes[:min(drawnGenes, len(t.Genes))]) {
			names = append(names, g.Gene)
			for c, class := range classes {
				v := 0.0
				if g.Towards == class {
					v = g.Loading
				}
				bars[c] = append(bars[c], v)
			}
		}
		for c, class := range classes {
			chart, err := plotter.NewBarChart(bars[c], geneBar)
			if err != nil {
				return nil, fmt.Errorf("drawing genes: %w", err)
			}
			chart.Horizontal, chart.Color, chart.LineStyle.Width = true, plotutil.DarkColors[c], 0
			p.Add(chart)
			if i == 0 {
				legend.Add("towards "+class, chart)
			}
		}
		p.NominalY(names...)
		p.X.Tick.Marker = plot.ConstantTicks{{Label: "0"}, {Value: t.Genes[0].Loading, Label: fmt.Sprintf("%.2g", t.Genes[0].Loading)}}
		panels = append(panels, p)
	}
	return drawGrid([][]*plot.Plot{panels}, legend)
}
