package beds

import (
	"fmt"
	"slices"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/web/frame"
	"github.com/wardcast/wardcast/internal/wording"
)

// past is what was forecast for a ward on the last days, and what came.
type past struct {
	*chart.Chart
	Ahead string
	Held  []held // of all wards together first
	Rows  []pastRow
}

// held counts how often the range of a ward had what came.
type held struct {
	Ward           string // "" for all
	Held, Compared int
}

type pastRow struct {
	At, Href, Expect, Likely, Came, Verdict string
	Missed                                  bool
}

// newPast draws the forecasts of the chosen ward, and counts those of all.
func newPast(page *view, h *httpapi.DemandHistory) *past {
	wards := map[string]*httpapi.DemandHistory{}
	var names []string
	for _, p := range h.Points {
		if wards[p.Ward] == nil {
			wards[p.Ward], names = &httpapi.DemandHistory{}, append(names, p.Ward)
		}
		wards[p.Ward].Add(p)
	}
	shown := wards[page.Ward]
	if shown == nil {
		return nil
	}
	f := &past{Ahead: spelled(judged(page.Window))}
	slices.Sort(names)
	for _, name := range names {
		w := held{Ward: name, Held: wards[name].Held, Compared: wards[name].Compared}
		if name == msg.AllWards {
			w.Ward = ""
			f.Held = slices.Insert(f.Held, 0, w)
		} else if w.Compared > 0 {
			f.Held = append(f.Held, w)
		}
	}
	f.draw(page, shown)
	for i := range slices.Backward(shown.Points) {
		p := &shown.Points[i]
		r := pastRow{
			At:     p.At.In(page.site.Zone).Format("2 Jan 15:04"),
			Href:   page.LinkTo("at", p.At.UTC().Format(time.RFC3339), "by", "", "window", p.Window),
			Expect: wording.Fixed(p.Expected, 1), Likely: frame.Unknown, Came: frame.Unknown,
		}
		if p.Low != nil {
			r.Likely = ranged([2]int{*p.Low, *p.High})
		}
		if p.Actual != nil {
			r.Came = fmt.Sprint(*p.Actual)
		}
		if p.Low != nil && p.Actual != nil {
			r.Verdict, r.Missed = verdict(*p.Low, *p.High, *p.Actual), !p.Held()
		}
		f.Rows = append(f.Rows, r)
	}
	return f
}

// draw draws for each moment a bar from the low to the high end, a line at what was expected, and a dot at what came.
func (f *past) draw(page *view, h *httpapi.DemandHistory) {
	const (
		half     = 2.2       // hours, half a bar
		shift    = time.Hour // by which the point of midnight stands before or after it, if the clock was changed
		midnight = 3         // the hour, a shift later, from which a point is not that of midnight
		stands   = 0.2       // beds by which a bar stands out, so that one of a single count is seen
	)
	points := h.Points
	first, last := points[0].At, points[len(points)-1].At
	hours := func(t time.Time) float64 { return t.Sub(first).Hours() }
	most := 1.0
	for i := range points {
		p := &points[i]
		most = max(most, p.Expected)
		for _, n := range []*int{p.High, p.Actual} {
			if n != nil {
				most = max(most, float64(*n))
			}
		}
	}
	f.Chart = &chart.Chart{
		Title: "Beds forecast " + f.Ahead + " ahead on the last days, and beds needed",
		Class: "forest", Width: 760, Height: 210, Left: 32, Right: 12, Top: 12, Bottom: 28,
		X: chart.Span{From: -2 * half, To: hours(last) + 2*half}, Y: chart.Span{From: -stands, To: most + stands},
	}
	f.AxisY("", f.Y.Ticks(5, 1)...)
	var ticks []chart.Tick
	for i := range points {
		p := &points[i]
		x := hours(p.At)
		if local := p.At.In(page.site.Zone).Add(shift); local.Hour() < midnight {
			ticks = append(ticks, chart.Tick{At: x, Label: local.Format("2 Jan")})
		}
		if p.Low != nil {
			f.Bar("fd soft", chart.At(x-half, float64(*p.Low)-stands), chart.At(x+half, float64(*p.High)+stands))
		}
		f.Line("med", chart.At(x-half, p.Expected), chart.At(x+half, p.Expected))
		if p.Actual == nil {
			continue
		}
		dot := "used"
		if p.Low != nil && !p.Held() {
			dot = "fa"
		}
		f.Dot(dot, chart.At(x, float64(*p.Actual)), 4)
	}
	f.AxisX("", ticks...)
	f.Desc = fmt.Sprintf("The range held in %d of %d.", h.Held, h.Compared)
}
