package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/wardcast/wardcast/ingest/recordset"
)

const (
	replayMaxBytes = 4 << 20 // bounds one fetch of a replay, and with it the memory
	// replayAttempts is the number of failures in a row that end a replay: 20 s, enough for a partition to find a new
	// leader.
	replayAttempts = 24
)

// Replay reads a KafkaTopic again, outside any consumer group: it commits nothing.
type Replay struct {
	Topic string
	// From skips the records before the first one whose timestamp is not before From; zero reads all.
	From time.Time
	// Progress is called after each fetch with the offsets passed and their total; may be nil.
	Progress func(done, total int64)
	Logger   *slog.Logger // of retried requests; nil is silent
}

// Replayed counts what a replay has passed.
type Replayed struct {
	Partitions int   `json:"partitions"`
	Records    int64 `json:"records"`
	// Absent counts the offsets without a record: compacted, of an aborted transaction, or a marker.
	Absent int64 `json:"absent"`
	// Lost counts skipped offsets: records above 1 MiB and 64 KiB, or in a batch that cannot be decompressed.
	Lost int64 `json:"lost"`
	// Deleted counts the offsets that retention deleted while the replay was under way.
	Deleted int64 `json:"deleted"`
}

// Replay calls each for the records of a topic, partition after partition in their order, up to the end that each
// partition has when Replay begins. The record is valid until each returns; an error of each ends the replay and is
// returned as it is.
//
// A failing request is retried for about 20 seconds. If the topic does not exist, the error is a *MissingTopicsError,
// and if the user may not read it, a *DeniedError. A partition that is truncated or recreated meanwhile is an error,
// since its records then come from different logs; so is a message from before Kafka 0.11. Memory is one response of at most 4 MiB (or one larger batch), and
// one record.
func (c *Client) Replay(ctx context.Context, r Replay, each func(*Record) error) (Replayed, error) {
	r.Logger = cmp.Or(r.Logger, slog.New(slog.DiscardHandler))
	counts, err := c.existing(ctx, r.Topic)
	if err != nil {
		return Replayed{}, err
	}
	run := &replay{Replay: r, client: c, each: each, maxBytes: replayMaxBytes}
	run.Partitions = counts[r.Topic]
	parts := make([]replayPart, run.Partitions)
	for i := range parts {
		parts[i].id = i
		if err := run.retry(ctx, &parts[i], "cannot find where a partition begins", run.bounds); err != nil {
			return run.Replayed, err
		}
		run.total += parts[i].end - parts[i].next
	}
	run.report(0)
	for i := range parts {
		for parts[i].next < parts[i].end {
			if err := run.retry(ctx, &parts[i], "cannot fetch records", run.fetch); err != nil {
				return run.Replayed, err
			}
		}
	}
	return run.Replayed, nil
}

// Ends returns the offset after the last record of each partition. It waits for brokers that do not answer, and retries
// other failing requests for about 20 seconds, as a replay does.
func (c *Client) Ends(ctx context.Context, topic string, log *slog.Logger) ([]int64, error) {
	count, err := c.found(ctx, topic, log)
	if err != nil {
		return nil, err
	}
	run := &replay{Replay: Replay{Topic: topic, Logger: log}, client: c}
	ends := make([]int64, count)
	for i := range ends {
		part := replayPart{id: i}
		if err := run.retry(ctx, &part, "cannot find where a partition ends", run.bounds); err != nil {
			return nil, err
		}
		ends[i] = part.end
	}
	return ends, nil
}

// replay is one run of Client.Replay.
type replay struct {
	Replay
	Replayed
	client   *Client
	each     func(*Record) error
	maxBytes int // of one fetch

	buffer      []byte // of one record
	done, total int64
}

// replayPart is what is left of a partition.
type replayPart struct {
	id        int
	next, end int64
	stable    int64 // fetched.end of the last fetch
}

// errEach wraps an error of the caller's function, which is not retried.
type errEach struct{ error }

// errNothing is returned by a fetch that passed no offset before the end.
var errNothing = errors.New("the broker returns no records before the end of the partition")

