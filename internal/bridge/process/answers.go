package process

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/fhir"
	"github.com/wardcast/wardcast/ingest/hl7"
	"github.com/wardcast/wardcast/ingest/hl7/mllp"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/bridge"
	"github.com/wardcast/wardcast/internal/reload"
	"github.com/wardcast/wardcast/internal/wait"
)

// result is how an attempt to send a prediction ended.
type result string

// The results.
const (
	resultAccepted result = "accepted"
	resultFailed   result = "failed"    // AE, or an error of the server: tried again
	resultRejected result = "rejected"  // AR, or an error of the request: set aside
	resultNoAnswer result = "no_answer" // or no connection: tried again
	resultUnknown  result = "unknown"   // not a prediction for a visit of this bridge: skipped
)

var results = []result{resultAccepted, resultFailed, resultRejected, resultNoAnswer, resultUnknown}

// Pauses before another attempt double from the first to the last.
const (
	firstPause    = time.Second
	lastPause     = time.Minute
	answerWaiting = 30 * time.Second // for the acknowledgement of an answer
	// clockMargin is how far the clocks of those who write predictions may differ.
	clockMargin = time.Hour
	// savedEvery is how often what was delivered is written down. After a kill at most so much is sent again.
	savedEvery = time.Second
)

// delivered is how far the predictions of each partition were sent.
type delivered map[int]position

// position is the value of a partition's key in the topic of states.
type position struct {
	Next int64 `json:"next"` // offset
	Time int64 `json:"time"` // of the record before it, in milliseconds since 1970
}

const positionPrefix = "answers-"

// load takes up a record of the topic of states and reports whether it is a position of one of the ways.
func load(sent map[string]delivered, r *ingest.Record) bool {
	name, is := strings.CutPrefix(string(r.Key), positionPrefix)
	way, name, _ := strings.Cut(name, "-")
	partition, err := strconv.Atoi(name)
	var p position
	if is && err == nil && json.Unmarshal(r.Value, &p) == nil {
		if sent[way] == nil {
			sent[way] = delivered{}
		}
		sent[way][partition] = p
	}
	return is
}

// Ways of answers.
const (
	byMLLP  = "mllp"
	byFHIR  = "fhir"
	byTopic = "topic"
)

var ways = []string{byMLLP, byFHIR, byTopic}

// answers sends predictions one way, one at a time in the order of their partitions, so in order for each visit.
type answers struct {
	process *process
	way     string
	log     *slog.Logger
	// prepare makes the message of a prediction with this ce_id, and what its answer names.
	prepare func(r *ingest.Record, id string) (message []byte, control string, err error)
	// send sends it once. Without an error the result is known.
	send func(ctx context.Context, r *ingest.Record, message []byte, control string) (result, error)
	end  func()
	// server takes answers by FHIR.
	server *fhir.Client

	mu      sync.Mutex
	sent    delivered
	changed bool
}

// newAnswers returns those that are configured.
func newAnswers(p *process, sent map[string]delivered) (all []*answers, err error) {
	c := &p.config.Answers
	add := func(way, address string) *answers {
		a := &answers{
			process: p, way: way, log: p.Logger.With("component", "answers", "to", way), sent: sent[way],
			end: func() {},
			prepare: func(r *ingest.Record, id string) ([]byte, string, error) {
				message, err := p.bridge.RiskAssessment(r.Value, id)
				return message, id, err
			},
		}
		if a.sent == nil {
			a.sent = delivered{}
		}
		if address != "" {
			all = append(all, a)
		}
		return a
	}
	oru, risk, topic := add(byMLLP, c.MLLP), add(byFHIR, c.FHIR), add(byTopic, c.Topic)
	if c.MLLP != "" {
		if err := oru.overMLLP(); err != nil {
			return nil, err
		}
	}
	risk.server = p.asks(c.FHIR)
	risk.send = risk.create
	producer := ingest.NewProducer(p.client, topic.log)
	topic.send = func(ctx context.Context, r *ingest.Record, message []byte, _ string) (result, error) {
		out := &ingest.Output{Key: r.Key, Value: message}
		out.AddHeader("content-type", fhirContent)
		return resultAccepted, producer.Produce(ctx, c.Topic, []*ingest.Output{out})
	}
	return all, nil
}

// overMLLP makes ORU^R01 of predictions.
func (a *answers) overMLLP() error {
	c := &a.process.config.Answers
	client := &mllp.Client{Address: c.MLLP, Timeout: answerWaiting}
	a.end = client.Close
	a.prepare = func(r *ingest.Record, id string) ([]byte, string, error) {
		return a.process.bridge.ORU(r.Value, id, time.Now())
	}
	a.send = func(ctx context.Context, _ *ingest.Record, message []byte, control string) (result, error) {
		code, err := client.Send(ctx, message, control)
		switch code {
		case hl7.Accepted:
			return resultAccepted, err
		case hl7.Rejected:
			return resultRejected, err
		}
		return resultFailed, err
	}
	if !c.TLS.Enabled {
		return nil
	}
	host, _, err := net.SplitHostPort(c.MLLP)
	if err != nil {
		return err
	}
	client.TLS = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if c.TLS.CA != "" {
		if client.TLS.RootCAs, err = reload.Authorities(c.TLS.CA); err != nil {
			return fmt.Errorf("reading bridge.answers.tls.ca: %w", err)
		}
	}
	if c.TLS.Key != "" {
		pair, err := tls.LoadX509KeyPair(c.TLS.Certificate, c.TLS.Key)
		if err != nil {
			return fmt.Errorf("reading bridge.answers.tls: %w", err)
		}
		client.TLS.Certificates = []tls.Certificate{pair}
	}
	return nil
}

