// Package bedstream lists who waits and forecasts beds while notes are scored. It reads the predictions of all scorers
// and the outcomes of their visits, outside any consumer group, keeps a beds.Pool of who waits, publishes the demand of
// each ward on the clock, and answers for any time from a week ago to three days ahead. Of the notes it reads what the
// list says of a patient beyond the prediction.
//
// What it knows is a function of these KafkaTopics: a process that starts reads them again, so that the same moment
// has the same forecast before and after. Nothing here can delay the scoring of notes: it reads at a bounded rate,
// makes one forecast at a time, and keeps a bounded number of visits, each under a hash of its name.
package bedstream

import (
	"cmp"
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
	"github.com/wardcast/wardcast/internal/meter"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/wait"
	"github.com/wardcast/wardcast/models"
)

// Config configures a Demand.
type Config struct {
	Client                        *ingest.Client
	Predictions, Outcomes, Output string        // KafkaTopics
	Notes                         string        // KafkaTopic, of which the list of those who wait tells
	Store                         *models.Store // of the fits
	// Fit returns the version of the fit that belongs to the generation in use, "" for none.
	Fit    func() string
	Begun  <-chan struct{} // closed once a model predicts: before, nobody knows who waits
	Source string          // ce_source
	// Site names the department in messages. Predictions that name another site are skipped.
	Site string
	// Zone and Holidays apply if the store has no fit, as in beds.History.
	Zone     string
	Holidays []string
	Beds     map[string]int // by ward: forecasts report P(more than so many)
	// Label is the field of a note that tells those who wait apart, "" for none. ShowNotes keeps their texts.
	Label     string
	ShowNotes bool
	Logger    *slog.Logger
	Metrics   prometheus.Registerer
	Now       func() time.Time // nil is time.Now

	fitEvery  time.Duration // set by tests; 0 is fitPoll
	lookEvery time.Duration // how often means are compared with the published ones, unless that takes too long
}

const (
	answerable = 7 * 24 * time.Hour // how far back a forecast may be requested
	// Remembered is how far back the KafkaTopics are read: the memory a week ago, for the fit of the midnight before.
	Remembered = beds.Memory + answerable + 2*24*time.Hour
	readRate   = 10_000 // most predictions, outcomes and notes, of each, read per second
)

// Demand tracks waiting patients and forecasts beds. It is safe for concurrent use.
type Demand struct {
	Config
	metrics *metrics
	log     *slog.Logger

	predictions, outcomes reading
	notes                 reading
	looked                chan struct{} // closed when the store has been looked into for a fit
	lookedOnce            sync.Once

	mu      sync.Mutex // of the pool
	pool    *beds.Pool
	details details
	models  map[string]string // names of models, each kept once
	erased  int               // visits
	begins  time.Time         // of the pool, as it was last logged
	fits    fits
	left    *loglimit.Limiter // log lines about messages left out, by reason

	forecasting sync.Mutex // one forecast at a time
	cache       cache
	past        said

	listing listing
}

// New returns a Demand that has read nothing. The error wraps beds.ErrArgument if the zone is unknown.
func New(c Config) (*Demand, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Begun == nil {
		begun := make(chan struct{})
		close(begun)
		c.Begun = begun
	}
	c.lookEvery = cmp.Or(c.lookEvery, 10*time.Second)
	f, err := newFits(&c)
	if err != nil {
		return nil, err
	}
	d := &Demand{
		Config: c, fits: f, metrics: newMetrics(c.Metrics), log: c.Logger.With("component", "beds"),
		pool: beds.NewPool(), details: newDetails(&c), models: map[string]string{},
		looked: make(chan struct{}), left: loglimit.New(logEvery),
	}
	d.fits.wards = d.wards
	for _, r := range []*reading{&d.predictions, &d.outcomes, &d.notes} {
		r.done = make(chan struct{})
	}
	if c.Metrics != nil {
		c.Metrics.MustRegister(meter.New(nil, "wardcast_beds_").Readings(d.present,
			[]string{"patients_waiting", "Patients who wait for a decision."},
			[]string{"ahead_patients", "Patients who are not counted, since their notes say that they arrive later " +
				"than now."}))
	}
	return d, nil
}

// reading is the progress in a KafkaTopic.
type reading struct {
	mu      sync.Mutex
	current map[int]time.Time // when each partition's end was last reached
	latest  time.Time         // of these and the beginning
	absent  bool              // the KafkaTopic is missing
	done    chan struct{}     // closed once the initial contents are read
	once    sync.Once
}

// setBack is how far the clock may be set back before the KafkaTopics are read again: those who came while it was ahead
// looked too old to be kept. The details of a visit are kept an hour longer than anybody waits.
const setBack = time.Hour

var errSetBack = errors.New("the clock was set back")

// reached records that a partition is known up to now. It reports false if the clock was set back.
func (r *reading) reached(partition, partitions int, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Before(r.latest.Add(-setBack)) {
		return false
	}
	if now.After(r.latest) {
		r.latest = now
	}
	if r.current == nil {
		r.current = map[int]time.Time{}
	}
	r.current[partition], r.absent = now, false
	if len(r.current) >= partitions {
		r.once.Do(func() { close(r.done) })
	}
	return true
}

func (r *reading) missing() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.absent = true
	r.once.Do(func() { close(r.done) })
}

// read reports whether the initial contents are read.
func (r *reading) read() bool { return wait.Over(r.done) }

// until returns the time up to which all is known, or t if that is earlier or the KafkaTopic is missing.
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

// FollowPredictions reads predictions until ctx ends, with the errors of ingest.Client.Follow.
func (d *Demand) FollowPredictions(ctx context.Context) error {
	var a msg.Arrival
	return d.follow(ctx, &d.predictions, d.Predictions, func(r *ingest.Record) string { return d.prediction(r, &a) })
}

