package process

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/deadletter"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/bridge"
	"github.com/wardcast/wardcast/internal/wait"
)

const (
	// maxWaiting and maxWaitingBytes bound what waits for Kafka. Beyond them messages are not taken.
	maxWaiting      = 4096
	maxWaitingBytes = 64 << 20
	// permanentPause is the pause after an error that somebody must fix.
	permanentPause = 5 * time.Second
)

// letter is the dead letter of a message.
type letter struct {
	refusal *bridge.Refusal
	raw     []byte // the message; nil if it is too large to be kept
	digest  string // names both records
}

// entry is what one message adds, in the order of messages.
type entry struct {
	events  []bridge.Event
	letters []*letter
	done    chan struct{} // closed when all in-sync replicas have this and all before
	bytes   int
}

// committer writes what follows from messages, in their order: all that waits in one round, so that acknowledgements of
// many connections share its requests.
type committer struct {
	process *process
	topic   func(bridge.To) string
	source  string
	log     *slog.Logger
	wake    chan struct{}

	mu      sync.Mutex
	waiting []*entry
	bytes   int
	since   time.Time // when the round under way began, zero if there is none
}

func newCommitter(p *process) *committer {
	return &committer{
		process: p, topic: Topics(p.Config), source: "/wardcast/bridge/" + p.config.Site, wake: make(chan struct{}, 1),
		log: p.Logger.With("component", "bridge"),
	}
}

func noEvents() []bridge.Event { return nil }

// locked calls f while nothing is joined.
func (c *committer) locked(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// join calls f, one call at a time, and queues the events that it returns, with dead letters. It returns nil if too
// much waits already: f was not called then.
func (c *committer) join(f func() []bridge.Event, letters ...*letter) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) >= maxWaiting || c.bytes >= maxWaitingBytes {
		return nil
	}
	e := &entry{events: f(), letters: letters, done: make(chan struct{})}
	if len(e.events) == 0 && len(letters) == 0 && len(c.waiting) == 0 && c.since.IsZero() {
		close(e.done) // nothing is left to wait for
		return e
	}
	for _, l := range letters {
		e.bytes += len(l.raw)
	}
	for i := range e.events {
		e.bytes += len(e.events[i].Value)
	}
	c.bytes += e.bytes
	c.waiting = append(c.waiting, e)
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return e
}

// stuck returns how long the round under way has lasted.
func (c *committer) stuck(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since.IsZero() {
		return 0
	}
	return now.Sub(c.since)
}

// run writes until ctx ends.
func (c *committer) run(ctx context.Context) {
	producer := ingest.NewProducer(c.process.client, c.log)
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		}
		c.mu.Lock()
		round, bytes, began := c.waiting, c.bytes, time.Now()
		c.waiting = nil
		c.since = began
		c.mu.Unlock()
		if len(round) > 0 && c.write(ctx, producer, round) != nil {
			return
		}
		c.process.metrics.commitSeconds.Observe(time.Since(began).Seconds())
		c.mu.Lock()
		c.since = time.Time{}
		c.bytes -= bytes
		c.mu.Unlock()
		for _, e := range round {
			close(e.done)
		}
	}
}

// write writes a round. Its error is that of ctx.
func (c *committer) write(ctx context.Context, producer *ingest.Producer, round []*entry) error {
	topics := map[string][]*ingest.Output{}
	states := map[string]*ingest.Output{} // of each key, the last one
	var order []string
	var letters []*letter
	for _, e := range round {
		for i := range e.events {
			event := &e.events[i]
			out := c.output(event)
			if event.To != bridge.State {
				topics[c.topic(event.To)] = append(topics[c.topic(event.To)], out)
				continue
			}
			if states[event.Key] == nil {
				order = append(order, event.Key)
			}
			states[event.Key] = out
		}
		letters = append(letters, e.letters...)
	}
	for _, l := range letters {
		out, raw := c.letter(l)
		own := &c.process.config.Topics
		topics[own.DeadLetters] = append(topics[own.DeadLetters], out)
		if l.raw != nil {
			topics[own.Raw] = append(topics[own.Raw], raw)
		}
	}
	var all errgroup.Group
	for topic, outputs := range topics {
		all.Go(func() error { return c.produce(ctx, producer, topic, outputs) })
	}
	if err := all.Wait(); err != nil {
		return err
	}
	last := make([]*ingest.Output, len(order))
	for i, key := range order {
		last[i] = states[key]
	}
	if err := c.produce(ctx, producer, c.process.config.Topics.State, last); err != nil {
		return err
	}
	for _, l := range letters {
		c.process.metrics.letters.WithLabelValues(l.refusal.Reason).Inc()
	}
	for _, to := range []bridge.To{bridge.Notes, bridge.Outcomes} {
		c.process.metrics.events[to].Add(float64(len(topics[c.topic(to)])))
	}
	return nil
}

// produce writes messages until they are acknowledged. A message that its topic does not take for its size is left out:
// it can only be one of the raw topic.
func (c *committer) produce(ctx context.Context, producer *ingest.Producer, topic string, out []*ingest.Output) error {
	for len(out) > 0 {
		err := producer.Produce(ctx, topic, out)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if large, is := errors.AsType[*ingest.TooLargeError](err); is && topic == c.process.config.Topics.Raw {
			c.log.WarnContext(ctx, "a refused message is too large for its topic and is not kept", "err", err)
			out = slices.DeleteFunc(out, func(o *ingest.Output) bool { return o == large.Message })
			continue
		}
		c.log.ErrorContext(ctx, "kafka refuses what the bridge writes", "kafka_topic", topic, "err", err)
		if !wait.For(ctx, permanentPause) {
			return ctx.Err()
		}
	}
	return nil
}

// output returns an event as a message.
func (c *committer) output(e *bridge.Event) *ingest.Output {
	out := &ingest.Output{Key: []byte(e.Key), Value: e.Value}
	if e.ID != "" {
		out.AddEvent([]byte(e.ID), c.source, e.Type, e.Time.UTC().Format(msg.TimeFormat))
	}
	out.AddHeader(headerKeyID, c.process.bridge.KeyID())
	return out
}

// Names of headers beside those of package msg.
const (
	headerKeyID  = "wardcast-key-id" // of the hashes in a message
	headerAccess = "wardcast-access" // who may read a message
)

// letter returns a dead letter and its message.
func (c *committer) letter(l *letter) (out, raw *ingest.Output) {
	where := l.refusal.Where
	value, _ := json.Marshal(struct { // which cannot fail
		ID       string `json:"id"`
		Position int    `json:"position"`
		Segment  string `json:"segment,omitzero"`
		Field    int    `json:"field,omitzero"`
		Reason   string `json:"reason"`
	}{l.digest, where.Position, where.Segment, where.Field, l.refusal.Reason})
	out = &ingest.Output{Key: []byte(l.digest), Value: value}
	raw = &ingest.Output{Key: []byte(l.digest), Value: l.raw}
	raw.AddHeader(headerAccess, "restricted")
	for _, o := range []*ingest.Output{out, raw} {
		o.AddHeader(msg.HeaderReason, l.refusal.Reason)
		o.AddHeader(msg.HeaderStage, deadletter.BridgeStage)
		o.AddHeader(msg.HeaderDeadTime, time.Now().UTC().Format(msg.TimeFormat))
	}
	if place := l.refusal.Place(); place != "" {
		out.AddHeader(msg.HeaderField, place)
	}
	return out, raw
}

// digestOf names a message.
func digestOf(sum [32]byte) string { return hex.EncodeToString(sum[:8]) }
