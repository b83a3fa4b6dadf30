package bedstream

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/loglimit"
	"github.com/wardcast/wardcast/models"
)

// Config says what is forecast, and of what.
type Config struct {
	Client                        *ingest.Client
	Predictions, Outcomes, Output string        // KafkaTopics
	Store                         *models.Store // has the fits
	Source                        string        // ce_source
	// Site names the department in messages. Predictions that name another site are left out.
	Site string
	// Zone and Holidays are those of the wall clock without a fit in the store, as in beds.History.
	Zone     string
	Holidays []string
	// Beds are by ward: forecasts report P(more than so many).
	Beds    map[string]int
	Logger  *slog.Logger
	Metrics prometheus.Registerer
	Now     func() time.Time // nil is time.Now
}

const (
	// answerable is how far back a moment may be asked for.
	answerable = 7 * 24 * time.Hour
	// remembered is how far back the KafkaTopics are read: what a moment of a week ago knows, and the fit of the
	// midnight before.
	remembered = beds.Memory + answerable + 2*24*time.Hour
	// readRate is how many predictions, and how many outcomes, are read per second at most.
	readRate = 4000
)

// Demand knows who waits and forecasts beds. It is safe for concurrent use.
type Demand struct {
	Config
	metrics *metrics
	log     *slog.Logger

	predictions, outcomes reading
	looked                chan struct{} // closed when the store has been looked into for a fit
	lookedOnce            sync.Once

	mu     sync.Mutex // of the pool
	pool   *beds.Pool
	models map[string]string // names of models, each kept once
	fits   fits
	left   *loglimit.Limiter // log lines about messages left out, by reason

	forecasting sync.Mutex // one forecast at a time
	cache       cache
}

// New returns a Demand that has read nothing. The error wraps beds.ErrArgument if the zone is unknown.
func New(c Config) (*Demand, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	f, err := newFits(&c)
	if err != nil {
		return nil, err
	}
	d := &Demand{
		Config: c, fits: f, metrics: newMetrics(c.Metrics), log: c.Logger.With("component", "beds"),
		pool: beds.NewPool(), models: map[string]string{},
		looked: make(chan struct{}), left: loglimit.New(logEvery),
	}
	d.predictions.done, d.outcomes.done = make(chan struct{}), make(chan struct{})
	return d, nil
}

// reading is how far a KafkaTopic has been read.
type reading struct {
	mu      sync.Mutex
	current map[int]time.Time // when the end of each partition was last reached
	absent  bool              // there is no such KafkaTopic
	done    chan struct{}     // closed when all there was at the beginning is known
	once    sync.Once
}

// reached says that a partition is known up to now.
func (r *reading) reached(partition, partitions int, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil {
		r.current = map[int]time.Time{}
	}
	r.current[partition], r.absent = now, false
	if len(r.current) >= partitions {
		r.once.Do(func() { close(r.done) })
	}
}

func (r *reading) missing() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.absent = true
	r.once.Do(func() { close(r.done) })
}

// until returns the time up to which all is known, or t if that is earlier or there is nothing to know.
func (r *reading) until(t time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.absent {
		return t
	}
	for _, at := range r.current {
		if at.Before(t) {
			t = at
		}
	}
	return t
}

// FollowPredictions reads predictions until ctx ends. Errors as of ingest.Client.Follow.
func (d *Demand) FollowPredictions(ctx context.Context) error {
	var a msg.Arrival
	return d.follow(ctx, &d.predictions, d.Predictions, func(r *ingest.Record) string { return d.prediction(r, &a) })
}

// FollowOutcomes reads outcomes until ctx ends. Errors as of ingest.Client.Follow. Without the KafkaTopic, patients
// leave after the patience of the fit alone.
func (d *Demand) FollowOutcomes(ctx context.Context) error {
	var o msg.Outcome
	return d.follow(ctx, &d.outcomes, d.Outcomes, func(r *ingest.Record) string { return d.outcome(r, &o) })
}

func (d *Demand) follow(ctx context.Context, how *reading, topic string, each func(*ingest.Record) string,
) error {
	f := ingest.Follow{
		Topic: topic, From: d.Now().Add(-remembered), Rate: readRate, Logger: d.log,
		Current: func(partition, partitions int) { how.reached(partition, partitions, d.Now()) },
	}
	err := d.Client.Follow(ctx, f, func(r *ingest.Record) {
		if why := each(r); why != "" {
			d.skip(why, topic, r)
		}
	})
	d.left.Flush()
	if _, missing := errors.AsType[*ingest.MissingTopicsError](err); missing {
		how.missing()
	}
	return err
}

