package bedstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/internal/service/httpapi"
)

var _ httpapi.BedDemand = (*Demand)(nil)

const (
	patience = 10 * time.Second // how long a request waits, after a start, until the past has been read
	farthest = 72 * time.Hour   // how far ahead a window may end
)

// errUnread is returned while the past is being read.
var errUnread = errors.New("the predictions and outcomes of the last weeks are still being read")

// Forecasts implements httpapi.BedDemand. A future time is forecast from the latest known state.
func (d *Demand) Forecasts(ctx context.Context, q *httpapi.DemandQuery) ([]httpapi.Forecast, error) {
	if err := d.patiently(ctx); err != nil {
		return nil, err
	}
	at, o := d.moment(), beds.Options{Horizon: q.Window, WithoutWaiting: !q.Waiting, WithoutComing: !q.Coming}
	switch {
	case q.At.IsZero():
	case q.At.After(at): // also one between the latest known state and now
		if o.Lead = q.At.Sub(at); o.Lead > farthest-o.Horizon {
			return nil, &httpapi.QueryError{Field: "at", Detail: fmt.Sprintf(
				"the window ends more than %.0f hours from now", farthest.Hours())}
		}
	case d.Now().Sub(q.At) > answerable:
		return nil, &httpapi.QueryError{Field: "at", Detail: fmt.Sprintf("the moment is more than %.0f days ago",
			answerable.Hours()/24)}
	default:
		at = q.At.UTC()
	}
	made, err := d.cached(ctx, at, o)
	if err != nil {
		return nil, err
	}
	return d.answer(made, q)
}

// patiently waits for a request until the past has been read.
func (d *Demand) patiently(ctx context.Context) error {
	if err := d.begun(); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeoutCause(ctx, patience, errUnread)
	defer cancel()
	if d.known(waiting) != nil {
		return context.Cause(waiting)
	}
	return nil
}

// made are the forecasts of a moment.
type made struct {
	*fitted
	beds.Options
	forecasts []beds.Forecast
}

// cache keeps the forecasts of one second, so that each is made once for all callers.
type cache struct {
	second time.Time
	made   map[asked]*made
}

type asked struct {
	at time.Time
	beds.Options
}

// cached returns the forecasts for a time, up to a second old.
func (d *Demand) cached(ctx context.Context, at time.Time, o beds.Options) (*made, error) {
	d.forecasting.Lock()
	defer d.forecasting.Unlock()
	if ctx.Err() != nil {
		return nil, ctx.Err() // the caller is gone
	}
	if second := d.Now().Truncate(time.Second); d.cache.made == nil || !second.Equal(d.cache.second) {
		d.cache = cache{second, map[asked]*made{}}
	}
	key := asked{at, o}
	if m := d.cache.made[key]; m != nil {
		return m, nil
	}
	moment, f := d.look(at)
	forecasts, err := f.Forecast(moment, o)
	if err != nil {
		return nil, err
	}
	m := &made{f, o, forecasts}
	d.cache.made[key] = m
	return m, nil
}

// look returns the state known at a time, and the fit for it.
func (d *Demand) look(at time.Time) (*beds.Moment, *fitted) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.fits.at(at, d.pool)
	return d.pool.Moment(at, f.Fit()), f
}

const noForecasts = "there are no forecasts for this ward"

// answer returns the forecasts that a query asks for.
func (d *Demand) answer(m *made, q *httpapi.DemandQuery) ([]httpapi.Forecast, error) {
	if q.Ward != "" && !m.knows(q.Ward) {
		return nil, &httpapi.QueryError{Field: "ward", Detail: noForecasts}
	}
	for ward := range q.Beds {
		if !m.knows(ward) {
			return nil, &httpapi.QueryError{Field: "beds", Detail: "beds names a ward without forecasts"}
		}
	}
	component := map[[2]bool]string{{true, true}: "total", {true, false}: "waiting", {false, true}: "coming"}[[2]bool{
		q.Waiting, q.Coming,
	}]
	at, now := m.forecasts[0].At, d.moment()
	over, admitted := !at.Add(q.Window).After(now), []beds.Visit(nil)
	if over { // only then, as it looks at all visits
		var since time.Time
		admitted, since = d.came(now)
		over = !at.Before(since)
	}
	var answers []httpapi.Forecast
	for i := range m.forecasts {
		f := &m.forecasts[i]
		if q.Ward != "" && f.Ward != q.Ward {
			continue
		}
		e := d.envelope(m.fitted, f)
		if n, asked := q.Beds[f.Ward]; asked {
			e.Beds = []int{n}
		}
		if component != "total" {
			e.Calibration = beds.Calibration{} // it applies to the total
		}
		b := f.Message(&e)
		answer := httpapi.Forecast{BedDemand: &b, Component: component}
		if over {
			n := beds.Observe(admitted, f.Ward, at, q.Window).Total(m.Options)
			answer.Came = &n
		}
		answers = append(answers, answer)
	}
	return answers, nil
}

// AllSites is the site of messages if none is configured.
const AllSites = "_all"

func (d *Demand) site() string { return cmp.Or(d.Site, AllSites) }

// envelope returns the parts of a message besides the forecast.
func (d *Demand) envelope(f *fitted, c *beds.Forecast) beds.Envelope {
	e := beds.Envelope{Site: d.site(), BedsVersion: f.version, Calibration: f.Fit().Calibration(c.Ward, c.Horizon)}
	if n, known := d.Beds[c.Ward]; known {
		e.Beds = []int{n}
	}
	return e
}
