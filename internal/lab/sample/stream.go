package sample

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"

	"github.com/wardcast/wardcast/ingest"
)

// Pause waits for d, or returns the error of ctx if that ends first.
func Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// batch is how many messages go out at once without a rate.
const batch = 1000

// grace is how long messages that are on their way may take to arrive after the end of the context.
const grace = 5 * time.Second

// Stream is messages to send.
type Stream struct {
	Topic   string
	Count   int
	Rate    float64                    // messages per second; 0 is as fast as it goes
	Message func(i int) *ingest.Output // is called with 0 to Count-1, when the message is due
}

// Send produces the messages and returns when all are acknowledged, or with the error of ctx.
func (s *Stream) Send(ctx context.Context, p *ingest.Producer) error {
	// What was asked for still arrives after the end of ctx, so that the caller knows whether an answer will come.
	produce, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, abandon) })()
	began := time.Now()
	for from := 0; from < s.Count; {
		to := min(from+batch, s.Count)
		if s.Rate > 0 {
			// What is due by now, at least one message.
			to = min(max(from+1, int(time.Since(began).Seconds()*s.Rate)), s.Count)
			due := began.Add(time.Duration(float64(to) / s.Rate * float64(time.Second)))
			if err := Pause(ctx, time.Until(due)); err != nil {
				return err
			}
		}
		out := make([]*ingest.Output, 0, to-from)
		for i := from; i < to; i++ {
			out = append(out, s.Message(i))
		}
		if err := p.Produce(produce, s.Topic, out); err != nil {
			return fmt.Errorf("sending notes: %w", err)
		}
		from = to
	}
	return nil
}

// Read hands every message of the topics, which have the default number of partitions, to take until ctx ends. It calls
// take from several goroutines.
func Read(ctx context.Context, brokers []string, take func(m *kafka.Message) error, topics ...string) error {
	readers, ctx := errgroup.WithContext(ctx)
	for _, topic := range topics {
		for i := range ingest.DefaultPartitions {
			readers.Go(func() error {
				reader := kafka.NewReader(kafka.ReaderConfig{Brokers: brokers, Topic: topic, Partition: i, MinBytes: 1, MaxBytes: 10 << 20, MaxWait: 500 * time.Millisecond})
				defer func() { _ = reader.Close() }() // nothing is left to read
				for {
					m, err := reader.ReadMessage(ctx)
					if errors.Is(err, io.EOF) || ctx.Err() != nil {
						return nil
					}
					if err != nil {
						return fmt.Errorf("reading predictions: %w", err)
					}
					if err := take(&m); err != nil {
						return err
					}
				}
			})
		}
	}
	return readers.Wait()
}

// Latency is quantiles in milliseconds.
type Latency struct {
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
}

// Quantiles returns those of latencies in milliseconds, which it sorts; 0 if there are none.
func Quantiles(ms []float64) Latency {
	if len(ms) == 0 {
		return Latency{}
	}
	slices.Sort(ms)
	at := func(q float64) float64 { return ms[min(int(q*float64(len(ms))), len(ms)-1)] }
	return Latency{at(.5), at(.99), at(.999)}
}
