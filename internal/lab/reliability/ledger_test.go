//go:build linux

package reliability_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lab/synth"
)

// ledger knows of each record when it was sent and what became of it. It writes and reads with a client of another
// family than the product's.
type ledger struct {
	c        *cluster
	g        *synth.Generator
	producer *kgo.Client
	key      []byte // of the bridge

	mu      sync.Mutex
	notes   []*note          // in the order in which they were sent
	by      map[string]*note // by id
	oldest  int              // all notes before it are done
	sent    int              // acknowledged
	done    int
	stay    time.Duration // from a prediction to the outcome
	toLeave []*note       // answered, without an outcome, oldest first
	// When answers were written and read, and outcomes sent and acknowledged, in order.
	writtenAt, answeredAt, leaving, left []time.Time

	repeated, others, unalike, stray int
	paused                           bool
}

// kind is what a note must become.
type kind int

const (
	good kind = iota
	bridged
	poison
	erasure // nothing: it must be passed over
)

type note struct {
	id             string
	visit          string // the number of a bridged one
	kind           kind
	partition      int
	sent, answered time.Time // acknowledged by the brokers; read back as an answer
	dead           bool      // the answer is a dead letter
	admitted       bool
	said           map[string][sha256.Size]byte // by event id: what a repeat must say too
}

func (c *cluster) ledger(g *synth.Generator) *ledger {
	c.Helper()
	producer, err := kgo.NewClient(kgo.SeedBrokers(c.open...), kgo.DefaultProduceTopic(notesTopic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0), kgo.MetadataMinAge(200*time.Millisecond),
		kgo.ProducerBatchMaxBytes(1<<20))
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(producer.Close)
	return &ledger{c: c, g: g, producer: producer, by: map[string]*note{}, stay: 45 * time.Second}
}

// idHeader names a record that has no key; a dead letter keeps it.
const idHeader = "trial-id"

// feed sends notes at a rate, in turn to all partitions, until ctx ends; then it waits until the brokers have all of
// them.
func (l *ledger) feed(ctx context.Context, rate int) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	last, due := time.Now(), 0.
	for {
		select {
		case <-ctx.Done():
			return l.producer.Flush(l.c.Context())
		case now := <-tick.C:
			due += now.Sub(last).Seconds() * float64(rate)
			last = now
		}
		for ; due >= 1; due-- {
			if !l.pausing() {
				l.send()
			}
		}
	}
}

func (l *ledger) pausing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.paused
}

// pause ends feeding until it is called again.
func (l *ledger) pause(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.paused = on
}

// open adds a note to the book.
func (l *ledger) open(id string, k kind) *note {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := &note{id: id, kind: k, partition: len(l.notes) % partitions}
	if id == "" {
		n.id = strconv.Itoa(len(l.notes))
	}
	l.notes = append(l.notes, n)
	l.by[n.id] = n
	return n
}

// next returns a note as it is sent now.
func (l *ledger) next(n *note) msg.Note {
	i, _ := strconv.Atoi(n.id)
	made := l.g.At(i % 20000)
	n.admitted = made.Admitted
	made.VisitID, made.ArrivedAt = n.id, time.Now().UTC().Format(time.RFC3339)
	return made.Note
}

// send sends the next note.
func (l *ledger) send() {
	n := l.open("", good)
	m := l.next(n)
	l.produce(n, &kgo.Record{Key: []byte(n.id), Value: m.AppendJSON(nil)})
}

func (l *ledger) produce(n *note, r *kgo.Record) {
	r.Partition = int32(n.partition)
	r.Headers = append(r.Headers, kgo.RecordHeader{Key: idHeader, Value: []byte(n.id)})
	l.producer.Produce(l.c.Context(), r, func(_ *kgo.Record, err error) {
		if err != nil {
			l.c.Errorf("sending a note: %v", err)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		n.sent = time.Now()
		l.sent++
		if n.kind == erasure {
			n.answered = n.sent
			l.done++
		}
	})
}

// poison sends records that cannot be scored, and erasures, one of each kind.
func (l *ledger) poison() {
	bad := func(change func(*msg.Note)) []byte {
		m := l.g.At(0).Note
		change(&m)
		return m.AppendJSON(nil)
	}
	fine := func() []byte { return bad(func(*msg.Note) {}) }
	for _, value := range [][]byte{
		[]byte("{"),
		{},
		{0xff, 0xfe},
		[]byte(strings.Repeat("[", 100_000)),
		bad(func(m *msg.Note) { m.Text = "" }),
		bad(func(m *msg.Note) { m.VisitID = "" }),
		bad(func(m *msg.Note) { m.SchemaVersion = "9" }),
		bad(func(m *msg.Note) { m.Text = strings.Repeat("pain ", 40_000) }),
		bad(func(m *msg.Note) { m.Text = strings.Repeat("pain ", 209_000) }), // its letter is above the broker's limit
		append([]byte{0, 0, 0, 0, 7}, fine()...),
		fmt.Appendf(nil, `{"schema":{},"payload":%s}`, fine()),
		bytes.Replace(fine(), []byte(`"text":"`), []byte("\"text\":\"\xff"), 1),
	} {
		n := l.open("", poison)
		l.produce(n, &kgo.Record{Key: []byte(n.id), Value: value})
		n = l.open("", poison) // without a key
		l.produce(n, &kgo.Record{Value: value})
	}
	n := l.open("", erasure)
	l.produce(n, &kgo.Record{Key: []byte(n.id)})
}

// discharge sends outcomes of notes some time after their prediction, until ctx ends. Those of the bridge leave by its
// messages.
func (l *ledger) discharge(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for n := l.leaves(good); n != nil; n = l.leaves(good) {
			o := msg.Outcome{
				SchemaVersion: "1",
				VisitID:       n.id,
				Disposition:   msg.Discharged,
				DecidedAt:     time.Now().UTC().Format(time.RFC3339),
			}
			if n.admitted {
				o.Disposition, o.Ward = msg.Admitted, "MED"
			}
			r := &kgo.Record{
				Topic: outcomesTopic, Key: []byte(n.id), Value: o.AppendJSON(nil), Partition: int32(n.partition),
			}
			l.producer.Produce(l.c.Context(), r, func(_ *kgo.Record, err error) {
				if err != nil {
					l.c.Errorf("sending an outcome: %v", err)
				}
				l.hasLeft()
			})
		}
	}
}

