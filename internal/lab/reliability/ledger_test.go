package reliability_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/internal/lab/synth"
)

// ledger knows of each note when it was sent and what became of it. It writes and reads with a client of another family
// than the product's.
type ledger struct {
	c        *cluster
	g        *synth.Generator
	producer *kgo.Client

	mu                sync.Mutex
	notes             []note
	answered          int
	dead              int
	repeated, unalike int
}

type note struct {
	partition      int
	sent, answered time.Time // acknowledged by the brokers; read back as an answer
	answer         string    // what a repeat must say too
}

func (c *cluster) ledger(g *synth.Generator) *ledger {
	c.Helper()
	producer, err := kgo.NewClient(kgo.SeedBrokers(c.open...), kgo.DefaultProduceTopic(notesTopic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0), kgo.MetadataMinAge(200*time.Millisecond))
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(producer.Close)
	return &ledger{c: c, g: g, producer: producer}
}

// feed sends notes at a rate, in turn to all partitions, until ctx ends; then it waits until the brokers have all of
// them.
func (l *ledger) feed(ctx context.Context, rate int) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	began := time.Now()
	for sent := 0; ; {
		select {
		case <-ctx.Done():
			return l.producer.Flush(l.c.Context())
		case <-tick.C:
		}
		for ; sent < int(time.Since(began).Seconds()*float64(rate)); sent++ {
			l.send()
		}
	}
}

// send sends the next note.
func (l *ledger) send() {
	l.mu.Lock()
	i := len(l.notes)
	l.notes = append(l.notes, note{partition: i % partitions})
	l.mu.Unlock()
	n := l.g.At(i % 20000).Note
	n.VisitID = strconv.Itoa(i)
	l.producer.Produce(l.c.Context(),
		&kgo.Record{Key: []byte(n.VisitID), Value: n.AppendJSON(nil), Partition: int32(i % partitions)},
		func(_ *kgo.Record, err error) {
			if err != nil {
				l.c.Errorf("sending a note: %v", err)
			}
			l.mu.Lock()
			l.notes[i].sent = time.Now()
			l.mu.Unlock()
		})
}

// read takes down the answers until ctx ends.
func (l *ledger) read(ctx context.Context, topics ...string) error {
	reader, err := kgo.NewClient(kgo.SeedBrokers(l.c.open...), kgo.ConsumeTopics(topics...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(100*time.Millisecond),
		kgo.MetadataMinAge(200*time.Millisecond))
	if err != nil {
		return err
	}
	defer reader.Close()
	for ctx.Err() == nil {
		fetches := reader.PollFetches(ctx)
		for _, e := range fetches.Errors() {
			if !errors.Is(e.Err, context.Canceled) && !errors.Is(e.Err, kerr.UnknownTopicOrPartition) &&
				!kerr.IsRetriable(e.Err) && !kgo.IsRetryableBrokerErr(e.Err) {
				return fmt.Errorf("reading %s: %w", e.Topic, e.Err)
			}
		}
		fetches.EachRecord(l.take)
	}
	return nil
}

// take takes one answer down.
func (l *ledger) take(r *kgo.Record) {
	i, err := strconv.Atoi(string(r.Key))
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil || i >= len(l.notes) { // the letter of a note that has no key
		l.dead++
		return
	}
	n, answer := &l.notes[i], timeless(r)
	switch {
	case n.answered.IsZero():
		n.answered, n.answer = time.Now(), answer
		l.answered++
	case n.answer == answer:
		l.repeated++
	default:
		l.repeated++
		l.unalike++
	}
}

// timeless is what every answer to one note has in common: all but the time of scoring, which is in the body, and in a
// header.
func timeless(r *kgo.Record) string {
	var b strings.Builder
	b.WriteString(r.Topic)
	for _, h := range r.Headers {
		if h.Key == "ce_id" {
			b.Write(h.Value)
		}
	}
	before, rest, found := strings.Cut(string(r.Value), `"scored_at":"`)
	b.WriteString(before)
	if found {
		_, after, _ := strings.Cut(rest, `"`)
		b.WriteString(after)
	}
	return b.String()
}

// waiting returns how many notes have no answer yet.
func (l *ledger) waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.notes) - l.answered
}

// waits returns how long the notes of which f is true waited for their answers, in order.
func (l *ledger) waits(f func(*note) bool) (all []time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.notes {
		if n := &l.notes[i]; !n.answered.IsZero() && f(n) {
			all = append(all, max(0, n.answered.Sub(n.sent)))
		}
	}
	slices.Sort(all)
	return all
}

// gap returns the longest time without any answer from one moment to another.
func (l *ledger) gap(from, to time.Time) (longest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	times := []time.Time{from, to}
	for i := range l.notes {
		if at := l.notes[i].answered; at.After(from) && at.Before(to) {
			times = append(times, at)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	for i, t := range times[1:] {
		longest = max(longest, t.Sub(times[i]))
	}
	return longest
}