// FollowOutcomes does the same with outcomes. Without the KafkaTopic, patients leave after the patience of the fit.
func (d *Demand) FollowOutcomes(ctx context.Context) error {
	var o msg.Outcome
	return d.follow(ctx, &d.outcomes, d.Outcomes, func(r *ingest.Record) string { return d.outcome(r, &o) })
}

func (d *Demand) follow(ctx context.Context, how *reading, topic string, each func(*ingest.Record) string,
) error {
	defer d.left.Flush()
	for {
		reading, stop := context.WithCancelCause(ctx)
		now := d.Now()
		how.mu.Lock()
		how.latest = now
		how.mu.Unlock()
		f := ingest.Follow{
			Topic: topic, From: now.Add(-Remembered), Rate: readRate, Logger: d.log,
			Current: func(partition, partitions int) {
				if !how.reached(partition, partitions, d.Now()) {
					stop(errSetBack)
				}
			},
		}
		err := d.Client.Follow(reading, f, func(r *ingest.Record) {
			if why := each(r); why != "" {
				d.skip(why, topic, r)
			}
		})
		stop(nil)
		if errors.Is(context.Cause(reading), errSetBack) {
			d.log.Warn("the clock was set back: reading again who waits", "kafka_topic", topic)
			continue
		}
		if _, missing := errors.AsType[*ingest.MissingTopicsError](err); missing {
			how.missing()
		}
		return err
	}
}

// begun returns an error until a model predicts.
func (d *Demand) begun() error {
	if wait.Over(d.Begun) {
		return nil
	}
	return httpapi.ErrNoModel
}

// known waits until the past has been read, of which notes tell the patients, and what else is wanted, or returns the
// error of ctx.
func (d *Demand) known(ctx context.Context, more ...<-chan struct{}) error {
	for _, done := range append(more, d.predictions.done, d.outcomes.done, d.notes.done, d.looked) {
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// lagging is how long a KafkaTopic's end may be out of reach before forecasts are dated back to when it was reached.
const lagging = 30 * time.Second

// present counts who waits at the moment when it is asked, since forecasts may be minutes apart. It says nothing until
// the past has been read.
func (d *Demand) present(set meter.Set) {
	if !d.predictions.read() || !d.outcomes.read() || !d.notes.read() {
		return
	}
	at := d.moment()
	d.mu.Lock()
	waiting, ahead := d.pool.Waiting(at, d.fits.at(at, d.pool).Fit())
	d.mu.Unlock()
	set("patients_waiting", float64(len(waiting)))
	set("ahead_patients", float64(ahead))
}

// moment returns the time of a forecast for now: now, to the second, or when all was last known.
func (d *Demand) moment() time.Time {
	now := d.Now().UTC()
	until := d.predictions.until(d.outcomes.until(now))
	if now.Sub(until) > lagging {
		return until.UTC()
	}
	return now.Truncate(time.Second)
}

// visit returns the key of a visit: a hash of its identifier that is the same in every process.
func visit(id string) string {
	sum := sha256.Sum256([]byte(id))
	return string(sum[:16])
}

// Reasons why a message is left out, besides those of package msg.
const (
	noTime    = "no_time"    // of the record
	otherSite = "other_site" // it names another site
	full      = "full"       // of events of its visit
)

// prediction records a prediction, decoded into a, or returns why it is skipped.
func (d *Demand) prediction(r *ingest.Record, a *msg.Arrival) (why string) {
	if len(r.Value) == 0 {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.pool.Erase(visit(string(r.Key)))
		d.erased++
		d.details.erase(visit(string(r.Key)))
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
	if d.Now().Sub(r.Time) < detailed {
		d.details.predicted(e.VisitID, e.Order, number(r), r.Value)
		d.ahead(e.VisitID)
	}
	return ""
}

// outcome records an outcome, decoded into o, or returns why it is skipped. An erased one withdraws earlier ones.
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

// Bounds of the kept model names: there is a model per complaint, and a version of each per night.
const (
	mostModels = 20_000
	maxModel   = 200 // bytes
	noModel    = "?"
)

// model returns the shared copy of a model's name. The caller holds mu.
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

// logEvery is the minimum interval of log lines for a reason.
const logEvery = time.Minute

// skip counts a skipped message. A line a minute counts those of one reason and names the first.
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

// metrics are described in docs/metrics.md.
type metrics struct {
	timedOut, stale, visits, made, damaged prometheus.Gauge
	published                              prometheus.Counter
	skipped                                *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	in := meter.New(r, "wardcast_beds_")
	return &metrics{
		timedOut: in.Gauge("timed_out_patients",
			"Patients without an outcome who lately left the pool for having waited too long."),
		stale: in.Gauge("outcomes_stale",
			"1 while no outcome came for an hour, so that patients may be counted who have left."),
		visits:    in.Gauge("visits", "Visits that are remembered for forecasts of beds."),
		made:      in.Gauge("forecast_timestamp_seconds", "The moment of the latest forecasts of beds."),
		damaged:   in.Gauge("fit_damaged", "1 while the newest fit of beds in the store cannot be used."),
		published: in.Counter("published_messages_total", "Forecasts of beds published."),
		skipped: in.Counters("skipped_messages_total",
			"Predictions and outcomes left out of forecasts of beds, by reason.", "reason"),
	}
}

func (m *metrics) show(at *beds.Moment) {
	m.timedOut.Set(float64(at.TimedOut))
	m.stale.Set(meter.Bool(at.OutcomesStale))
	m.made.Set(float64(at.At.UnixMilli()) / 1000)
}
