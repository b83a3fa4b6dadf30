package ingest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"
	"go.opentelemetry.io/otel/trace"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/embedded"
	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/internal/service/traces"
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
	out.AddHeader("ce_id", "0123456789abcdef")
	return nil
}

// benchCluster starts an embedded broker on a folder, with the topic in, and
// returns how to reach it.
func benchCluster(b *testing.B, sync bool) (ingest.Connection, *ingest.Client) {
	b.Helper()
	broker, err := embedded.Start(embedded.Config{Dir: b.TempDir(), Listen: "127.0.0.1:0", Sync: sync, Logger: discard})
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
	return conn, client
}

// fill writes benchRecords records.
func fill(b *testing.B, client *ingest.Client) {
	b.Helper()
	messages := make([]*ingest.Output, benchRecords)
	for i := range messages {
		messages[i] = &ingest.Output{Key: fmt.Appendf(nil, "visit-%d", i), Value: fmt.Appendf(nil, "%0*d",
			benchInputBytes, i)}
	}
	if err := ingest.NewProducer(client, discard).Produce(b.Context(), "in", messages); err != nil {
		b.Fatal(err)
	}
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
func BenchmarkConsumer(b *testing.B) { consume(b, nil) }

// BenchmarkTraces is BenchmarkConsumer with spans of a share of the records, which a collector takes.
func BenchmarkTraces(b *testing.B) {
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	b.Cleanup(collector.Close)
	for _, ratio := range []float64{.01, 1} {
		b.Run(fmt.Sprintf("ratio=%v", ratio), func(b *testing.B) {
			registry := prometheus.NewRegistry()
			spans, err := traces.New(&config.Traces{Endpoint: collector.URL, Ratio: ratio}, "", discard, registry)
			if err != nil {
				b.Fatal(err)
			}
			consume(b, spans.Tracer())
			spans.Close()
			b.ReportMetric(ingesttest.Metric(b, registry, "wardcast_trace_spans_total", "dropped")/float64(b.N),
				"dropped/op")
		})
	}
}

func consume(b *testing.B, tracer trace.Tracer) {
	b.Helper()
	conn, client := benchCluster(b, false)
	fill(b, client)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		out := fmt.Sprintf("out-%d", n)
		if err := client.CreateTopics(b.Context(), ingest.Topic{Name: out}); err != nil {
			b.Fatal(err)
		}
		c, err := ingest.New(ingest.Config{
			Connection: conn, Group: out, Input: "in", Output: out, DeadLetters: "dlq",
			Handler: answerWorker{make([]byte, benchOutputBytes)}, Logger: discard, Tracer: tracer,
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
	conn, client := benchCluster(b, false)
	fill(b, client)
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
		Brokers: conn.Brokers, GroupID: out, Topic: "in", StartOffset: kafka.FirstOffset,
		MaxWait: 100 * time.Millisecond, QueueCapacity: 2000, JoinGroupBackoff: 500 * time.Millisecond,
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
			batch = append(batch, kafka.Message{
				Key: m.Key, Value: value, Headers: []kafka.Header{{Key: "ce_id", Value: []byte("0123456789abcdef")}},
			})
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

// BenchmarkLatency sends 1,000 records a second, one by one, and takes the time
// from when each was due to be sent until its answer is read from the output.
func BenchmarkLatency(b *testing.B) {
	for _, sync := range []bool{false, true} {
		b.Run(fmt.Sprintf("sync=%t", sync), func(b *testing.B) {
			conn, client := benchCluster(b, sync)
			if err := client.CreateTopics(b.Context(), ingest.Topic{Name: "out"}); err != nil {
				b.Fatal(err)
			}
			c, err := ingest.New(ingest.Config{
				Connection: conn, Group: "g", Input: "in", Output: "out", DeadLetters: "dlq",
				Handler: stampWorker{make([]byte, benchOutputBytes)}, Logger: discard,
			})
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(b.Context())
			done := make(chan error, 1)
			go func() { done <- c.Run(ctx) }()
			taken := make(chan time.Duration, 1000)
			for p := range ingest.DefaultPartitions {
				go readStamps(ctx, conn, p, taken)
			}
			producer := ingest.NewProducer(client, discard)
			for c.Check() != nil {
				<-time.After(10 * time.Millisecond)
			}
			send := func(i int, due time.Time) {
				m := &ingest.Output{Key: fmt.Appendf(nil, "visit-%d", i), Value: fmt.Appendf(nil, "%0*d",
					benchInputBytes, due.UnixNano())}
				if err := producer.Produce(b.Context(), "in", []*ingest.Output{m}); err != nil {
					b.Error(err)
				}
			}
			var all []time.Duration
			n := 0
			for b.Loop() {
				const second = 1000
				begin := time.Now()
				for i := range second {
					due := begin.Add(time.Duration(i) * time.Millisecond)
					<-time.After(time.Until(due))
					go send(n*second+i, due)
				}
				for range second {
					all = append(all, <-taken)
				}
				n++
			}
			cancel()
			if err := <-done; err != nil {
				b.Fatal(err)
			}
			slices.Sort(all)
			for _, q := range []float64{50, 99} {
				b.ReportMetric(all[int(float64(len(all)-1)*q/100)].Seconds()*1e3, fmt.Sprintf("p%.0f-ms", q))
			}
		})
	}
}

// stampWorker answers with the number that the record begins with.
type stampWorker struct{ padding []byte }

func (w stampWorker) NewWorker() ingest.Worker { return w }

func (w stampWorker) Handle(r *ingest.Record, out *ingest.Output) error {
	out.Key = r.Key
	out.Value = append(append(append(out.Value, r.Value...), ' '), w.padding...)
	return nil
}

// readStamps sends how long ago the times in one partition of the output were.
func readStamps(ctx context.Context, conn ingest.Connection, partition int, taken chan<- time.Duration) {
	r := kafka.NewReader(
		kafka.ReaderConfig{Brokers: conn.Brokers, Topic: "out", Partition: partition, MaxWait: 100 * time.Millisecond})
	defer func() { _ = r.Close() }()
	for {
		m, err := r.ReadMessage(ctx)
		if err != nil {
			return
		}
		ns, err := strconv.ParseInt(string(bytes.TrimLeft(m.Value[:benchInputBytes], "0")), 10, 64)
		if err != nil {
			panic(err)
		}
		taken <- time.Since(time.Unix(0, ns))
	}
}
