package bedstream

import (
	"context"
	"slices"
	"time"

	"github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/httpapi"
)

const (
	historyStep = 6 * time.Hour // between the points of a history
	// mostSaid bounds the forecasts of the past that are kept, by moment and window.
	mostSaid = 1024
)

// said keeps what was forecast at moments of the past, which only another fit or an erased visit changes.
type said struct {
	by     *fitted // of the store, nil without one
	erased int     // visits by then
	points map[asked][]httpapi.HistoryPoint
}

// History implements httpapi.BedDemand. It begins when notes and outcomes do, if that is later. Its points stand at
// midnight, 6, 12 and 18 h of the site's clock, but for an hour's shift on the days before the clock was changed.
func (d *Demand) History(ctx context.Context, q *httpapi.HistoryQuery) (*httpapi.DemandHistory, error) {
	if err := d.patiently(ctx); err != nil {
		return nil, err
	}
	now := d.moment()
	admitted, since := d.came(now)
	if err := d.knownWard(now, q.Ward); err != nil {
		return nil, err
	}
	year, month, day := now.In(d.fits.zone).Date()
	first := slices.MaxFunc([]time.Time{now.AddDate(0, 0, -q.Days), since}, time.Time.Compare)
	at := time.Date(year, month, day, 0, 0, 0, 0, d.fits.zone).UTC().AddDate(0, 0, -q.Days)
	h := &httpapi.DemandHistory{Points: []httpapi.HistoryPoint{}}
	for ; !at.After(now); at = at.Add(historyStep) {
		if at.Before(first) {
			continue
		}
		all, err := d.said(ctx, at, q.Window)
		if err != nil {
			return nil, err
		}
		for _, p := range all {
			if q.Ward != "" && p.Ward != q.Ward {
				continue
			}
			if !at.Add(q.Window).After(now) {
				n := beds.Observe(admitted, p.Ward, at, q.Window).Total(beds.Options{})
				p.Actual = &n
			}
			h.Add(p)
		}
	}
	return h, nil
}

// knownWard returns the error of a query that names a ward without forecasts.
func (d *Demand) knownWard(now time.Time, ward string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if ward != "" && !d.fits.at(now, d.pool).knows(ward) {
		return &httpapi.QueryError{Field: "ward", Detail: noForecasts}
	}
	return nil
}

// said returns the points of all wards for a moment of the past, without what came.
func (d *Demand) said(ctx context.Context, at time.Time, window time.Duration) ([]httpapi.HistoryPoint, error) {
	d.forecasting.Lock()
	defer d.forecasting.Unlock()
	if ctx.Err() != nil {
		return nil, ctx.Err() // the caller is gone
	}
	d.mu.Lock()
	stored, erased := d.fits.stored, d.erased
	d.mu.Unlock()
	if p := &d.past; p.points == nil || p.by != stored || p.erased != erased || len(p.points) == mostSaid {
		*p = said{stored, erased, map[asked][]httpapi.HistoryPoint{}}
	}
	key := asked{at, beds.Options{Horizon: window}}
	if points := d.past.points[key]; points != nil {
		return points, nil
	}
	moment, f := d.look(at)
	forecasts, err := f.Forecast(moment, key.Options)
	if err != nil {
		return nil, err
	}
	points := make([]httpapi.HistoryPoint, len(forecasts))
	for i := range forecasts {
		b := forecasts[i].Message(&beds.Envelope{})
		points[i] = newPoint(at, window, &b, f.version != GenericVersion)
	}
	d.past.points[key] = points
	return points, nil
}

// newPoint returns what is kept of a forecast, without its distribution. A generic fit, which does not expect those to
// come, has no range.
func newPoint(at time.Time, window time.Duration, b *msg.BedDemand, ranged bool) httpapi.HistoryPoint {
	p := httpapi.HistoryPoint{At: at, Ward: b.Ward, Window: httpapi.Span(window), Expected: b.Total.Mean}
	if ranged {
		low, high := b.Total.Interval80[0], b.Total.Interval80[1] // pointers into b would keep all of it
		p.Low, p.High = &low, &high
	}
	return p
}

// came returns the admissions of the days that may be asked for, as they are known now, and since when they are known.
func (d *Demand) came(now time.Time) (admitted []beds.Visit, since time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pool.Admitted(now, now.Add(-answerable), now), d.pool.Since(now)
}
