package deadletter_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/deadletter"
	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/ingest/msg"
)

func TestMain(m *testing.M) { ingesttest.VerifyMain(m) }

const in, out, dead = "notes", "predictions", "notes.dlq"

// site is a broker with a consumer that answers every note once it is mended, and none before.
type site struct {
	*testing.T
	brokers []string
	client  *ingest.Client
	box     *deadletter.Box
	mended  atomic.Bool
}

type worker struct{ *site }

func (s *site) NewWorker() ingest.Worker { return worker{s} }

func (w worker) Handle(r *ingest.Record, o *ingest.Output) error {
	switch {
	case len(r.Value) == 0 || r.Value[0] == '!':
		return &msg.Error{Reason: msg.NotJSON}
	case !w.mended.Load():
		return &ingest.Verdict{
			Reason: string(msg.NoModel), Stage: "score", ModelVersion: "v1", Err: errors.New("no model"),
		}
	}
	o.Key, o.Value = r.Key, append(o.Value, r.Value...)
	return nil
}

func newSite(t *testing.T) *site {
	t.Helper()
	fake, err := kfake.NewCluster(kfake.NumBrokers(1),
		kfake.BrokerConfigs(map[string]string{"default.replication.factor": "1"}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	s := &site{T: t, brokers: fake.ListenAddrs()}
	conn := ingest.Connection{Brokers: s.brokers}
	if s.client, err = ingest.NewClient(conn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.Close)
	if err := s.client.CreateTopics(t.Context(), ingest.Topic{Name: in, Partitions: 2},
		ingest.Topic{Name: out, Partitions: 2}, ingest.Topic{Name: dead, Partitions: 2}); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	s.box = &deadletter.Box{Client: s.client, Topic: dead, Logger: log}
	c, err := ingest.New(
		ingest.Config{Connection: conn, Group: "g", Input: in, Output: out, DeadLetters: dead, Handler: s, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

// send writes messages; a value may have the header trace.
func (s *site) send(topic string, records ...*kgo.Record) {
	s.Helper()
	c := ingesttest.Reader(s, s.brokers)
	for _, r := range records {
		r.Topic = topic
	}
	if err := c.ProduceSync(s.Context(), records...).FirstErr(); err != nil {
		s.Fatal(err)
	}
}

// letters returns all dead letters, oldest first in each partition, once there are n.
func (s *site) letters(n int, f deadletter.Filter) (all []deadletter.Letter) {
	s.Helper()
	ingesttest.Await(s, "dead letters", func() bool {
		all = nil
		if _, err := s.box.Read(s.Context(), f, func(l *deadletter.Letter, _ *ingest.Record) error {
			all = append(all, *l)
			return nil
		}); err != nil {
			s.Fatal(err)
		}
		return len(all) >= n
	})
	if len(all) != n {
		s.Fatalf("%d letters, want %d", len(all), n)
	}
	return all
}

// count counts the records of a topic, up to its present end.
func (s *site) count(topic string, f func(*kgo.Record) bool) (n int) {
	s.Helper()
	ends, err := s.client.Ends(s.Context(), topic, slog.New(slog.DiscardHandler))
	if err != nil {
		s.Fatal(err)
	}
	left := int64(0)
	for _, end := range ends {
		left += end
	}
	c := ingesttest.Reader(s, s.brokers, topic)
	for left > 0 {
		c.PollFetches(s.Context()).EachRecord(func(r *kgo.Record) {
			left--
			if f(r) {
				n++
			}
		})
	}
	return n
}

func record(key, value string) *kgo.Record {
	return &kgo.Record{Key: []byte(key), Value: []byte(value), Headers: []kgo.RecordHeader{
		{Key: "traceparent", Value: []byte("t-" + key)},
	}}
}

// TestThereAndBack: what died comes back as it was, is answered once the cause is mended, and dies again with one
// attempt more if it is not. Nobody is sent round for ever.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.send(in, record("a", "{}"), record("b", "{}"), record("c", "!"), &kgo.Record{Value: []byte("{}")})
	s.send(dead, record("x", "written by somebody else"))
	all := s.letters(4, deadletter.Filter{})
	for _, l := range all {
		if l.Topic != in || l.Attempts != 1 || time.Since(l.Time) > ingesttest.Patience || l.Stage == "" {
			t.Errorf("letter %+v", l)
		}
	}
	counts, err := s.box.Count(t.Context(), deadletter.Filter{})
	if err != nil || len(counts) != 2 || counts[0].Reason != msg.NoModel || counts[0].Letters != 3 ||
		counts[1].Letters != 1 || counts[0].Newest.Before(counts[0].Oldest) {
		t.Errorf("counts %+v: %v", counts, err)
	}

	everything := deadletter.Sending{To: in, MaxAttempts: 3}
	dry := everything
	dry.DryRun = true
	want := deadletter.Sent{Sent: 4, Foreign: 1}
	if sent, err := s.box.Send(t.Context(), dry); err != nil || sent != want {
		t.Errorf("a dry run: %+v, %v", sent, err)
	}
	s.letters(4, deadletter.Filter{}) // none more

	if sent, err := s.box.Send(t.Context(), everything); err != nil || sent != want {
		t.Fatalf("%+v, %v", sent, err)
	}
	if keyless := s.count(in, func(r *kgo.Record) bool { return r.Key == nil }); keyless != 2 {
		t.Errorf("%d messages without a key, want the first and its copy", keyless)
	}
	if keyless := s.count(dead, func(r *kgo.Record) bool { return r.Key == nil }); keyless != 0 {
		t.Errorf("%d dead letters without a key", keyless)
	}
	attempts := map[int]int{}
	for _, l := range s.letters(8, deadletter.Filter{}) {
		attempts[l.Attempts]++
	}
	if !maps.Equal(attempts, map[int]int{1: 4, 2: 4}) {
		t.Errorf("attempts %v", attempts)
	}
	if sent, err := s.box.Send(t.Context(), deadletter.Sending{
		To: in, MaxAttempts: 2, Filter: deadletter.Filter{Reasons: []msg.Reason{msg.NotJSON}},
	}); err != nil || sent.Sent != 1 || sent.Exhausted != 1 {
		t.Errorf("%+v, %v", sent, err)
	}
	s.letters(9, deadletter.Filter{})
	if sent, err := s.box.Send(t.Context(), deadletter.Sending{To: "elsewhere", MaxAttempts: 3, DryRun: true}); err !=
		nil || sent.Elsewhere != 9 {
		t.Errorf("%+v, %v", sent, err)
	}

	s.mended.Store(true)
	one := all[slices.IndexFunc(all, func(l deadletter.Letter) bool { return l.Reason == msg.NoModel && l.Bytes == 3 })]
	if sent, err := s.box.Send(t.Context(), deadletter.Sending{
		To: in, MaxAttempts: 3, Rate: 100, Filter: deadletter.Filter{Place: &one.Place},
	}); err != nil || sent.Sent != 1 {
		t.Fatalf("%+v, %v", sent, err)
	}
	c := ingesttest.Reader(t, s.brokers, in, out)
	var answered, last *kgo.Record
	for answered == nil {
		c.PollFetches(t.Context()).EachRecord(func(r *kgo.Record) {
			switch {
			case r.Topic == out:
				answered = r
			case r.Key != nil && (last == nil || r.Timestamp.After(last.Timestamp)):
				last = r
			}
		})
	}
	headers := map[string]string{}
	for _, h := range last.Headers {
		headers[h.Key] = string(h.Value)
	}
	if d := cmp.Diff(map[string]string{"traceparent": "t-" + string(answered.Key), msg.HeaderReplays: "1"},
		headers); d != "" || string(last.Value) != "{}" {
		t.Errorf("sent back is %q: %s", last.Value, d)
	}
}

// TestErased: what was erased after it died is not sent back, and what was sent again after the erasure is.
func TestErased(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.send(in, record("a", "{}"), record("b", "{}"), record("c", "{}"))
	s.letters(3, deadletter.Filter{})
	s.send(in, &kgo.Record{Key: []byte("a")}, &kgo.Record{Key: []byte("b")})
	s.send(in, record("b", "{}"))
	s.letters(4, deadletter.Filter{}) // an erasure is none
	for _, dry := range []bool{true, false} {
		sent, err := s.box.Send(t.Context(), deadletter.Sending{To: in, MaxAttempts: 3, DryRun: dry})
		if want := (deadletter.Sent{Sent: 2, Erased: 2}); err != nil || sent != want {
			t.Errorf("%+v, %v, want %+v", sent, err, want)
		}
	}
	if n := s.count(in, func(r *kgo.Record) bool { return string(r.Key) == "a" && len(r.Value) > 0 }); n != 1 {
		t.Errorf("%d notes of an erased visit, want the first", n)
	}
}

// TestFilter: bounds of time are that of dying, Since included and Until not.
func TestFilter(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.send(in, record("a", "!"), record("b", "{}"))
	all := s.letters(2, deadletter.Filter{})
	for _, c := range []struct {
		f    deadletter.Filter
		want int
	}{
		{deadletter.Filter{Since: all[0].Time, Until: all[0].Time.Add(time.Hour)}, 2},
		{deadletter.Filter{Until: all[0].Time.Add(-time.Hour)}, 0},
		{deadletter.Filter{Since: all[0].Time.Add(time.Hour)}, 0},
		{deadletter.Filter{Reasons: []msg.Reason{msg.NotJSON}}, 1},
		{deadletter.Filter{Place: &all[1].Place}, 1},
	} {
		if got := len(s.letters(c.want, c.f)); got != c.want {
			t.Errorf("%+v: %d", c.f, got)
		}
	}
}

// TestForged: headers that others wrote do no harm.
func TestForged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	forged := record("a", "!")
	forged.Headers = []kgo.RecordHeader{
		{Key: msg.HeaderReplays, Value: []byte("-5")},
		{Key: msg.HeaderReplays, Value: []byte("99999999999999999999")},
		{Key: msg.HeaderReplays, Value: []byte("x")},
		{Key: msg.HeaderField, Value: []byte("patient smith")},
		{Key: msg.HeaderModelVersion, Value: []byte("v0")},
	}
	s.send(in, forged)
	if l := s.letters(1, deadletter.Filter{})[0]; l.Attempts != 1 || l.Field != "" || l.ModelVersion != "" {
		t.Errorf("%+v", l)
	}
	letter := func(headers ...string) *kgo.Record {
		r := record("b", "secret")
		for i := 0; i < len(headers); i += 2 {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: headers[i], Value: []byte(headers[i+1])})
		}
		return r
	}
	s.send(dead, letter(msg.HeaderReason, "patient smith", msg.HeaderTopic, in), letter(msg.HeaderReason, "not_json"))
	foreign, err := s.box.Read(t.Context(), deadletter.Filter{},
		func(*deadletter.Letter, *ingest.Record) error { return nil })
	if err != nil || foreign != 2 {
		t.Errorf("%d foreign, %v", foreign, err)
	}
}

// TestSendFails: a KafkaTopic that is not there is named, and a canceled run says how far it came.
func TestSendFails(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.send(in, record("a", "!"), record("b", "!"), record("c", "!"))
	s.letters(3, deadletter.Filter{})
	if _, err := s.box.Send(t.Context(), deadletter.Sending{To: "nowhere", MaxAttempts: 1}); err == nil ||
		!strings.Contains(err.Error(), "nowhere") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	sent, err := s.box.Send(ctx, deadletter.Sending{To: in, MaxAttempts: 3, Rate: 0.1})
	if err == nil || sent.Sent != 1 || !strings.Contains(err.Error(), "after 1 dead letters were sent back") {
		t.Errorf("%+v, %v", sent, err)
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "1", "1/", "/1", "-1/2", "1/-2", "1/2/3", "a/b"} {
		if err := new(deadletter.Place).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is a place", text)
		}
	}
	p := deadletter.Place{Partition: 3, Offset: 17}
	var back deadletter.Place
	if text, err := p.MarshalText(); err != nil || back.UnmarshalText(text) != nil || back != p {
		t.Errorf("%v, %v", back, err)
	}
}

