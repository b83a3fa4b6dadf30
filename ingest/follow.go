package ingest

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/wardcast/wardcast/internal/loglimit"
	"github.com/wardcast/wardcast/internal/wait"
)

// followMaxBytes bounds one fetch of one partition: all partitions may wait with one at a time.
const followMaxBytes = 256 << 10

// Follow reads a KafkaTopic as it grows, outside any consumer group: it commits nothing.
type Follow struct {
	Topic string
	// From skips the records before the first one whose timestamp is not before From; zero reads all.
	From time.Time
	// Rate is the maximum number of records read per second, which leaves processor time to others; 0 means no limit.
	Rate int
	// Current is called when a partition has been read up to its end, and then about twice a second until more is
	// written. partitions is the number being read. Calls overlap; nil is allowed.
	Current func(partition, partitions int)
	Logger  *slog.Logger // of retried requests; nil is silent
}

// Follow calls each for the records of a topic, those of one partition in their order, and waits for more until ctx
// ends; then it returns nil. The calls do not overlap. The record is valid until each returns.
//
// It returns a *MissingTopicsError if the topic does not exist at the beginning, a *DeniedError once the user may not
// read it, and an error, also logged, if each panics. Any other request that fails is retried until it succeeds. If
// records were deleted before they were read, or the topic was recreated, reading continues with the oldest record, so
// records may repeat. Unreadable records are skipped as in a Replay. Memory is one response of at most 256 KiB (or one
// larger batch) for each partition, and one record.
func (c *Client) Follow(ctx context.Context, f Follow, each func(*Record)) error {
	f.Logger = cmp.Or(f.Logger, slog.New(slog.DiscardHandler))
	if _, err := c.found(ctx, f.Topic, f.Logger); err != nil && ctx.Err() == nil {
		return err
	}
	run := &follow{Follow: f, client: c, each: each}
	parts, ctx := errgroup.WithContext(ctx)
	tick := time.Tick(c.pauses.follow)
	for started := 0; ctx.Err() == nil; {
		// After an error the partitions that are read continue.
		counts, _ := c.partitions(ctx, f.Topic)
		run.partitions.Store(int64(max(started, counts[f.Topic])))
		for ; started < counts[f.Topic]; started++ {
			id := started
			parts.Go(func() error { return run.partition(ctx, id) })
		}
		select {
		case <-ctx.Done():
		case <-tick:
		}
	}
	return parts.Wait()
}

// follow is one run of Client.Follow.
type follow struct {
	Follow
	client     *Client
	partitions atomic.Int64

	mu   sync.Mutex // held while a record is handed on
	each func(*Record)
	debt time.Duration // how far reading is ahead of Rate
}

// partition reads a partition until ctx ends or each panics.
func (f *follow) partition(ctx context.Context, id int) error {
	run := &replay{
		Replay: Replay{Topic: f.Topic, From: f.From, Logger: f.Logger}, maxBytes: followMaxBytes,
		client: f.client, each: func(r *Record) error { return f.hand(ctx, r) },
	}
	part := replayPart{id: id}
	located := false
	for attempt := 0; ctx.Err() == nil; {
		var err error
		if !located {
			if err = run.bounds(ctx, &part); err == nil {
				located, part.end, run.From = true, math.MaxInt64, time.Time{}
			}
		} else {
			err = run.fetch(ctx, &part)
			if (err == nil || errors.Is(err, errNothing)) && part.next >= part.stable && f.Current != nil {
				f.Current(id, int(f.partitions.Load()))
			}
		}
		own, ended := errors.AsType[errEach](err)
		_, forbidden := errors.AsType[*DeniedError](err)
		switch {
		case ended && ctx.Err() == nil:
			return own.error
		case forbidden:
			return err
		case err == nil || errors.Is(err, errNothing):
			attempt = 0
		case errors.Is(err, errTruncated): // or retention deleted the next records
			located = false
		default:
			log := f.Logger.With("kafka_topic", f.Topic, "partition", id, "offset", part.next)
			_ = again(ctx, attempt, err, log, "cannot fetch records") // it ends with ctx
			attempt++
		}
	}
	return nil
}

// longestDebt is how far reading may be ahead of Rate before it pauses.
const longestDebt = 50 * time.Millisecond

// hand passes a record on, no faster than Rate.
func (f *follow) hand(ctx context.Context, r *Record) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer func() {
		if v := recover(); v != nil {
			err = errors.New("the reader of a topic panicked")
			what, stack := loglimit.Panic(v, 0)
			f.Logger.Error("the reader of a topic panicked", "kafka_topic", f.Topic, "partition", r.Partition,
				"offset", r.Offset, "panic", what, "stack", stack)
		}
	}()
	if f.Rate > 0 {
		if f.debt += time.Second / time.Duration(f.Rate); f.debt > longestDebt {
			if !wait.For(ctx, f.debt) {
				return ctx.Err()
			}
			f.debt = 0
		}
	}
	f.each(r)
	return nil
}