func (r *replay) retry(ctx context.Context, p *replayPart, what string,
	f func(context.Context, *replayPart) error,
) error {
	for attempt := 0; ; attempt++ {
		before := p.next
		err := f(ctx, p)
		if err == nil {
			return nil
		}
		if own, ok := errors.AsType[errEach](err); ok {
			return own.error
		}
		if p.next > before {
			attempt = 0
		}
		_, forbidden := errors.AsType[*DeniedError](err)
		_, old := errors.AsType[recordset.FormatError](err)
		if ctx.Err() != nil || attempt == replayAttempts || forbidden || old || errors.Is(err, errTruncated) {
			return fmt.Errorf("replaying topic %q, partition %d at offset %d: %w", r.Topic, p.id, p.next,
				cmp.Or(ctx.Err(), err))
		}
		log := r.Logger.With("kafka_topic", r.Topic, "partition", p.id, "offset", p.next)
		if err := again(ctx, attempt, err, log, what); err != nil {
			return err
		}
	}
}

func (r *replay) bounds(ctx context.Context, p *replayPart) error {
	first, end, err := r.client.bounds(ctx, r.Topic, p.id)
	if err != nil {
		return err
	}
	p.next, p.end = min(first, end), end
	if first >= end || r.From.UnixMilli() <= 0 {
		return nil
	}
	found, err := r.client.offsets(ctx, r.Topic, kafka.ReadUncommitted, kafka.TimeOffsetOf(p.id, r.From))
	if err != nil {
		return err
	}
	at := end // if all are older
	for offset := range found.Offsets {
		if offset >= 0 {
			at = offset
		}
	}
	p.next = min(max(at, first), end)
	return nil
}

var errTruncated = errors.New("the topic was truncated or recreated while it was read, or since the offsets up to " +
	"which to read were noted")

// fetch reads records once. It also passes offsets without a record.
func (r *replay) fetch(ctx context.Context, p *replayPart) error {
	before := p.next
	res, err := r.client.fetch(ctx, want{
		topic: r.Topic, partition: p.id, offset: p.next, maxBytes: r.maxBytes, maxRecord: maxReadBytes, alive: ctx.Err,
	})
	switch {
	case errors.Is(err, kafka.OffsetOutOfRange):
		err = r.relocate(ctx, p)
	case err == nil:
		p.stable = res.end
		if err = r.read(p, res.records); err == nil {
			r.pass(p, min(max(p.next, res.records.Passed()), p.end), &r.Absent)
		}
		r.client.release(res)
	}
	if err == nil && p.next == before {
		err = errNothing
	}
	r.report(p.next - before)
	return err
}

// read passes on the records of a response that are before the end.
func (r *replay) read(p *replayPart, records *recordset.Reader) error {
	for p.next < p.end {
		record, buffer, err := records.Next(r.buffer[:0])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		r.buffer = buffer
		r.pass(p, min(record.Offset, p.end), &r.Absent)
		switch {
		case record.Offset >= p.end:
		case record.Lost != "":
			r.Logger.Warn("skipping a record that cannot be read", "kafka_topic", r.Topic, "partition", p.id,
				"offset", record.Offset, "offsets", record.Offsets, "reason", record.Lost, "bytes", record.Size)
			r.pass(p, min(record.Offset+record.Offsets, p.end), &r.Lost)
		default:
			loaded := newRecord(&record, p.id)
			if err := r.each(&loaded); err != nil {
				return errEach{err}
			}
			r.pass(p, record.Offset+1, &r.Records)
		}
	}
	return nil
}

// relocate continues with the first record left if retention has deleted the next ones.
func (r *replay) relocate(ctx context.Context, p *replayPart) error {
	first, end, err := r.client.bounds(ctx, r.Topic, p.id)
	switch {
	case err != nil:
		return err
	case end < p.end:
		return errTruncated
	case first <= p.next:
		return kafka.OffsetOutOfRange // from a replica that lagged
	}
	r.pass(p, min(first, p.end), &r.Deleted)
	return nil
}

// pass moves to an offset and counts those in between.
func (r *replay) pass(p *replayPart, next int64, count *int64) {
	*count += next - p.next
	p.next = next
}

func (r *replay) report(passed int64) {
	r.done += passed
	if r.Progress != nil {
		r.Progress(r.done, r.total)
	}
}