// leaves returns the next visit of a kind that leaves, nil if it is nobody's turn.
func (l *ledger) leaves(k kind) *note {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, n := range l.toLeave {
		switch {
		case time.Since(n.answered) < l.stay:
			return nil
		case n.kind == k:
			l.toLeave = slices.Delete(l.toLeave, i, i+1)
			l.leaving = append(l.leaving, time.Now())
			return n
		}
	}
	return nil
}

func (l *ledger) hasLeft() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left = append(l.left, time.Now())
}

// everybodyLeaves waits until nobody waits, neither for an answer nor for an outcome.
func (l *ledger) everybodyLeaves() {
	l.c.Helper()
	l.mu.Lock()
	stay := l.stay
	l.stay = 0
	l.mu.Unlock()
	await(l.c.T, "answers and outcomes of all that was sent", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.done == len(l.notes) && len(l.left) == len(l.answeredAt)
	})
	l.mu.Lock()
	l.stay = stay
	l.mu.Unlock()
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
				!kerr.IsRetriable(e.Err) && !kgo.IsRetryableBrokerErr(e.Err) &&
				!errors.Is(e.Err, os.ErrDeadlineExceeded) {
				l.c.Logf("reading %s: %v", e.Topic, e.Err)
			}
		}
		fetches.EachRecord(l.take)
	}
	return nil
}

