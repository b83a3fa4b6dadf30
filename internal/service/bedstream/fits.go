package bedstream

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/internal/meter"
	"github.com/wardcast/wardcast/internal/wait"
)

// fits are the sources of forecasts: the fit of the generation in use, else one to the last weeks' messages, else
// typical times.
type fits struct {
	zone     *time.Location
	holidays []string
	stored   *fitted
	generic  *fitted
	own      map[time.Time]*fitted  // to the last weeks, by the midnight before; nil if there was too little
	wards    func() map[string]bool // that a fit to the last weeks may name
	damaged  string                 // fit of the generation in use that cannot be used, "" if it is
}

// fitted is a forecaster with the name of its fit.
type fitted struct {
	*beds.Forecaster
	version string
}

// knows reports whether there are forecasts of a ward.
func (f *fitted) knows(ward string) bool { return ward == beds.All || slices.Contains(f.Wards(), ward) }

// GenericVersion is the beds_version of forecasts without history; OwnVersion and a date, of fits to the last weeks.
const (
	GenericVersion = "generic"
	OwnVersion     = "own-"
)

func newFits(c *Config) (fits, error) {
	f := fits{holidays: c.Holidays, own: map[time.Time]*fitted{}}
	fit, err := beds.Generic(c.Zone)
	if err != nil {
		return f, err
	}
	if f.zone, err = time.LoadLocation(c.Zone); err != nil {
		return f, fmt.Errorf("%w: time zone", beds.ErrArgument)
	}
	generic, err := beds.New(fit)
	f.generic = &fitted{generic, GenericVersion}
	return f, err
}

// settled is how long before midnight the site's last weeks end, so that all of them has been read.
const settled = 5 * time.Minute

// at returns the fit for a time. The fit to the last weeks ends at the midnight before, whenever it is requested.
func (f *fits) at(t time.Time, pool *beds.Pool) *fitted {
	if f.stored != nil {
		return f.stored
	}
	year, month, day := t.In(f.zone).Date()
	midnight := time.Date(year, month, day, 0, 0, 0, 0, f.zone).UTC()
	own, learned := f.own[midnight]
	if !learned {
		if len(f.own) == mostOwn {
			delete(f.own, slices.MinFunc(slices.Collect(maps.Keys(f.own)), time.Time.Compare))
		}
		own = f.learn(midnight.Add(-settled), pool)
		f.own[midnight] = own
	}
	if own != nil {
		return own
	}
	return f.generic
}

// mostOwn is how many fits to the last weeks are kept: one for each day that may be asked for, and one to spare.
const mostOwn = 10

// learn returns the fit of the weeks before a time, nil if there is too little.
func (f *fits) learn(end time.Time, pool *beds.Pool) *fitted {
	m := pool.Moment(end, f.generic.Fit())
	decided, named := 0, f.wards()
	for i := range m.Past {
		if !m.Past[i].Decided.IsZero() {
			decided++
		}
		if !named[m.Past[i].Ward] {
			m.Past[i].Ward = ""
		}
	}
	if end.Sub(m.Since) < beds.LeastDays*24*time.Hour || decided < beds.LeastVisits {
		return nil
	}
	fit, err := beds.FitHistory(
		&beds.History{Visits: m.Past, From: m.Since, AsOf: end, Zone: f.zone.String(), Holidays: f.holidays})
	if err != nil {
		return nil // a pool has probabilities only, and zone and holidays were checked
	}
	forecaster, err := beds.New(fit)
	if err != nil {
		return nil
	}
	return &fitted{forecaster, OwnVersion + end.In(f.zone).Format(time.DateOnly)}
}

// fitPoll is how often the fit of the generation in use is looked up.
const fitPoll = time.Minute

// Learn adopts the fit of the generation in use, and looks it up every minute until ctx ends. It logs a damaged fit
// once and keeps the one before. It also drops visits that are no longer needed.
func (d *Demand) Learn(ctx context.Context) error {
	logged := map[string]bool{}
	for {
		d.renew(ctx, logged)
		d.lookedOnce.Do(func() { close(d.looked) })
		d.forget()
		if !wait.For(ctx, cmp.Or(d.fitEvery, fitPoll)) {
			return nil
		}
	}
}

// forget drops visits that no forecast needs, and dates back what a clock that was ahead said of the others.
func (d *Demand) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pool.Redate(d.Now())
	until := d.predictions.until(d.outcomes.until(d.notes.until(d.Now()))) // so that a clock that was ahead shows
	d.pool.Forget(until.Add(beds.Memory - Remembered))
	d.details.forget(until.Add(-detailed))
	if d.predictions.read() {
		d.details.forgetPeople(d.pool)
	}
	d.metrics.visits.Set(float64(d.pool.Len()))
	if begins := d.pool.Begins(); begins.After(d.begins) {
		d.begins = begins
		d.log.Warn("more visits than can be remembered: forecasts know only those since", "since", begins)
	}
}

// renew adopts the fit of the generation in use, unless it is adopted. logged has the versions logged as damaged.
func (d *Demand) renew(ctx context.Context, logged map[string]bool) {
	var err error
	version := d.Fit()
	d.mu.Lock()
	fit := d.fits.stored
	d.mu.Unlock()
	before := fit
	switch {
	case version == "":
		fit = nil
	case fit == nil || fit.version != version:
		fit, err = d.load(ctx, version)
	}
	if ctx.Err() != nil {
		return
	}
	if err != nil && !logged[version] {
		d.log.WarnContext(ctx, "a fit of beds cannot be used", "beds_version", version, "err", err)
	}
	if err == nil {
		clear(logged)
		version = ""
	} else {
		logged[version], fit = true, before
	}
	d.use(fit, version)
	if fit != nil && fit != before {
		d.log.InfoContext(ctx, "a fit of beds is in use", "beds_version", fit.version, "wards", len(fit.Wards()),
			"visits", fit.Fit().Visits)
	}
}

// use adopts a fit, nil for none, and records the version of the one that is damaged, "" for none.
func (d *Demand) use(fit *fitted, damaged string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fits.stored, d.fits.damaged = fit, damaged
	d.metrics.damaged.Set(meter.Bool(damaged != ""))
}

// Remark says, for people, that the fit cannot be used and what forecasts rest on instead, or "".
func (d *Demand) Remark() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := &d.fits
	instead := "no history"
	switch {
	case f.damaged == "":
		return ""
	case f.stored != nil:
		instead = f.stored.version
	case slices.ContainsFunc(slices.Collect(maps.Values(f.own)), func(own *fitted) bool { return own != nil }):
		instead = "the last weeks alone"
	}
	return fmt.Sprintf("The fit of beds %s is damaged or cannot be read: the bed demand rests on %s.",
		f.damaged, instead)
}

func (d *Demand) load(ctx context.Context, version string) (*fitted, error) {
	data, err := d.Store.LoadBeds(ctx, version)
	if err != nil {
		return nil, err
	}
	var fit beds.Fit
	if err = bundle.CheckValues(data); err == nil {
		err = json.Unmarshal(data, &fit)
	}
	if err != nil {
		return nil, fmt.Errorf("reading a fit: %w", err)
	}
	f, err := beds.New(&fit)
	if err != nil {
		return nil, err
	}
	return &fitted{f, version}, nil
}
