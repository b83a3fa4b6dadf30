package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/deadletter"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/meter"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/wait"
	"github.com/wardcast/wardcast/models"
)

// source answers records by models that can change.
type source interface {
	ingest.Handler
	// renew loads changed models and reports whether there were any, with the errors of unreadable ones.
	renew(ctx context.Context) (changed bool, errs []error)
	// models lists the models in use.
	models() []inUse
	// generation names the generation in use, "" if there are none.
	generation() string
}

type inUse struct {
	msg.Model
	created time.Time
}

// stream is a KafkaTopic whose records are answered: triage notes, or responses to questionnaires.
type stream struct {
	source
	name                              string // value of the label stream
	noun                              string // what one record is
	group, input, output, deadLetters string

	letters  deadletter.Watch
	sent     atomic.Pointer[[]int64] // where the input's partitions ended after dead letters were last sent back
	begun    chan struct{}           // closed once models are in use
	consumer *ingest.Consumer
	metrics  *modelMetrics
	log      *slog.Logger
	refused  atomic.Pointer[error] // why the newest models are not in use, nil if they are
	wake     chan struct{}         // gets a token from hint; holds one
	swapped  chan struct{}         // gets a token when new models are in use; holds one

	renewed   func()                      // called when new models are in use; may be nil
	published func(record, answer []byte) // called with each answer that is written; may be nil
}

// open creates the consumer and the metrics.
func (s *stream) open(o *Options, connection ingest.Connection, tracer trace.Tracer) (err error) {
	s.log, s.wake, s.swapped = o.Logger.With("stream", s.name), make(chan struct{}, 1), make(chan struct{}, 1)
	registry := prometheus.WrapRegistererWith(prometheus.Labels{"stream": s.name}, o.Registry)
	s.metrics = newModelMetrics(registry)
	s.metrics.use(s.models())
	if len(s.models()) > 0 {
		close(s.begun)
	}
	s.consumer, err = ingest.New(ingest.Config{
		Connection: connection, Group: s.group, Input: s.input, Output: s.output, DeadLetters: s.deadLetters,
		Handler: s.source, Logger: s.log, Registerer: registry, SessionTimeout: o.Config.Kafka.SessionTimeout,
		ReadyAfterStall: o.Config.Kafka.ReadyAfterStall, Compression: o.Config.Kafka.Compression,
		Published: s.published, Tracer: tracer,
	})
	if err != nil {
		return fmt.Errorf("configuring the consumer: %w", err)
	}
	return nil
}

// waiting reports whether no model was in use so far.
func (s *stream) waiting() bool { return !wait.Over(s.begun) }

// consume answers records until ctx ends, once there are models to answer them.
func (s *stream) consume(ctx context.Context) error {
	if s.waiting() {
		s.log.WarnContext(ctx, "waiting for a first model")
	}
	select {
	case <-s.begun:
		return s.consumer.Run(ctx)
	case <-ctx.Done():
		return nil
	}
}

// check returns why records are not being read, or nil.
func (s *stream) check() error {
	if s.waiting() {
		return httpapi.ErrNoModel
	}
	return s.consumer.Check()
}

// firstPoll is the longest pause before another look for a first model.
const firstPoll = 5 * time.Second

// maxPause is the longest pause before refused models are read again, which is costly, unless models.poll is longer.
const maxPause = 30 * time.Second

// hint triggers a look for new models. It never waits.
func (s *stream) hint() { signal(s.wake) }

// signal puts a token into a channel that holds one, unless it is full.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// reload loads new models until ctx ends, whenever poll has passed or hint is called. A model that cannot be read may
// be incomplete: it is retried after growing pauses while the old one stays in use, and logged once, at the second
// failure for the same reason.
func (s *stream) reload(ctx context.Context, poll time.Duration) {
	pause := min(poll, firstPoll)
	refused := map[string]int{} // times in a row, by reason
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		case <-s.wake:
		}
		changed, errs := s.renew(ctx)
		if ctx.Err() != nil {
			return
		}
		if changed {
			s.metrics.use(s.models())
			s.log.InfoContext(ctx, "new models in use", s.using()...)
			signal(s.swapped)
			if s.waiting() {
				close(s.begun)
			}
			if s.renewed != nil {
				s.renewed()
			}
		}
		refused = s.refuse(ctx, errs, refused)
		if pause = poll; s.waiting() {
			pause = min(poll, firstPoll)
		}
		if len(errs) > 0 {
			for range refused[errs[0].Error()] {
				pause = max(poll, min(2*pause, maxPause))
			}
		}
	}
}

func (s *stream) using() []any {
	facts := []any{"models", len(s.models())}
	if name := s.generation(); name != "" {
		facts = append(facts, "generation", name)
	}
	return facts
}

// Meanings of refused models.
const (
	remarkRefused  = "new models refused; still using the current ones"
	remarkDisagree = "the store's champion and its history disagree: somebody changed one of them by hand; scoring " +
		"continues with the models in use"
	remarkDamaged = "the models in use are damaged in the store: scoring continues, but a restart would fail"
)

// remarkOn says what an error of renew means.
func remarkOn(err error) string {
	switch {
	case isDamagedInUse(err):
		return remarkDamaged
	case errors.Is(err, models.ErrDisagree):
		return remarkDisagree
	}
	return remarkRefused
}

// isDamagedInUse reports whether the models in use, rather than newer ones, are damaged in the store.
func isDamagedInUse(err error) bool {
	_, ok := errors.AsType[*damagedInUse](err)
	return ok
}

// refuse reports the models refused for these reasons, if any, and counts refusals in a row by reason.
func (s *stream) refuse(ctx context.Context, errs []error, before map[string]int) map[string]int {
	var why *error
	var refused float64
	s.metrics.disagrees.Set(meter.Bool(errors.Is(errors.Join(errs...), models.ErrDisagree)))
	if err := errors.Join(errs...); err != nil {
		why, refused = &err, 1
	}
	s.refused.Store(why)
	s.metrics.refused.Set(refused)
	now := make(map[string]int)
	for _, err := range errs {
		why := err.Error()
		if !isDamagedInUse(err) {
			s.metrics.reloads.WithLabelValues("failed").Inc()
		}
		if now[why] = before[why] + 1; now[why] == 2 {
			s.log.ErrorContext(ctx, remarkOn(err), "err", err) //nolint:sloglint // one of three constants
		}
	}
	return now
}
