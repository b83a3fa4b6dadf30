package beds

import (
	"slices"
	"time"

	forecast "github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/web/frame"
)

// Clock is the wall clock of a site.
type Clock struct {
	Zone   *time.Location
	Shifts []string // when shifts change, such as 07:00
}

const (
	clockLayout = "15:04"
	usualHours  = 8 // how far ahead the usual window reaches, from the full hour
)

// until returns when a window ends that begins at a time: at the next of a time of the clock, or at the usual one.
func (c *Clock) until(from time.Time, by string) time.Time {
	local := from.In(c.Zone)
	at, err := time.Parse(clockLayout, by)
	if err != nil { // the usual one
		return c.hour(from).Add(usualHours * time.Hour)
	}
	day := local.Day()
	for {
		end := time.Date(local.Year(), local.Month(), day, at.Hour(), at.Minute(), 0, 0, c.Zone)
		if end.Sub(from) >= httpapi.MinWindow {
			return end
		}
		day++
	}
}

// hour returns the full hour of the clock before a time, or then.
func (c *Clock) hour(t time.Time) time.Time {
	local := t.In(c.Zone) // of two equal hours, when the clock is set back, time.Date would take either
	return local.Add(-time.Duration(local.Minute())*time.Minute - time.Duration(local.Second())*time.Second -
		time.Duration(local.Nanosecond()))
}

// ends fills in the ends of windows that can be chosen: round hours, and the next change of shift.
func (page *view) ends() {
	hour := page.site.hour(page.asOf)
	var ends []time.Time
	for _, hours := range []int{2, 4, usualHours, 24} {
		ends = append(ends, hour.Add(time.Duration(hours)*time.Hour))
	}
	shift := time.Time{}
	for _, clock := range page.site.Shifts {
		if at := page.site.until(page.asOf, clock); shift.IsZero() || at.Before(shift) {
			shift = at
		}
	}
	if !shift.IsZero() {
		ends = append(ends, shift)
	}
	slices.SortFunc(ends, time.Time.Compare)
	chosen := page.asOf.Add(page.Window).Round(time.Minute)
	for _, end := range slices.CompactFunc(ends, time.Time.Equal) {
		by, label := end.Format(clockLayout), page.by(end.Sub(page.asOf))
		if end.Equal(shift) {
			label += ", shift"
		}
		if page.At.IsZero() && end.Equal(page.site.until(page.asOf, "")) {
			by = "" // the usual one
		}
		page.Windows = append(page.Windows, frame.Choice{
			Name: page.LinkTo("by", by, "window", ""), Label: label, Current: end.Equal(chosen),
		})
	}
}

// spans fills in the windows of the form.
func (page *view) spans() {
	page.Spans = []frame.Choice{{Label: "to that time", Current: page.Ahead == 0}}
	spans := lists.Map([]int{1, 2, 4, 6, 8, 12, 16, 24, 48},
		func(hours int) time.Duration { return time.Duration(hours) * time.Hour })
	if page.Ahead != 0 {
		spans = append(spans, page.Ahead)
	}
	slices.Sort(spans)
	for _, d := range slices.Compact(spans) {
		label := spelled(d) + " (by " + page.by(d) + ")"
		page.Spans = append(page.Spans, frame.Choice{Name: httpapi.Span(d), Label: label, Current: d == page.Ahead})
	}
}

// judged returns the window whose forecasts of the last days are shown beside one: the nearest that is published.
func judged(window time.Duration) time.Duration {
	return slices.MinFunc(forecast.Horizons(), func(a, b time.Duration) int {
		return int((a - window).Abs() - (b - window).Abs())
	})
}
