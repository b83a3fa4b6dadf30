package ingest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/internal/meter"
	"github.com/wardcast/wardcast/internal/wait"
)

// DefaultReadyAfterStall is the default of Config.ReadyAfterStall.
const DefaultReadyAfterStall = 30 * time.Second

// backlog is what waits in the partitions of this member. It is kept while the member rejoins its group.
type backlog struct {
	mu         sync.Mutex
	partitions map[int]*waiting
	// carried is what prevented reading or writing of a partition that went to another member, until one of those that
	// are left or came makes progress: joining the group again mends nothing.
	carried failure
	looks   time.Duration // in which the end of a partition must have been read, or its lag is unknown
}

type waiting struct {
	// offsets: next of the first record without an answer, -1 if unknown; end after the last record
	next, end int64
	// offset after the last readable record: those of an open transaction, and all behind it, come later
	readable int64
	held     time.Time // since when readable has not moved towards end; zero if it reached it
	oldest   time.Time // timestamp of the record at next, or of one before; zero if none was read
	endRead  time.Time // when end was last read; zero for never
	asked    bool      // the leader is being asked for end
	// what prevents reading (until read is called) and writing of answers or dead letters (until answer)
	reading, writing failure
}

// failure is why a partition cannot read or write; zero if it can.
type failure struct {
	err   error     // the latest
	since time.Time // of the first error in a row
}

func (t *failure) fail(err error) {
	if t.err == nil {
		t.since = time.Now()
	}
	t.err = err
}

func newBacklog(looks time.Duration) *backlog {
	return &backlog{looks: looks, partitions: make(map[int]*waiting)}
}

// readings returns the metrics of the backlog.
func (b *backlog) readings() prometheus.Collector {
	return meter.New(nil, "wardcast_ingest_").Readings(b.measure,
		[]string{"lag_records", "Records in the input topic without an answer yet.", "partition"},
		[]string{"lag_unknown_partitions", "Partitions whose lag may be larger than said, or is not said: their " +
			"leaders have not answered for 15 s."},
		[]string{"open_transaction_seconds", "How long a producer's open transaction has held back the records of a " +
			"partition, at most; 0 if none does."},
		[]string{"oldest_unanswered_seconds", "Age of the oldest record that was read and has no answer yet, by its " +
			"timestamp; 0 if all are answered."})
}

func (b *backlog) measure(set meter.Set) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var oldest, held time.Duration
	unknown := 0
	for id, w := range b.partitions {
		if w.next < 0 || time.Since(w.endRead) > b.looks {
			unknown++
		}
		if w.next < 0 || w.endRead.IsZero() {
			continue
		}
		set("lag_records", float64(max(0, w.end-w.next)), strconv.Itoa(id))
		if !w.oldest.IsZero() {
			oldest = max(oldest, time.Since(w.oldest))
		}
		if !w.held.IsZero() {
			held = max(held, time.Since(w.held))
		}
	}
	set("lag_unknown_partitions", float64(unknown))
	set("oldest_unanswered_seconds", oldest.Seconds())
	set("open_transaction_seconds", held.Seconds())
}

// assign sets the partitions and keeps what is known of those that were assigned before.
func (b *backlog) assign(ids []int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.partitions, func(id int, w *waiting) bool {
		gone := !slices.Contains(ids, id)
		for _, f := range []failure{w.writing, w.reading} {
			if gone && f.err != nil && (b.carried.err == nil || f.since.Before(b.carried.since)) {
				b.carried = f
			}
		}
		return gone
	})
	if len(ids) == 0 {
		b.carried = failure{} // there is nothing to make progress with
	}
	for _, id := range ids {
		if b.partitions[id] == nil {
			b.partitions[id] = &waiting{next: -1}
		}
	}
}

// update changes the state of a partition that is still assigned to this member.
func (b *backlog) update(id int, f func(*waiting)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w := b.partitions[id]; w != nil {
		f(w)
	}
}

// read records what a fetch from next found.
func (b *backlog) read(id int, next int64, f *fetched) {
	b.update(id, func(w *waiting) {
		now := time.Now()
		switch {
		case f.end >= f.high:
			w.held = time.Time{}
		case f.end != w.readable || w.held.IsZero():
			w.held = now
		}
		w.next, w.end, w.readable, w.endRead, w.reading = next, f.high, f.end, now, failure{}
		if f.empty {
			b.carried = failure{}
		}
	})
}

