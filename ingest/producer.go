package ingest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/wait"
)

// maxBatchBytes bounds one batch before compression. Brokers accept 1 MiB (1048588 bytes) by default.
const maxBatchBytes = 900 << 10

// TooLargeError is the broker's refusal of a message because of its size.
type TooLargeError struct {
	Topic   string
	Bytes   int
	Message *Output
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("a message of %d bytes is too large for topic %q: raise its max.message.bytes", e.Bytes, e.Topic)
}

func (e *TooLargeError) Unwrap() error { return kafka.MessageSizeTooLarge }

// Compressions returns the names of the compressions of messages.
func Compressions() []string { return []string{"none", "snappy", "lz4", "zstd"} }

// codec returns the compression of that name, none for "".
func codec(name string) (c kafka.Compression, err error) {
	name = cmp.Or(name, "none")
	if !slices.Contains(Compressions(), name) {
		return c, fmt.Errorf("unknown compression %q: use one of %s", name, strings.Join(Compressions(), ", "))
	}
	return c, c.UnmarshalText([]byte(name))
}

// Producer writes messages and waits until all in-sync replicas have them. It is safe for concurrent use.
//
// A message without a key goes to the partition of the record that it answers, any other to the partition that Java's
// default partitioner would choose (murmur2 of the key), so that messages with the same key stay in order.
type Producer struct {
	client *Client
	log    *slog.Logger
	// failed is called with the error before each retry. If nil, an error that somebody must fix ends Produce.
	failed      func(error)
	compression kafka.Compression // of the batches
}

// NewProducer returns a producer that writes through client.
func NewProducer(client *Client, log *slog.Logger) *Producer {
	return &Producer{client: client, log: log}
}

// Produce writes messages to topic in their order and returns when all are acknowledged. It retries while the cluster
// is unreachable; only the end of ctx, a *TooLargeError, or an error that somebody must fix, for example a
// *DeniedError, stops it. A message whose acknowledgement was lost is written twice. After an error any of the messages
// may have been written; another call with them skips those that were acknowledged. The messages belong to the producer
// from the first call on: a request that timed out may still read them after a later one succeeded.
func (p *Producer) Produce(ctx context.Context, topic string, messages []*Output) error {
	if len(messages) == 0 {
		return nil
	}
	for attempt := 0; ; attempt++ {
		err := p.spread(ctx, topic, messages)
		changed, ok := errors.AsType[*partitionsError](err)
		if !ok {
			return err
		}
		if err := p.again(ctx, topic, attempt, changed.err); err != nil {
			return err
		}
	}
}

// partitionsError says that the partitions of a topic are unknown or have changed.
type partitionsError struct{ err error }

func (e *partitionsError) Error() string { return e.err.Error() }

// spread writes the messages that are not acknowledged yet to the current partitions of topic.
func (p *Producer) spread(ctx context.Context, topic string, messages []*Output) error {
	counts, err := p.client.partitions(ctx, topic)
	if err == nil && counts[topic] == 0 {
		err = &MissingTopicsError{Topics: []string{topic}}
	}
	if err != nil {
		return &partitionsError{denied(err, "Write", "topic", topic)}
	}
	var all errgroup.Group
	for partition, batch := range byPartition(messages, counts[topic]) {
		all.Go(func() error { return p.toPartition(ctx, topic, partition, batch) })
	}
	return all.Wait()
}

// byPartition groups the messages that are not acknowledged yet by partition, out of n.
func byPartition(messages []*Output, n int) map[int][]*Output {
	batches := make(map[int][]*Output, n)
	ids := lists.Make(n, func(i int) int { return i })
	for _, m := range messages {
		if m.acknowledged {
			continue
		}
		i := m.record.Partition % n
		if m.Key != nil {
			i = kafka.Murmur2Balancer{}.Balance(kafka.Message{Key: m.Key}, ids...)
		}
		batches[i] = append(batches[i], m)
	}
	return batches
}

// toPartition writes messages to one partition, in batches that brokers accept.
func (p *Producer) toPartition(ctx context.Context, topic string, partition int, messages []*Output) error {
	for len(messages) > 0 {
		n, size := 1, messages[0].size()
		for n < len(messages) && size+messages[n].size() <= maxBatchBytes {
			size += messages[n].size()
			n++
		}
		if err := p.batch(ctx, topic, partition, messages[:n]); err != nil {
			return err
		}
		messages = messages[n:]
	}
	return nil
}

// batch writes one batch and retries until it is acknowledged. It halves a batch that is too large for the topic.
func (p *Producer) batch(ctx context.Context, topic string, partition int, messages []*Output) error {
	for attempt := 0; ; attempt++ {
		res, err := p.client.kafka.Produce(ctx, &kafka.ProduceRequest{
			Topic: topic, Partition: partition, RequiredAcks: kafka.RequireAll,
			Records: &recordReader{messages: messages}, Compression: p.compression,
		})
		if err == nil {
			err = denied(res.Error, "Write", "topic", topic)
		}
		for _, m := range messages {
			m.acknowledged = err == nil
			m.lent = m.lent || err != nil
		}
		if err == nil {
			return nil
		}
		if errors.Is(err, kafka.MessageSizeTooLarge) {
			if len(messages) == 1 {
				return &TooLargeError{Topic: topic, Bytes: messages[0].size(), Message: messages[0]}
			}
			half := len(messages) / 2
			if err := p.batch(ctx, topic, partition, messages[:half]); err != nil {
				return err
			}
			return p.batch(ctx, topic, partition, messages[half:])
		}
		if noPartition(err) {
			return &partitionsError{err}
		}
		if err := p.again(ctx, topic, attempt, err); err != nil {
			return err
		}
	}
}

// again counts and logs a failed attempt, and waits before the next one. It returns an error if there is to be none.
func (p *Producer) again(ctx context.Context, topic string, attempt int, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if p.failed != nil {
		p.failed(err)
	}
	if !permanent(err) {
		return again(ctx, attempt, err, p.log.With("kafka_topic", topic), "cannot produce")
	}
	if p.failed == nil {
		return fmt.Errorf("writing to topic %q: %w", topic, err)
	}
	_ = wait.For(ctx, p.client.pauses.permanent)
	return ctx.Err()
}

// recordReader hands messages to kafka-go's encoder without an allocation for each.
type recordReader struct {
	messages   []*Output
	next       int
	record     kafka.Record
	key, value buffer
}

func (r *recordReader) ReadRecord() (*kafka.Record, error) {
	if r.next == len(r.messages) {
		return nil, io.EOF
	}
	m := r.messages[r.next]
	r.next++
	r.record = kafka.Record{Key: r.key.bytes(m.Key), Value: r.value.bytes(m.Value), Headers: m.Headers}
	return &r.record, nil
}

type buffer struct{ bytes.Reader }

func (b *buffer) bytes(data []byte) kafka.Bytes {
	if data == nil {
		return nil // a nil interface is Kafka's null
	}
	b.Reset(data)
	return b
}

func (*buffer) Close() error { return nil }

var _ kafka.Bytes = (*buffer)(nil)
