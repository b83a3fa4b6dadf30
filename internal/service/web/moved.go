package web

import (
	"net/url"
	"strconv"

	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/models/topicindex"
)

const (
	movedSteps  = 12 // versions that fit, the latest
	movedLabels = 6  // dates that fit
)

// movement is how a topic moved over the versions of its model.
type movement struct {
	First, Ago, CSV, JSON string
	Chart                 *chart.Chart // nil for a single version
	Rows                  []movedRow   // newest first
}

// movedRow is a version in the table.
type movedRow struct{ At, Label, Coefficient, Exact, Share, Similarity string }

// newMovement draws the steps of a topic; nil without any.
func newMovement(steps []topicindex.Step, ref *topicindex.Ref) *movement {
	if len(steps) == 0 {
		return nil
	}
	name := ref.Model + "/" + ref.Version + "/" + strconv.Itoa(ref.Topic)
	m := &movement{
		First: steps[0].CreatedAt.UTC().Format("2 Jan 2006"), Ago: "in this version",
		CSV: "/topics/history.csv?topic=" + url.QueryEscape(name), JSON: "/v1/topics/history?topic=" + url.QueryEscape(name),
	}
	if n := len(steps) - 1; n > 0 {
		m.Ago = plural(n, "version") + " ago"
	}
	for i := len(steps) - 1; i >= 0; i-- {
		s := &steps[i]
		m.Rows = append(m.Rows, movedRow{stamp(s.CreatedAt), topicName(s.Label), signed(s.Coefficient), exact(s.Coefficient), share(s.Prevalence), number(s.Similarity, 2)})
	}
	if len(steps) > 1 {
		m.Chart = drawSteps(steps[max(0, len(steps)-movedSteps):])
	}
	return m
}

// drawSteps draws two steps or more as dots, at equal distances.
func drawSteps(steps []topicindex.Step) *chart.Chart {
	last := len(steps) - 1
	first, now := &steps[0], &steps[last]
	c := &chart.Chart{
		Title: "Coefficient over versions", Width: 446, Height: 132, Left: 20, Right: 40, Top: 14, Bottom: 32,
		Desc: "From " + signed(first.Coefficient) + " on " + first.CreatedAt.UTC().Format("2 Jan 2006") + " to " +
			signed(now.Coefficient) + " on " + now.CreatedAt.UTC().Format("2 Jan 2006") +
			". The same facts are in the table below.",
		X: chart.Span{To: float64(last)}.Pad(0.03),
	}
	values, line := []float64{0}, []chart.Point(nil)
	for i := range steps {
		values, line = append(values, steps[i].Coefficient), append(line, chart.At(float64(i), steps[i].Coefficient))
	}
	c.Y = chart.Cover(values...)
	c.Line("ax", chart.At(c.X.From, 0), chart.At(c.X.To, 0))
	c.Label("end", chart.At(c.X.From, 0), chart.At(-6, 4), "0")
	c.Line("ax", line...)
	apart := (last + movedLabels) / movedLabels // dates that are written, from the last one back
	for i, at := range line {
		class := "fa"
		if at.Y < 0 {
			class = "fd"
		}
		c.Dot(class, at, 4)
		if (last-i)%apart == 0 {
			c.Text("mid", chart.At(c.Place(at).X, 126), steps[i].CreatedAt.UTC().Format("2 Jan"))
		}
	}
	c.Label("strong", line[last], chart.At(10, 4), signed(now.Coefficient))
	return c
}
