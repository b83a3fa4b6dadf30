package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"
)

const (
	echoBatch   = 512
	echoTimeout = 5 * time.Millisecond
)

// echo is the bare loop: kafka-go's own reader and writer, one loop per partition. It answers every message with the
// payload under the message's key, waits until all in-sync replicas have it, and commits. It runs until ctx ends.
func echo(ctx context.Context, brokers []string, t topics, payload []byte, started func()) error {
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{ID: t.group, Brokers: brokers, Topics: []string{t.in}, StartOffset: kafka.FirstOffset, HeartbeatInterval: time.Second, JoinGroupBackoff: 500 * time.Millisecond})
	if err != nil {
		return fmt.Errorf("making a group: %w", err)
	}
	defer func() { _ = group.Close() }() // its offsets are committed as it goes
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	writer := &kafka.Writer{Addr: kafka.TCP(brokers...), Topic: t.out, Balancer: &kafka.Murmur2Balancer{}, RequiredAcks: kafka.RequireAll, BatchSize: echoBatch, BatchTimeout: echoTimeout, Transport: transport}
	defer func() { _ = writer.Close() }() // every write was waited for
	for {
		generation, err := group.Next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			continue // no coordinator yet; the group pauses between attempts
		}
		loops, inner := errgroup.WithContext(ctx)
		for _, a := range generation.Assignments[t.in] {
			loops.Go(func() error { return echoPartition(inner, brokers, t, a, writer, generation, payload, started) })
		}
		if err := loops.Wait(); err != nil && ctx.Err() == nil {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

func echoPartition(ctx context.Context, brokers []string, t topics, a kafka.PartitionAssignment, writer *kafka.Writer, g *kafka.Generation, payload []byte, started func()) error {
	reader := kafka.NewReader(kafka.ReaderConfig{Brokers: brokers, Topic: t.in, Partition: a.ID, MinBytes: 1, MaxBytes: 1 << 20, QueueCapacity: 2 * echoBatch, MaxWait: 500 * time.Millisecond})
	defer func() { _ = reader.Close() }() // nothing is left to read
	if err := reader.SetOffset(a.Offset); err != nil {
		return fmt.Errorf("seeking: %w", err)
	}
	batch := make([]kafka.Message, 0, echoBatch)
	for {
		m, err := reader.FetchMessage(ctx)
		if err != nil {
			return fmt.Errorf("fetching: %w", err)
		}
		started()
		batch = batch[:0]
		next := m.Offset
		// And all that comes within a moment.
		soon, cancel := context.WithTimeout(ctx, echoTimeout)
		for err == nil {
			batch = append(batch, kafka.Message{Key: m.Key, Value: payload})
			if next = m.Offset + 1; len(batch) == echoBatch {
				break
			}
			m, err = reader.FetchMessage(soon)
		}
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("fetching: %w", err)
		}
		if err := writer.WriteMessages(ctx, batch...); err != nil {
			return fmt.Errorf("writing: %w", err)
		}
		if err := g.CommitOffsets(map[string]map[int]int64{t.in: {a.ID: next}}); err != nil {
			return fmt.Errorf("committing: %w", err)
		}
	}
}