// run sends predictions until ctx ends.
func (a *answers) run(ctx context.Context) error {
	defer a.end()
	var from time.Time // the oldest position: what was sent of later records is skipped by its offset
	for _, p := range a.sent {
		if at := time.UnixMilli(p.Time).Add(-clockMargin); from.IsZero() || at.Before(from) {
			from = at
		}
	}
	saved := make(chan struct{})
	saving, stop := context.WithCancel(ctx)
	go func() {
		defer close(saved)
		for wait.For(saving, savedEvery) {
			a.save()
		}
	}()
	err := a.process.client.Follow(ctx, ingest.Follow{
		Topic: a.process.Config.Kafka.Topics.Predictions, From: from, Logger: a.log,
	}, func(r *ingest.Record) { a.answer(ctx, r) })
	stop()
	<-saved
	a.save() // also what was delivered last
	return err
}

// begin makes a bridge that sends answers for the first time begin with the predictions that come from now on.
func (a *answers) begin(ctx context.Context) error {
	if len(a.sent) > 0 {
		return nil
	}
	ends, err := a.process.client.Ends(ctx, a.process.Config.Kafka.Topics.Predictions, a.log)
	if err != nil {
		return err
	}
	for partition, next := range ends {
		a.sent[partition] = position{Next: next, Time: time.Now().UnixMilli()}
	}
	a.changed = true
	return nil
}

// save queues the positions that have changed.
func (a *answers) save() {
	a.mu.Lock()
	now, changed := maps.Clone(a.sent), a.changed
	a.changed = false
	a.mu.Unlock()
	if !changed {
		return
	}
	queued := a.process.commits.join(func() (events []bridge.Event) {
		for partition, p := range now {
			value, _ := json.Marshal(p) // which cannot fail
			events = append(events, bridge.Event{
				To: bridge.State, Key: positionPrefix + a.way + "-" + strconv.Itoa(partition), Value: value,
			})
		}
		return events
	})
	if queued == nil { // too much waits
		a.mu.Lock()
		a.changed = true
		a.mu.Unlock()
	}
}

// answer sends a prediction until it is accepted or set aside.
func (a *answers) answer(ctx context.Context, r *ingest.Record) {
	a.mu.Lock()
	before := r.Offset < a.sent[r.Partition].Next
	a.mu.Unlock()
	if before {
		return
	}
	id := fmt.Sprintf("P%d-%d", r.Partition, r.Offset)
	for _, h := range r.Headers {
		if h.Key == msg.HeaderID && len(h.Value) > 0 {
			id = string(h.Value)
		}
	}
	var message []byte
	var control string
	var err error
	a.process.commits.locked(func() { message, control, err = a.prepare(r, id) })
	if err != nil {
		a.count(resultUnknown)
	} else if !a.deliver(ctx, r, message, control) {
		return // the process ends
	}
	a.mu.Lock()
	a.sent[r.Partition] = position{Next: r.Offset + 1, Time: r.Time.UnixMilli()}
	a.changed = true
	a.mu.Unlock()
}

func (a *answers) count(r result) { a.process.metrics.answers.WithLabelValues(a.way, string(r)).Inc() }

// deliver sends a message until it is accepted or rejected, and reports whether it was.
func (a *answers) deliver(ctx context.Context, r *ingest.Record, message []byte, control string) bool {
	delay := a.process.metrics.answerDelay.WithLabelValues(a.way)
	defer delay.Set(0)
	log := a.log.With("kafka_topic", a.process.Config.Kafka.Topics.Predictions, "partition", r.Partition, "offset",
		r.Offset)
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, lastPause) {
		delay.Set(max(0, time.Since(r.Time).Seconds()))
		got, err := a.send(ctx, r, message, control)
		if err != nil {
			got = resultNoAnswer
		}
		a.count(got)
		switch got {
		case resultAccepted:
			return true
		case resultRejected:
			log.ErrorContext(ctx, "the receiver rejects a prediction; it is set aside")
			return true
		case resultFailed:
			log.WarnContext(ctx, "the receiver cannot use a prediction; trying again", "pause", pause.String())
		default:
			log.WarnContext(ctx, "a prediction was not answered; trying again", "err", err, "pause", pause.String())
		}
		_ = wait.For(ctx, pause) // the loop ends with ctx
	}
	return false
}