// take takes one answer down.
func (l *ledger) take(r *kgo.Record) {
	id, event := string(r.Key), ""
	for _, h := range r.Headers {
		switch h.Key {
		case idHeader:
			id = string(h.Value)
		case "ce_id":
			event = string(h.Value)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.by[id]
	if n == nil {
		l.stray++
		return
	}
	said, first := timeless(r), n.said == nil
	before, again := n.said[event]
	switch {
	case first:
		n.said, n.answered, n.dead = map[string][sha256.Size]byte{}, time.Now(), r.Topic == letters
		l.done++
		if n.kind == good || n.kind == bridged {
			l.answeredAt = append(l.answeredAt, n.answered)
			at, _ := slices.BinarySearchFunc(l.writtenAt, r.Timestamp, time.Time.Compare)
			l.writtenAt = slices.Insert(l.writtenAt, at, r.Timestamp)
			l.toLeave = append(l.toLeave, n)
		}
	case !again && r.Topic == answers: // by another model
		l.others++
	case before == said:
		l.repeated++
	default:
		l.repeated++
		l.unalike++
	}
	n.said[event] = said
}

// timeless is what every answer to one note by one model has in common: all but the time of scoring.
func timeless(r *kgo.Record) [sha256.Size]byte {
	h := sha256.New()
	h.Write([]byte(r.Topic))
	before, rest, found := bytes.Cut(r.Value, []byte(`"scored_at":"`))
	h.Write(before)
	if found {
		_, after, _ := bytes.Cut(rest, []byte(`"`))
		h.Write(after)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// balance is what the ledger knows at a moment.
type balance struct {
	sent, done int           // acknowledged; answered, dead or erased
	waited     time.Duration // of the oldest that is not done
	since      time.Duration // since the last answer
}

func (l *ledger) balance() balance {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := balance{sent: l.sent, done: l.done}
	for l.oldest < len(l.notes) && !l.notes[l.oldest].answered.IsZero() {
		l.oldest++
	}
	for _, n := range l.notes[l.oldest:] {
		if n.answered.IsZero() && !n.sent.IsZero() {
			b.waited = time.Since(n.sent)
			break
		}
	}
	if i := len(l.answeredAt); i > 0 {
		b.since = time.Since(l.answeredAt[i-1])
	}
	return b
}

// waiting returns between which numbers those who wait must be at a time, if news take so long.
func (l *ledger) waiting(at time.Time, news time.Duration) (low, high int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	until := func(times []time.Time, t time.Time) int {
		i, _ := slices.BinarySearchFunc(times, t, time.Time.Compare)
		return i
	}
	const rounding = 2 * time.Second // as_of is in whole seconds
	return until(l.answeredAt, at.Add(-news)) - until(l.leaving, at.Add(rounding)),
		until(l.writtenAt, at.Add(rounding)) - until(l.left, at.Add(-news))
}

// patience is how long after a sample it is judged, so that the ledger has read what the program knew.
const patience = time.Minute

// missing returns the notes that nothing became of, and those that became what they should not.
func (l *ledger) missing() (lost, wrong int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.notes {
		switch {
		case n.answered.IsZero():
			lost++
		case n.kind == erasure:
			if n.said != nil {
				wrong++
			}
		case n.dead != (n.kind == poison):
			wrong++
		}
	}
	return lost, wrong
}

// waits returns how long the notes of which f is true waited for their answers, in order.
func (l *ledger) waits(f func(*note) bool) (all []time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.notes {
		if !n.answered.IsZero() && !n.sent.IsZero() && n.kind != erasure && f(n) {
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
	for _, at := range l.answeredAt {
		if at.After(from) && at.Before(to) {
			times = append(times, at)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	for i, t := range times[1:] {
		longest = max(longest, t.Sub(times[i]))
	}
	return longest
}

// hospital sends messages of HL7 to the bridge until ctx ends: a visit's note, and later its end, each until it is
// accepted.
func (l *ledger) hospital(ctx context.Context, h *host, every time.Duration) error {
	var conn net.Conn
	exchange := func(message string) {
		for ctx.Err() == nil {
			var err error
			if conn == nil {
				conn, err = h.dial(ctx, "tcp", mllpAddress)
			}
			if err == nil {
				if code, err := accepted(conn, message); err == nil && code == "AA" {
					return
				}
			}
			if conn != nil {
				_ = conn.Close() // it failed
				conn = nil
			}
			wait(ctx, 500*time.Millisecond)
		}
	}
	for i := 0; ctx.Err() == nil; i++ {
		began := time.Now()
		if !l.pausing() {
			visit := fmt.Sprintf("T%d", i)
			n := l.open(l.hash(visit), bridged)
			n.visit = visit
			made := l.g.At(i % 20000)
			exchange(arrival(visit, &made.Note))
			l.mu.Lock()
			n.sent = time.Now()
			l.sent++
			l.mu.Unlock()
		}
		for n := l.leaves(bridged); n != nil; n = l.leaves(bridged) {
			exchange(departure(n.visit))
			l.hasLeft()
		}
		wait(ctx, time.Until(began.Add(every)))
	}
	if conn != nil {
		return conn.Close()
	}
	return nil
}

// hash returns the id that the bridge gives to a visit number.
func (l *ledger) hash(visit string) string {
	h := hmac.New(sha256.New, l.key)
	h.Write([]byte(bridgeSite + "\x00" + visit))
	return "v-" + hex.EncodeToString(h.Sum(nil))[:32]
}

// arrival and departure are messages of a visit.
func arrival(visit string, n *msg.Note) string {
	return header(visit, "A04") + fmt.Sprintf("OBX|1|TX|54094-8||%s||||||F\rOBX|2|TX|8661-1||%s||||||F\r",
		escape.Replace(n.Text), escape.Replace(n.Complaint))
}

func departure(visit string) string { return header(visit, "A03") }

func header(visit, event string) string {
	now := time.Now().UTC().Format("20060102150405")
	left := ""
	if event == "A03" {
		left = "01"
	}
	return fmt.Sprintf("MSH|^~\\&|A|B|C|D|%[1]s||ADT^%[3]s|%[2]s-%[3]s|P|2.5.1\rEVN||%[1]s\rPID|1||P%[2]s^^^^MR\r"+
		"PV1|1|E|ED||||||||||||||||%[2]s|||||||||||||||||%[4]s||||||||%[1]s\r", now, visit, event, left)
}

var escape = strings.NewReplacer("\\", `\E\`, "|", `\F\`, "^", `\S\`, "&", `\T\`, "~", `\R\`, "\n", " ", "\r", " ")

// accepted sends a message in a frame of MLLP and returns the code of its answer.
func accepted(conn net.Conn, message string) (string, error) {
	if err := conn.SetDeadline(time.Now().Add(15 * time.Second)); err != nil {
		return "", err
	}
	if _, err := conn.Write([]byte("\x0b" + message + "\x1c\r")); err != nil {
		return "", err
	}
	answer, err := bufio.NewReader(conn).ReadString('\x1c')
	if err != nil {
		return "", err
	}
	_, code, _ := strings.Cut(answer, "MSA|")
	return code[:min(len(code), 2)], nil
}

// wait waits unless ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