// hold records the timestamp of the first record of a batch in progress; without a timestamp, now.
func (b *backlog) hold(id int, at time.Time) {
	if at.UnixMilli() <= 0 {
		at = time.Now()
	}
	b.update(id, func(w *waiting) { w.oldest = at })
}

// answer records that everything before next is answered.
func (b *backlog) answer(id int, next int64) {
	b.update(id, func(w *waiting) {
		if next > w.next {
			b.carried = failure{}
		}
		if w.next, w.writing = next, (failure{}); next >= w.readable {
			w.oldest = time.Time{}
		}
	})
}

// failed returns an error if some partition has made no progress for this long.
func (b *backlog) failed(after time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(b.partitions)) {
		for _, t := range []failure{b.partitions[id].writing, b.partitions[id].reading} {
			if t.err != nil && time.Since(t.since) >= after {
				return fmt.Errorf("partition %d has made no progress for %s: %w", id,
					time.Since(t.since).Round(time.Second), t.err)
			}
		}
	}
	if c := b.carried; c.err != nil && time.Since(c.since) >= after {
		return fmt.Errorf("no progress for %s, also since partitions moved: %w", time.Since(c.since).Round(time.Second),
			c.err)
	}
	return nil
}

// heldBack returns a sentence about a partition held back for this long by an open transaction, or "".
func (b *backlog) heldBack(after time.Duration) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(b.partitions)) {
		if w := b.partitions[id]; !w.held.IsZero() && time.Since(w.held) >= after {
			return fmt.Sprintf("a producer's open transaction has held back records of partition %d for %s", id,
				time.Since(w.held).Round(time.Second))
		}
	}
	return ""
}

// stale returns the partitions whose ends no fetch has reported for this long and that are not asked for. They are now.
func (b *backlog) stale(after time.Duration) (ids []int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, w := range b.partitions {
		if time.Since(w.endRead) > after && !w.asked {
			w.asked = true
			ids = append(ids, id)
		}
	}
	return ids
}

// watch updates the backlog of stuck partitions and detects missing topics, until ctx ends.
func (c *Consumer) watch(ctx context.Context) {
	var ends sync.WaitGroup
	defer ends.Wait()
	ends.Go(func() { c.watchTopics(ctx) })
	for wait.For(ctx, c.client.pauses.backlog) {
		// A leader that does not answer holds up no other.
		for _, id := range c.backlog.stale(c.client.pauses.backlog) {
			ends.Go(func() {
				_, end, err := c.client.bounds(ctx, c.cfg.Input, id)
				c.backlog.update(id, func(w *waiting) {
					if w.asked = false; err == nil {
						w.end, w.readable, w.endRead = max(w.end, end), max(w.readable, end), time.Now()
					}
				})
			})
		}
	}
}

func (c *Consumer) watchTopics(ctx context.Context) {
	for wait.For(ctx, c.client.pauses.backlog) {
		var missing []string
		for _, topic := range c.topics() {
			counts, err := c.client.partitions(ctx, topic)
			gone := err == nil && counts[topic] == 0
			if gone {
				missing = append(missing, topic)
			}
			c.metrics.missing.WithLabelValues(topic).Set(meter.Bool(gone))
		}
		c.missing.Store(&missing)
	}
}

func (c *Consumer) topics() []string { return []string{c.cfg.Input, c.cfg.Output, c.cfg.DeadLetters} }

// Check returns nil if the consumer is ready. It is not if it has not joined its group (or not rejoined for
// ReadyAfterStall), a topic is missing, or a partition could not be read or answered for ReadyAfterStall. A member
// without partitions is ready: its group has more members than partitions.
func (c *Consumer) Check() error {
	if err := c.membership.unready(c.cfg.ReadyAfterStall); err != nil {
		return err
	}
	if missing := c.missing.Load(); missing != nil && len(*missing) > 0 {
		return &MissingTopicsError{Topics: *missing}
	}
	return c.backlog.failed(c.cfg.ReadyAfterStall)
}

// Remark returns a sentence on why a ready consumer has not answered for ReadyAfterStall, or "".
func (c *Consumer) Remark() string {
	return cmp.Or(c.membership.remark(c.cfg.ReadyAfterStall), c.backlog.heldBack(c.cfg.ReadyAfterStall))
}
