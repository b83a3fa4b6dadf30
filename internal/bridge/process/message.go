package process

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/wardcast/wardcast/ingest/hl7"
	"github.com/wardcast/wardcast/internal/bridge"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/loglimit"
)

// answerTimeout is how long a message waits for Kafka's acknowledgement. Then its connection is closed without an
// answer: shorter than the time-outs of senders, which are minutes, so that theirs do not count as ours.
const answerTimeout = 20 * time.Second

// internalError is the reason of a message that the bridge fails on.
const internalError = "internal_error"

// Reasons returns all reasons of dead letters.
func Reasons() []string { return append(bridge.Reasons(), internalError) }

// answer takes a message of MLLP and returns its acknowledgement, or nil for none.
func (p *process) answer(ctx context.Context, data []byte, tooLarge bool) []byte {
	began := time.Now()
	header, reading, refusal := p.read(data, tooLarge)
	var e *entry
	switch {
	case refusal == nil:
		e, refusal = p.join([]bridge.Reading{reading}, nil, data, began)
	case refusal.Code == hl7.Failed:
		e = p.letter(refusal, data, tooLarge)
	default: // nothing is kept of it
		e = p.commits.join(noEvents)
	}
	code, a := hl7.Accepted, hl7.Answer{ID: nextID(), Time: time.Now()}
	if refusal != nil {
		code, a.Reason, a.Condition, a.Where = refusal.Code, refusal.Reason, refusal.Condition(), refusal.Where
	}
	a.Code = code
	if e == nil || !acknowledged(ctx, e) {
		p.metrics.message(reading.Kind, unanswered, time.Since(began))
		p.warnings.Add(unanswered, func(n int) {
			p.Logger.Warn("kafka does not acknowledge in time: connections were closed, senders repeat their messages",
				"messages", n)
		})
		return nil
	}
	p.metrics.message(reading.Kind, string(code), time.Since(began))
	if refusal != nil {
		p.warnings.Add(refusal.Reason, func(n int) {
			p.Logger.Warn("messages were refused", "messages", n, "answer", string(refusal.Code),
				"reason", refusal.Reason,
				"place", refusal.Place())
		})
	}
	for _, what := range reading.Unused() {
		p.metrics.unused.WithLabelValues(what).Inc()
	}
	return header.Acknowledge(a)
}

// unanswered is the label of messages without an answer.
const unanswered = "none"

// read reads a message. A panic refuses it: it would come again and again.
func (p *process) read(data []byte, tooLarge bool) (h hl7.Header, r bridge.Reading, refusal *bridge.Refusal) {
	defer p.recovered(&refusal)
	h, _ = hl7.ReadHeader(data) // which the answer needs after a panic too
	if tooLarge {
		return h, r, &bridge.Refusal{Code: hl7.Failed, Reason: string(hl7.TooLarge)}
	}
	h, r, err := p.bridge.ReadHL7(data)
	if err != nil && !errors.As(err, &refusal) {
		refusal = &bridge.Refusal{Code: hl7.Failed, Reason: internalError}
	}
	return h, r, refusal
}

// join adds readings to their visits, and queues the dead letters of documents that cannot be read.
func (p *process) join(all []bridge.Reading, unread []*bridge.Refusal, data []byte,
	now time.Time,
) (e *entry, refusal *bridge.Refusal) {
	var letters []*letter
	if len(unread) > 0 {
		digest := digestOf(sha256.Sum256(data))
		letters = lists.Map(unread, func(r *bridge.Refusal) *letter { return &letter{refusal: r, digest: digest} })
	}
	e = p.commits.join(func() (events []bridge.Event) {
		defer p.recovered(&refusal)
		for _, r := range all {
			events = append(events, p.bridge.Join(r, now)...)
		}
		return events
	}, letters...)
	if refusal != nil {
		return p.letter(refusal, data, false), refusal
	}
	return e, nil
}

// recovered turns a panic into a refusal.
func (p *process) recovered(refusal **bridge.Refusal) {
	if v := recover(); v != nil {
		what, stack := loglimit.Panic(v, 0)
		p.Logger.Error("the bridge panicked at a message", "panic", what, "stack", stack)
		*refusal = &bridge.Refusal{Code: hl7.Failed, Reason: internalError}
	}
}

// letter queues the dead letter of a message.
func (p *process) letter(refusal *bridge.Refusal, data []byte, tooLarge bool) *entry {
	l := &letter{refusal: refusal, digest: digestOf(sha256.Sum256(data))}
	if !tooLarge {
		l.raw = append([]byte{}, bytes.TrimRight(data, "\x00")...)
	}
	return p.commits.join(noEvents, l)
}

// acknowledged waits until Kafka has what follows from a message.
func acknowledged(ctx context.Context, e *entry) bool {
	late := time.NewTimer(answerTimeout)
	defer late.Stop()
	select {
	case <-e.done:
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}

// answers are numbered from a random number on, so that those of two processes differ.
var answerNumber = func() *atomic.Uint64 {
	n := new(atomic.Uint64)
	n.Store(rand.Uint64() >> 4 << 20) //nolint:gosec // it names messages and protects nothing
	return n
}()

// nextID returns a MSH-10 of at most 20 characters, as versions before 2.7 allow.
func nextID() string { return fmt.Sprintf("W%x", answerNumber.Add(1)) }
