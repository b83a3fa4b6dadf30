package app

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/internal/meter"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/models"
)

const (
	// shadowQueue notes wait at most, and are scored every shadowTick: a challenger scores at most 1,280 notes a
	// second, with a few hundredths of a processor.
	shadowQueue   = 128
	shadowTick    = 100 * time.Millisecond
	shadowBytes   = 8 << 20         // bounds the notes that wait
	shadowTimeout = 5 * time.Second // how long writing shadow predictions may take before they are dropped
)

// shadow has a challenger score the champion's notes, for comparison. The champion never waits for it: notes that find
// the queue full, or cannot be scored or written, are counted as dropped.
type shadow struct {
	which    string // config.Shadow.Generation
	topic    string
	triage   *triage
	producer *ingest.Producer
	timeout  time.Duration // of writing
	log      *slog.Logger

	queue     chan ingest.Record      // copies
	held      atomic.Int64            // bytes in the queue
	handler   atomic.Pointer[Handler] // nil without a challenger
	set       *scoring.Set            // of the handler
	unknown   string                  // why there is no challenger, as logged
	unwritten string                  // why the last predictions were not written, as logged, or ""

	scored  prometheus.Counter
	dropped *prometheus.CounterVec
	info    *prometheus.GaugeVec
}

// Values of the label reason.
const (
	shadowBacklog   = "backlog"
	shadowFailed    = "failed"
	shadowUnwritten = "unwritten"
)

func newShadow(o *Options, t *triage) *shadow {
	in := meter.New(o.Registry, "wardcast_shadow_")
	s := &shadow{
		which:   o.Config.Shadow.Generation,
		topic:   o.Config.Kafka.Topics.Shadow,
		triage:  t,
		timeout: cmp.Or(o.shadowTimeout, shadowTimeout),
		log:     o.Logger.With("component", "shadow"),
		queue:   make(chan ingest.Record, shadowQueue),
		scored:  in.Counter("predictions_total", "Predictions of the challenger that were written."),
		dropped: in.Counters("dropped_total",
			"Notes that the challenger did not score, or whose shadow prediction was not written.", "reason"),
		info: in.Gauges("info", "Constant 1 for the challenger that scores in the shadow.", "generation"),
	}
	for _, reason := range []string{shadowBacklog, shadowFailed, shadowUnwritten} {
		s.dropped.WithLabelValues(reason)
	}
	return s
}

// offer copies a note for the challenger. It never waits.
func (s *shadow) offer(r *ingest.Record) {
	if s.handler.Load() == nil {
		return
	}
	size := int64(len(r.Key) + len(r.Value))
	if len(s.queue) < cap(s.queue) && s.held.Load()+size <= shadowBytes { // saves a copy; another worker may be faster
		s.held.Add(size)
		select {
		case s.queue <- ingest.Record{
			Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value), Time: r.Time,
			Partition: r.Partition, Offset: r.Offset,
		}:
			return
		default:
			s.held.Add(-size)
		}
	}
	s.dropped.WithLabelValues(shadowBacklog).Inc()
}

// run scores the queued notes, and looks for another challenger every poll, until ctx ends.
func (s *shadow) run(ctx context.Context, poll time.Duration) error {
	next := time.Time{}
	tick := time.Tick(shadowTick)
	for {
		if time.Now().After(next) {
			pause := poll
			if !s.renew(ctx) {
				pause = max(poll, maxPause)
			}
			next = time.Now().Add(pause)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
			s.score(ctx)
		}
	}
}

// renew adopts the store's current challenger, or none. If it is unreadable, renew returns false and keeps the old one.
func (s *shadow) renew(ctx context.Context) bool {
	served := s.triage.set()
	set, err := loadChallenger(ctx, s.triage.store, s.which, s.set, served)
	switch {
	case err != nil:
		if why := err.Error(); ctx.Err() == nil && why != s.unknown {
			s.unknown = why
			s.log.Error("the challenger cannot be read", "generation", s.which, "err", err)
		}
		return false
	case set != nil && set.Generation == served.Generation: // it is the champion
		set = nil
	}
	if s.unknown = ""; set == s.set {
		return true
	}
	s.set = set
	s.info.Reset()
	if set == nil {
		s.handler.Store(nil)
		s.log.Info("no challenger scores in the shadow")
		return true
	}
	s.handler.Store(NewHandler(set, s.triage.options, s.triage.source+"/shadow"))
	s.info.WithLabelValues(set.Generation).Set(1)
	s.log.Info("a challenger scores in the shadow", "generation", set.Generation, "kafka_topic", s.topic)
	return true
}

// loadChallenger reads the named generation, nil if there is none yet. It reuses versions of running and served.
func loadChallenger(ctx context.Context, store *models.Store, which string,
	running, served *scoring.Set,
) (*scoring.Set, error) {
	var g *models.Generation
	var err error
	if which == config.LatestChallenger {
		g, err = store.Challenger(ctx)
		if _, damaged := errors.AsType[*models.FileError](err); errors.Is(err, models.ErrNotFound) && !damaged {
			return nil, nil
		}
	} else {
		g, err = store.Generation(ctx, which)
	}
	if err != nil {
		return nil, err
	}
	if running != nil && running.Generation == g.Name {
		return running, nil
	}
	if err := store.Trusted(ctx, g); err != nil {
		return nil, err
	}
	return scoring.LoadGeneration(ctx, store, g, served)
}

// score scores the queued notes and writes the predictions.
func (s *shadow) score(ctx context.Context) {
	n := len(s.queue)
	handler := s.handler.Load()
	if n == 0 {
		return
	}
	var answers []*ingest.Output
	var worker ingest.Worker
	for range n {
		r := <-s.queue
		s.held.Add(-int64(len(r.Key) + len(r.Value)))
		if handler == nil {
			continue // the challenger has gone
		}
		if worker == nil {
			worker = handler.NewWorker()
		}
		out := &ingest.Output{}
		if err := guarded(func() error { return worker.Handle(&r, out) }); err != nil {
			s.dropped.WithLabelValues(shadowFailed).Inc()
			worker = nil // a panic may have left it half-written
			continue
		}
		answers = append(answers, out)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	if err := s.producer.Produce(ctx, s.topic, answers); err != nil {
		s.dropped.WithLabelValues(shadowUnwritten).Add(float64(len(answers)))
		if why := err.Error(); why != s.unwritten {
			s.unwritten = why
			s.log.Warn("predictions of the challenger are not written", "err", err)
		}
		return
	}
	s.unwritten = ""
	s.scored.Add(float64(len(answers)))
}