// TestWithoutValue: nothing that would erase a newer message is sent back, whoever wrote the letter.
func TestWithoutValue(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.send(in, record("a", ""), &kgo.Record{Key: []byte("b")}) // the second is an erasure, and no dead letter
	old := &kgo.Record{Key: []byte("c"), Headers: []kgo.RecordHeader{
		{Key: msg.HeaderReason, Value: []byte(msg.NotJSON)}, {Key: msg.HeaderTopic, Value: []byte(in)},
	}}
	s.send(dead, old)
	s.letters(2, deadletter.Filter{})
	sent, err := s.box.Send(t.Context(), deadletter.Sending{To: in, MaxAttempts: 3})
	if d := cmp.Diff(deadletter.Sent{Lost: 2}, sent); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
}

// TestWithoutMessage: a letter of a record that was too large to be read says how large, and is not sent back.
func TestWithoutMessage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	large := &kgo.Record{Topic: in, Key: []byte("large"), Value: bytes.Repeat([]byte{'0'}, 4<<20)}
	producer, err := kgo.NewClient(kgo.SeedBrokers(s.brokers...), kgo.ProducerBatchCompression(kgo.ZstdCompression()),
		kgo.ProducerBatchMaxBytes(8<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	if err := producer.ProduceSync(t.Context(), large).FirstErr(); err != nil {
		t.Fatal(err)
	}
	letter := s.letters(1, deadletter.Filter{})[0]
	if letter.LostOffsets != 1 || letter.LostBytes <= 4<<20 || letter.Reason != msg.TooLarge ||
		letter.Source.Offset != large.Offset {
		t.Errorf("%+v", letter)
	}
	sent, err := s.box.Send(t.Context(), deadletter.Sending{To: in, MaxAttempts: 3})
	if d := cmp.Diff(deadletter.Sent{Lost: 1}, sent); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
}
