package web

import (
	"net/url"
	"strconv"

	"github.com/wardcast/wardcast/models/topicindex"
)

const (
	movedWidth, movedHeight = 446, 132
	movedLeft, movedRight   = 30, 396 // of the first and the last version
	movedTop, movedBottom   = 14, 100
	movedSteps              = 12 // versions that fit, the latest
	movedLabels             = 6  // dates that fit
)

// movement is how a topic moved over the versions of its model.
type movement struct {
	First, Ago, Desc, CSV, JSON string
	Width, Height               int
	Zero, Left, Right           string     // of the line at zero
	Path                        string     // through the dots
	Dots                        []movedDot // none for a single version
	Rows                        []movedRow // newest first
}

// movedDot is a version on the chart.
type movedDot struct{ Class, X, Y, Date, Value string }

// movedRow is a version in the table.
type movedRow struct{ At, Label, Coefficient, Exact, Share, Similarity string }

// newMovement draws the steps of a topic; nil without any.
func newMovement(steps []topicindex.Step, ref *topicindex.Ref) *movement {
	if len(steps) == 0 {
		return nil
	}
	name := ref.Model + "/" + ref.Version + "/" + strconv.Itoa(ref.Topic)
	m := &movement{
		First: steps[0].CreatedAt.UTC().Format("2 Jan 2006"), Ago: "in this version", Width: movedWidth, Height: movedHeight,
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
		m.draw(steps[max(0, len(steps)-movedSteps):])
	}
	return m
}

// draw draws two steps or more as dots, at equal distances.
func (m *movement) draw(steps []topicindex.Step) {
	var low, high float64
	for i := range steps {
		low, high = min(low, steps[i].Coefficient), max(high, steps[i].Coefficient)
	}
	if high == low {
		high = 1
	}
	y := func(v float64) float64 { return movedBottom - (v-low)/(high-low)*(movedBottom-movedTop) }
	m.Zero, m.Left, m.Right = geometry(y(0)), geometry(movedLeft-10), geometry(movedRight+10)
	last := len(steps) - 1
	apart := (last + movedLabels) / movedLabels // dates that are written, from the last one back
	for i := range steps {
		s := &steps[i]
		x := movedLeft + float64(i)/float64(last)*(movedRight-movedLeft)
		d := movedDot{Class: "fa", X: geometry(x), Y: geometry(y(s.Coefficient))}
		if s.Coefficient < 0 {
			d.Class = "fd"
		}
		if (last-i)%apart == 0 {
			d.Date = s.CreatedAt.UTC().Format("2 Jan")
		}
		if i == last {
			d.Value = signed(s.Coefficient)
		}
		m.Dots = append(m.Dots, d)
		m.Path += "ML"[min(i, 1):min(i, 1)+1] + d.X + " " + d.Y
	}
	first, now := &steps[0], &steps[last]
	m.Desc = "From " + signed(first.Coefficient) + " on " + first.CreatedAt.UTC().Format("2 Jan 2006") + " to " + signed(now.Coefficient) + " on " + now.CreatedAt.UTC().Format("2 Jan 2006") + "."
}