// known waits until the past has been read, or returns the error of ctx.
func (d *Demand) known(ctx context.Context) error {
	for _, done := range []chan struct{}{d.predictions.done, d.outcomes.done, d.looked} {
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// lagging is how long a KafkaTopic may be silent, its end not reached, before forecasts are dated back to when it was.
const lagging = 30 * time.Second

// moment returns the time that a forecast for now is made for: now, to the second, or when all was last known.
func (d *Demand) moment() time.Time {
	now := d.Now().UTC()
	until := d.predictions.until(d.outcomes.until(now))
	if now.Sub(until) > lagging {
		return until.UTC()
	}
	return now.Truncate(time.Second)
}

// visit returns the key of a visit: a hash that does not show its identifier, and is the same in every process.
func visit(id string) string {
	sum := sha256.Sum256([]byte(id))
	return string(sum[:16])
}

// Reasons why a message is left out, besides those of package msg.
const (
	noTime    = "no_time"    // of the record
	otherSite = "other_site" // it names another one than ours
	full      = "full"       // of visits, or of events of its visit
)

// prediction takes a prediction, or returns why it is left out; a is where it is decoded.
func (d *Demand) prediction(r *ingest.Record, a *msg.Arrival) (why string) {
	if len(r.Value) == 0 {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.pool.Erase(visit(string(r.Key)))
		return ""
	}
	if err := msg.DecodeArrival(r.Value, a); err != nil {
		return reason(err)
	}
	switch {
	case r.Time.UnixMilli() <= 0:
		return noTime
	case d.Site != "" && a.Site != "" && a.Site != d.Site:
		return otherSite
	}
	a.VisitID = visit(a.VisitID)
	e := beds.NewScored(a, order(r))
	d.mu.Lock()
	defer d.mu.Unlock()
	if e.Model = d.model(e.Model); !d.pool.Score(e) {
		return full
	}
	return ""
}

// outcome takes an outcome, or returns why it is left out; o is where it is decoded. An erased one withdraws what was
// said before.
func (d *Demand) outcome(r *ingest.Record, o *msg.Outcome) (why string) {
	var e beds.Outcome
	if len(r.Value) == 0 {
		e = beds.Outcome{Order: order(r), VisitID: visit(string(r.Key)), Status: beds.Cancelled}
	} else if err := msg.DecodeOutcome(r.Value, o); err != nil {
		return reason(err)
	} else {
		o.VisitID = visit(o.VisitID)
		e = beds.NewOutcome(o, order(r))
	}
	if r.Time.UnixMilli() <= 0 {
		return noTime
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.pool.Decide(e) {
		return full
	}
	return ""
}

func order(r *ingest.Record) beds.Order { return beds.Order{Seen: r.Time.UTC(), Offset: r.Offset} }

// Bounds of the names of models that are kept. There are as many models as complaints, and a version of each every
// night.
const (
	mostModels = 20_000
	maxModel   = 200 // bytes
	noModel    = "?"
)

// model returns the one copy of a model's name. The caller holds mu.
func (d *Demand) model(name string) string {
	if kept, known := d.models[name]; known {
		return kept
	}
	if len(d.models) == mostModels || len(name) > maxModel {
		return noModel
	}
	d.models[name] = name
	return name
}

// reason returns the code of a message that cannot be decoded.
func reason(err error) string {
	if e, ok := errors.AsType[*msg.Error](err); ok {
		return string(e.Reason)
	}
	return string(msg.NotJSON)
}

// logEvery is how often a reason is logged at most.
const logEvery = time.Minute

// skip counts a message that is left out. Of those of one reason a line a minute names the first.
func (d *Demand) skip(reason, topic string, r *ingest.Record) {
	d.metrics.skipped.WithLabelValues(reason).Inc()
	if reason == otherSite {
		return // as configured
	}
	partition, offset := r.Partition, r.Offset
	d.left.Add(reason, func(n int) {
		d.log.Warn("messages are left out of the bed demand", "messages", n, "reason", reason, "kafka_topic", topic,
			"partition", partition, "offset", offset)
	})
}
