package bedstream

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/internal/meter"
)

// fits are what forecasts are made from: the newest fit in the store; without any, what the messages of the last weeks
// tell; and until there are enough of those, times as they commonly are.
type fits struct {
	zone     *time.Location
	holidays []string
	stored   *fitted
	generic  *fitted
	own      *fitted // of the midnight ownAt; nil if there was too little
	ownAt    time.Time
	damaged  string // newest fit of the store that cannot be used, "" if the newest is in use
}

// fitted is a forecaster with the name of its fit.
type fitted struct {
	*beds.Forecaster
	version string
}

// GenericVersion is the beds_version of forecasts that rest on no history. That of the site's own last weeks begins
// with OwnVersion, and goes on with their last day.
const (
	GenericVersion = "generic"
	OwnVersion     = "own-"
)

func newFits(c *Config) (fits, error) {
	f := fits{holidays: c.Holidays}
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

// What a site's own last weeks must hold before forecasts rest on them.
const (
	leastOwnDays    = 14
	leastOwnDecided = 200
)

// settled is how long before midnight the site's own weeks end: all that was known then has surely been read when they
// are asked for.
const settled = 5 * time.Minute

// at returns the fit for a moment. What the site's own weeks tell is that of the midnight before, so that it does not
// depend on when it is asked for.
func (f *fits) at(t time.Time, pool *beds.Pool) *fitted {
	if f.stored != nil {
		return f.stored
	}
	year, month, day := t.In(f.zone).Date()
	midnight := time.Date(year, month, day, 0, 0, 0, 0, f.zone).UTC()
	if !midnight.Equal(f.ownAt) {
		f.own, f.ownAt = f.learn(midnight.Add(-settled), pool), midnight
	}
	if f.own != nil {
		return f.own
	}
	return f.generic
}

// learn returns the fit of the weeks before a time, nil if that is too little.
func (f *fits) learn(end time.Time, pool *beds.Pool) *fitted {
	m := pool.Moment(end, f.generic.Fit())
	decided := 0
	for i := range m.Past {
		if !m.Past[i].Decided.IsZero() {
			decided++
		}
	}
	if end.Sub(m.Since) < leastOwnDays*24*time.Hour || decided < leastOwnDecided {
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

// fitPoll is how often the store is looked into for a newer fit.
const fitPoll = time.Minute

// Learn takes up the newest fit of the store, and looks for a newer one every minute until ctx ends. One that is
// damaged is logged once, and the next older one is used. It also forgets the visits that no moment asks for any more.
func (d *Demand) Learn(ctx context.Context) error {
	logged := map[string]bool{}
	tick := time.Tick(fitPoll)
	for {
		d.renew(ctx, logged)
		d.lookedOnce.Do(func() { close(d.looked) })
		d.forget()
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		}
	}
}

// forget drops the visits that no moment asks for any more, nor the fit of the midnight before.
func (d *Demand) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pool.Forget(d.Now().Add(-answerable - 2*24*time.Hour))
	d.metrics.visits.Set(float64(d.pool.Len()))
}

// renew takes up the newest fit that can be read, unless it is in use. logged are the versions whose damage is logged,
// "" while the store cannot be listed.
func (d *Demand) renew(ctx context.Context, logged map[string]bool) {
	warn := func(version string, err error) {
		if ctx.Err() == nil && !logged[version] {
			logged[version] = true
			d.log.WarnContext(ctx, "a fit of beds cannot be used", "beds_version", version, "err", err)
		}
	}
	versions, err := d.Store.BedsVersions(ctx)
	if err != nil {
		warn("", err)
		return
	}
	delete(logged, "")
	d.mu.Lock()
	inUse := ""
	if d.fits.stored != nil {
		inUse = d.fits.stored.version
	}
	d.mu.Unlock()
	var newer *fitted
	damaged := ""
	for i := len(versions) - 1; i >= 0 && versions[i] != inUse && newer == nil; i-- {
		if newer, err = d.load(ctx, versions[i]); err != nil {
			warn(versions[i], err)
			damaged = cmp.Or(damaged, versions[i])
		}
	}
	if ctx.Err() != nil {
		return
	}
	d.use(newer, damaged)
	if newer != nil {
		d.log.InfoContext(ctx, "a fit of beds is in use", "beds_version", newer.version, "wards", len(newer.Wards()),
			"visits", newer.Fit().Visits)
	}
}

// use takes up a fit, unless it is nil, and remembers which newer one is damaged.
func (d *Demand) use(newer *fitted, damaged string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if newer != nil {
		d.fits.stored = newer
	}
	d.fits.damaged = damaged
	d.metrics.damaged.Set(meter.Bool(damaged != ""))
}

// Remark says, for people, that the newest fit of the store cannot be used and what forecasts rest on instead; "" if
// all is well.
func (d *Demand) Remark() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := &d.fits
	instead := "no history"
	switch {
	case f.damaged == "":
		return ""
	case f.stored != nil:
		instead = "the older " + f.stored.version
	case f.own != nil:
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
	if err := json.Unmarshal(data, &fit); err != nil {
		return nil, fmt.Errorf("reading a fit: %w", err)
	}
	f, err := beds.New(&fit)
	if err != nil {
		return nil, err
	}
	return &fitted{f, version}, nil
}
