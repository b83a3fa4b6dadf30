package bedstream

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/wait"
)

const (
	onClock        = 5 * time.Minute  // interval of scheduled publications, aligned to the clock
	lookShare      = 50               // comparing takes at most one part in so many of the time
	moved          = 0.5              // beds by which a mean must differ to be published
	publishTimeout = 10 * time.Second // bounds an attempt to write the forecasts
)

// Publish publishes forecasts until ctx ends: every five minutes on the clock, and when a mean has moved by half a bed.
// Scorers publish equal forecasts under equal keys. The error says that the KafkaTopic is missing or cannot be written.
func (d *Demand) Publish(ctx context.Context) error {
	if err := d.known(ctx, d.Begun); err != nil {
		return ended(ctx, err)
	}
	p := &publisher{Demand: d, means: map[string]float64{}}
	if err := p.replay(ctx); err != nil {
		return ended(ctx, err)
	}
	for {
		began := time.Now()
		if err := p.step(ctx); err != nil {
			return ended(ctx, err)
		}
		if !wait.For(ctx, max(d.lookEvery, lookShare*time.Since(began))) {
			return nil
		}
	}
}

func ended(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// publisher knows the contents of the KafkaTopic.
type publisher struct {
	*Demand
	means map[string]float64 // last published, by key of this site with a value; NaN if this process did not publish it
	clock time.Time          // of the last forecasts on the clock
	ahead int                // patients whose notes say that they arrive later, when the log last had it
}

// replay reads which keys of this site have a value.
func (p *publisher) replay(ctx context.Context) error {
	site := p.site()
	_, err := p.Client.Replay(ctx, ingest.Replay{Topic: p.Output, Logger: p.log}, func(r *ingest.Record) error {
		var b msg.BedDemand
		switch {
		case len(r.Value) == 0:
			delete(p.means, string(r.Key))
		case msg.DecodeBedDemand(r.Value, &b) == nil && b.Site == site:
			p.means[string(r.Key)] = math.NaN()
		}
		return nil
	})
	return err
}

func (p *publisher) step(ctx context.Context) error {
	now := p.moment()
	clock := now.Truncate(onClock)
	due := clock.After(p.clock) || p.clock.After(p.Now()) // the clock was set back
	if due {
		now = clock
	}
	all, moment, err := p.all(now)
	if err != nil {
		return err
	}
	p.metrics.show(moment)
	if moment.Ahead > p.ahead {
		p.log.Warn("patients are not counted whose notes say that they arrive later than now: are the clock and the time "+
			"zone of what sends them right?", "patients", moment.Ahead)
	}
	p.ahead = moment.Ahead
	if !due && !p.moved(all) {
		return nil
	}
	if err := p.write(ctx, all); err != nil {
		return err
	}
	if due {
		p.clock = clock
	}
	return nil
}

// all returns the messages of all horizons.
func (p *publisher) all(at time.Time) ([]msg.BedDemand, *beds.Moment, error) {
	p.forecasting.Lock()
	defer p.forecasting.Unlock()
	moment, f := p.look(at)
	var all []msg.BedDemand
	for _, horizon := range beds.Horizons() {
		forecasts, err := f.Forecast(moment, beds.Options{Horizon: horizon})
		if err != nil {
			return nil, nil, fmt.Errorf("forecasting beds: %w", err)
		}
		for i := range forecasts {
			e := p.envelope(f, &forecasts[i])
			all = append(all, forecasts[i].Message(&e))
		}
	}
	return all, moment, nil
}

// moved reports whether a mean is new or has moved since it was published.
func (p *publisher) moved(all []msg.BedDemand) bool {
	return slices.ContainsFunc(all, func(b msg.BedDemand) bool {
		before, known := p.means[key(&b)]
		return !known || !(math.Abs(b.Total.Mean-before) < moved)
	})
}

func key(b *msg.BedDemand) string {
	return string(msg.AppendBedDemandKey(nil, b.Site, b.Ward, b.HorizonHours))
}

// write publishes forecasts, and erases those of wards that are gone.
func (p *publisher) write(ctx context.Context, all []msg.BedDemand) error {
	means := map[string]float64{}
	var messages []*ingest.Output
	for i := range all {
		b := &all[i]
		k := key(b)
		means[k] = b.Total.Mean
		out := &ingest.Output{Key: []byte(k), Value: b.AppendJSON(nil)}
		out.AddEvent(msg.AppendEventID(nil, out.Value, k, b.BedsVersion), p.Source, msg.TypeBedDemand, b.AsOf)
		messages = append(messages, out)
	}
	for k := range p.means {
		if _, there := means[k]; !there {
			messages = append(messages, &ingest.Output{Key: []byte(k)})
		}
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	if err := ingest.NewProducer(p.Client, p.log).Produce(ctx, p.Output, messages); err != nil {
		return err
	}
	p.metrics.published.Add(float64(len(all)))
	p.means = means
	return nil
}
