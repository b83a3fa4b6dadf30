package deadletter

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/msg"
)

const (
	keptLetters = 1000      // of the newest letters that a Tally lists
	recount     = time.Hour // after which a KafkaTopic is read anew: retention has deleted some
)

// Tally is the dead letters that a KafkaTopic holds.
type Tally struct {
	Counts []Count  // by reason, most letters first
	Latest []Letter // newest first, at most keptLetters
}

// Watch counts the dead letters of a KafkaTopic as they are written. The zero value knows none yet.
type Watch struct{ shown atomic.Pointer[counter] }

// Tally returns the dead letters so far, or nil until all were read.
func (w *Watch) Tally() *Tally {
	c := w.shown.Load()
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trim()
	return &Tally{Counts: sorted(c.counts), Latest: slices.Clone(c.latest)}
}

// Run counts until ctx ends, or with an error of ingest.Client.Follow. Nothing is known after an error.
func (w *Watch) Run(ctx context.Context, b *Box) error {
	for ctx.Err() == nil {
		c := &counter{read: map[int]bool{}, counts: map[msg.Reason]*Count{}}
		follow := ingest.Follow{Topic: b.Topic, Logger: b.Logger, Current: func(partition, partitions int) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.read[partition] = true; len(c.read) == partitions {
				w.shown.Store(c)
			}
		}}
		bounded, cancel := context.WithTimeout(ctx, recount)
		err := b.Client.Follow(bounded, follow, c.take)
		cancel()
		if err != nil && bounded.Err() == nil {
			w.shown.Store(nil)
			return err
		}
	}
	return nil
}

// counter is one reading of a KafkaTopic.
type counter struct {
	mu     sync.Mutex
	read   map[int]bool // partitions that were read to their end
	counts map[msg.Reason]*Count
	latest []Letter
}

func (c *counter) take(r *ingest.Record) {
	l, ok := newLetter(r)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	addTo(c.counts, &l)
	if c.latest = append(c.latest, l); len(c.latest) >= 2*keptLetters {
		c.trim()
	}
}

func (c *counter) trim() {
	slices.SortStableFunc(c.latest, func(a, b Letter) int { return b.Time.Compare(a.Time) })
	c.latest = c.latest[:min(len(c.latest), keptLetters)]
}

// addTo adds a letter to the count of its reason.
func addTo(counts map[msg.Reason]*Count, l *Letter) {
	c := counts[l.Reason]
	if c == nil {
		c = &Count{Reason: l.Reason, Oldest: l.Time, Newest: l.Time}
		counts[l.Reason] = c
	}
	c.Letters++
	if l.Time.Before(c.Oldest) {
		c.Oldest = l.Time
	}
	if l.Time.After(c.Newest) {
		c.Newest = l.Time
	}
}

// sorted returns the counts, most letters first.
func sorted(counts map[msg.Reason]*Count) []Count {
	all := make([]Count, 0, len(counts))
	for _, c := range counts {
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Letters, a.Letters), cmp.Compare(a.Reason, b.Reason))
	})
	return all
}
