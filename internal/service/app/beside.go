package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/internal/service/bedstream"
	"github.com/wardcast/wardcast/internal/service/watch"
	"github.com/wardcast/wardcast/internal/wait"
)

// besideRetry is how long a failed task waits before it restarts.
const besideRetry = time.Minute

// task is work alongside the streams: it may fail, lag or stop without any effect on them.
type task struct {
	name    string
	without string // what is missing while the task does not run
	run     func(ctx context.Context) error
}

// runTask runs a task until ctx ends. It logs each new reason for an error or a panic, and restarts the task later.
func runTask(ctx context.Context, log *slog.Logger, t task) {
	before := ""
	for ctx.Err() == nil {
		err := guarded(func() error { return t.run(ctx) })
		if ctx.Err() != nil {
			return
		}
		if err != nil && err.Error() != before {
			before = err.Error()
			level := slog.LevelWarn
			if _, missing := errors.AsType[*ingest.MissingTopicsError](err); missing {
				level = slog.LevelInfo // a site may do without
			}
			log.Log(ctx, level, "not running", "task", t.name, "without", t.without, "err", err)
		}
		_ = wait.For(ctx, besideRetry)
	}
}

// guarded returns the error of f, or one with the type of a panic, whose value may quote a note.
func guarded(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("a panic of type %T", v)
		}
	}()
	return f()
}

// newBeds returns the forecaster of beds and its tasks, which read the predictions of all scorers and the outcomes.
func newBeds(client *ingest.Client, o *Options, t *triage, begun <-chan struct{},
) (*bedstream.Demand, []task, error) {
	b, topics := &o.Config.Beds, &o.Config.Kafka.Topics
	d, err := bedstream.New(bedstream.Config{
		Client: client, Predictions: topics.Predictions, Outcomes: topics.Outcomes,
		Output: topics.BedDemand, Notes: topics.Notes, Store: t.store, Fit: t.beds, Begun: begun,
		Source: o.Config.Scoring.Source, Site: b.Site, Zone: b.TimeZone, Holidays: b.Holidays, Beds: b.Available,
		Label: o.Config.HTTP.LabelField(), ShowNotes: o.ShowNotes,
		Logger: o.Logger, Metrics: o.Registry,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("beds: %w", err)
	}
	return d, []task{
		{name: "patients who wait", without: "the bed demand knows of no patients", run: d.FollowPredictions},
		{
			name: "outcomes for the bed demand", without: "patients count as waiting until they have waited too long",
			run: d.FollowOutcomes,
		},
		{name: "notes of those who wait", without: "the list of those who wait is not shown", run: d.FollowNotes},
		{name: "fit of the bed demand", without: "the bed demand rests on no history", run: d.Learn},
		{name: "bed demand", without: "the bed demand is not published", run: d.Publish},
	}, nil
}

const (
	// labelRate is the most predictions, and outcomes, read per second: labels are hours late, and can wait.
	labelRate = 2000
	// labelInterval is how often the calibration is measured, or less, to take at most a labelShare-th of the time.
	labelInterval = 5 * time.Second
	labelShare    = 100
)

// newLabels returns the tasks that join the predictions of all scorers, of the last days and new ones, with outcomes.
func newLabels(client *ingest.Client, o *Options) ([]task, error) {
	labels := watch.NewLabels(time.Now)
	if err := o.Registry.Register(labels); err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	log := o.Logger.With("component", "labels")
	follow := func(topic string, each func([]byte, time.Time)) func(context.Context) error {
		return func(ctx context.Context) error {
			f := ingest.Follow{Topic: topic, From: time.Now().Add(-watch.Horizon), Rate: labelRate, Logger: log}
			return client.Follow(ctx, f, func(r *ingest.Record) {
				if len(r.Value) > 0 {
					each(r.Value, r.Time)
				}
			})
		}
	}
	measure := func(ctx context.Context) error {
		for {
			began := time.Now()
			labels.Measure()
			least := cmp.Or(o.labelInterval, labelInterval)
			if !wait.For(ctx, max(least, labelShare*time.Since(began))) {
				return nil
			}
		}
	}
	const without = "the calibration is not watched"
	topics := o.Config.Kafka.Topics
	return []task{
		{name: "late labels", without: without, run: follow(topics.Outcomes, labels.Outcome)},
		{name: "predictions to be labelled", without: without, run: follow(topics.Predictions, labels.Prediction)},
		{name: "calibration", without: without, run: measure},
	}, nil
}

// pulseEvery is how often Kafka is asked whether it answers, and how long that may take: pages say within 15 s that it
// does not.
const pulseEvery = 3 * time.Second

// pulse knows whether Kafka answers.
type pulse struct {
	mu       sync.Mutex
	answered time.Time // last, or when asking began
	err      error     // of the last attempt, nil if it answered
}

// run asks until ctx ends.
func (p *pulse) run(ctx context.Context, client *ingest.Client) {
	for p.record(nil); ctx.Err() == nil; {
		asking, cancel := context.WithTimeout(ctx, pulseEvery)
		err := client.Probe(asking)
		cancel()
		p.record(err)
		_ = wait.For(ctx, pulseEvery)
	}
}

func (p *pulse) record(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err = err; err == nil {
		p.answered = time.Now()
	}
}

// away returns why Kafka does not answer, nil if it does, and when it last did.
func (p *pulse) away() (since time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answered, p.err
}
