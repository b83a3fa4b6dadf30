package topics

import (
	"net/url"
	"slices"

	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/service/web/frame"
	"github.com/wardcast/wardcast/internal/service/web/prediction"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/models/topicindex"
)

const (
	movedSteps  = 12 // versions that fit, the latest
	movedLabels = 6  // dates that fit
)

type movement struct {
	First, Ago, CSV, JSON string
	Chart                 *chart.Chart // nil for a single version
	Rows                  []movedRow   // newest first
}

type movedRow struct {
	*topicindex.Step
	Name, Alike string
}

func newMovement(steps []topicindex.Step, ref topicindex.Ref) *movement {
	if len(steps) == 0 {
		return nil
	}
	query := "?topic=" + url.QueryEscape(name(ref))
	m := &movement{
		First: frame.Day(steps[0].CreatedAt), Ago: "in this version", CSV: "/topics/history.csv" + query,
		JSON: "/v1/topics/history" + query,
	}
	if n := len(steps) - 1; n > 0 {
		m.Ago = wording.Count(n, "version") + " ago"
		m.Chart = drawSteps(steps[max(0, len(steps)-movedSteps):])
	}
	for i := range slices.Backward(steps) {
		s := &steps[i]
		m.Rows = append(m.Rows, movedRow{s, prediction.TopicName(s.Label), wording.Short(s.Similarity, 2)})
	}
	return m
}

// drawSteps draws two steps or more as dots, at equal distances.
func drawSteps(steps []topicindex.Step) *chart.Chart {
	last := len(steps) - 1
	first, now := &steps[0], &steps[last]
	c := &chart.Chart{
		Title: "Coefficient over versions", Width: 446, Height: 132, Left: 20, Right: 40, Top: 14, Bottom: 32,
		Desc: "From " + frame.Signed(first.Coefficient) + " on " + frame.Day(first.CreatedAt) + " to " +
			frame.Signed(now.Coefficient) + " on " + frame.Day(now.CreatedAt) +
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
	c.Label("strong", line[last], chart.At(10, 4), frame.Signed(now.Coefficient))
	return c
}
