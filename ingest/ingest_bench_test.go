package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/embedded"
)

const (
	benchRecords     = 100_000
	benchInputBytes  = 500   // a triage note
	benchOutputBytes = 2_000 // a prediction with its explanation
)

// answerWorker answers with a message of a prediction's size: the loop without
// the scoring.
type answerWorker struct{ value []byte }

func (w answerWorker) NewWorker() ingest.Worker { return w }

func (w answerWorker) Handle(r *ingest.Record, out *ingest.Output) error {
	out.Key = r.Key
	out.Value = append(out.Value, w.value...)
	out.AddHeaderString("ce_id", "0123456789abcdef")
	return nil
}

// benchCluster starts an embedded broker on a folder, whose topic in holds
// benchRecords records, and returns how to reach it.
func benchCluster(b *testing.B) (ingest.Connection, *ingest.Client) {
	b.Helper()
	broker, err := embedded.Start(embedded.Config{Dir: b.TempDir(), Listen: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(broker.Close)
	conn := ingest.Connection{Brokers: []string{broker.Addr()}}
	client, err := ingest.NewClient(conn)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.Close)
	if err := client.CreateTopics(b.Context(), ingest.Topic{Name: "in"}, ingest.Topic{Name: "dlq"}); err != nil {
		b.Fatal(err)
	}
	messages := make([]*ingest.Output, benchRecords)
	for i := range messages {
		messages[i] = &ingest.Output{Key: fmt.Appendf(nil, "visit-%d", i), Value: fmt.Appendf(nil, "%0*d", benchInputBytes, i)}
	}
	if err := ingest.NewProducer(client, slog.New(slog.DiscardHandler)).Produce(b.Context(), "in", messages); err != nil {
		b.Fatal(err)
	}
	return conn, client
}

// waitForRecords returns when topic holds n records, polling as the wait is
// long against the polling.
func waitForRecords(b *testing.B, conn ingest.Connection, topic string, n int64) {
	b.Helper()
	k := &kafka.Client{Addr: kafka.TCP(conn.Brokers...), Transport: &kafka.Transport{}}
	defer k.Transport.(*kafka.Transport).CloseIdleConnections()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		res, err := k.ListOffsets(b.Context(), &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{
			topic: {kafka.LastOffsetOf(0), kafka.LastOffsetOf(1), kafka.LastOffsetOf(2), kafka.LastOffsetOf(3)},
		}})
		if err != nil {
			b.Fatal(err)
		}
		var sum int64
		for _, p := range res.Topics[topic] {
			sum += p.LastOffset
		}
		if sum >= n {
			return
		}
	}
}

// BenchmarkConsumer is the rate of the pipeline on the embedded broker, the
// first join of the group included; BenchmarkEcho is that of a bare kafka-go
// loop that reads and writes the same.
func BenchmarkConsumer(b *testing.B) {
	conn, client := benchCluster(b)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		out := fmt.Sprintf("out-%d", n)
		if err := client.CreateTopics(b.Context(), ingest.Topic{Name: out}); err != nil {
			b.Fatal(err)
		}
		c, err := ingest.New(ingest.Config{
			Connection: conn, Group: out, Input: "in", Output: out, DeadLetters: "dlq",
			Handler: answerWorker{make([]byte, benchOutputBytes)}, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(b.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		waitForRecords(b, conn, out, benchRecords)
		cancel()
		if err := <-done; err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64(n)*benchRecords/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkEcho: see BenchmarkConsumer.
func BenchmarkEcho(b *testing.B) {
	conn, client := benchCluster(b)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		out := fmt.Sprintf("out-%d", n)
		if err := client.CreateTopics(b.Context(), ingest.Topic{Name: out}); err != nil {
			b.Fatal(err)
		}
		bareLoop(b, conn, out)
		n++
	}
	b.ReportMetric(float64(n)*benchRecords/b.Elapsed().Seconds(), "records/s")
}

// bareLoop copies benchRecords records with kafka-go's group reader and writer.
func bareLoop(b *testing.B, conn ingest.Connection, out string) {
	r := kafka.NewReader(kafka.ReaderConfig{
		Brokers: conn.Brokers, GroupID: out, Topic: "in", StartOffset: kafka.FirstOffset, MaxWait: 100 * time.Millisecond,
		QueueCapacity: 2000, JoinGroupBackoff: 500 * time.Millisecond,
	})
	transport := &kafka.Transport{}
	w := &kafka.Writer{
		Addr: kafka.TCP(conn.Brokers...), Topic: out, Balancer: kafka.Murmur2Balancer{}, RequiredAcks: kafka.RequireAll,
		BatchTimeout: 5 * time.Millisecond, BatchSize: 500, Transport: transport,
	}
	value := make([]byte, benchOutputBytes)
	batch := make([]kafka.Message, 0, 2000)
	for done := 0; done < benchRecords; {
		batch = batch[:0]
		var last []kafka.Message
		for len(batch) < cap(batch) && done+len(batch) < benchRecords {
			m, err := r.FetchMessage(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			last = append(last, m)
			batch = append(batch, kafka.Message{Key: m.Key, Value: value, Headers: []kafka.Header{{Key: "ce_id", Value: []byte("0123456789abcdef")}}})
		}
		if err := w.WriteMessages(b.Context(), batch...); err != nil {
			b.Fatal(err)
		}
		if err := r.CommitMessages(b.Context(), last...); err != nil {
			b.Fatal(err)
		}
		done += len(batch)
	}
	if err := errors.Join(r.Close(), w.Close()); err != nil {
		b.Fatal(err)
	}
	transport.CloseIdleConnections()
}
