package deadletter

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/msg"
)

// Box is a KafkaTopic of dead letters. It is read outside any consumer group, up to the end that it has when reading
// begins.
type Box struct {
	Client *ingest.Client
	Topic  string
	Logger *slog.Logger
	// Progress is called with the offsets passed and their total; nil means nobody looks.
	Progress func(done, total int64)
}

// Read calls each for the dead letters that match, partition after partition, and returns how many records of the
// KafkaTopic are no dead letters. The record holds the message as it came; it is valid until each returns. An error of
// each ends the reading.
func (b *Box) Read(ctx context.Context, f Filter, each func(*Letter, *ingest.Record) error) (foreign int, err error) {
	_, err = b.Client.Replay(ctx, ingest.Replay{Topic: b.Topic, Progress: b.Progress, Logger: b.Logger},
		func(r *ingest.Record) error {
			l, ok := newLetter(r)
			switch {
			case !ok:
				foreign++
			case f.matches(&l):
				return each(&l, r)
			}
			return nil
		})
	return foreign, err
}

// Count is the dead letters of one reason.
type Count struct {
	Reason  msg.Reason `json:"reason"`
	Letters int        `json:"letters"`
	Oldest  time.Time  `json:"oldest"`
	Newest  time.Time  `json:"newest"`
}

// Count counts the dead letters that match by reason, most letters first.
func (b *Box) Count(ctx context.Context, f Filter) ([]Count, error) {
	counts := map[msg.Reason]*Count{}
	_, err := b.Read(ctx, f, func(l *Letter, _ *ingest.Record) error {
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
		return nil
	})
	all := make([]Count, 0, len(counts))
	for _, c := range counts {
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Letters, a.Letters), cmp.Compare(a.Reason, b.Reason))
	})
	return all, err
}

// DefaultMaxAttempts is how often a message may die, unless somebody says otherwise, before it is not sent back again.
const DefaultMaxAttempts = 3

// Sending says how to send dead letters back.
type Sending struct {
	Filter
	// To is the KafkaTopic to send to. Letters that came from another one stay.
	To string
	// MaxAttempts leaves out letters that have died so often.
	MaxAttempts int
	Rate        float64 // messages per second; 0 is without a limit
	DryRun      bool    // count, and send nothing
}

// Sent counts what became of the dead letters that matched.
type Sent struct {
	Sent      int `json:"sent"`      // or would be, in a dry run
	Elsewhere int `json:"elsewhere"` // came from another KafkaTopic
	Exhausted int `json:"exhausted"` // died MaxAttempts times
	Lost      int `json:"lost"`      // have not the message, which could not be read
	Foreign   int `json:"foreign"`   // records of the KafkaTopic that are no dead letters
}

const (
	// A batch of messages that are sent at once ends at the first of these limits.
	maxBatch      = 100
	maxBatchBytes = 512 << 10
)

// Send sends the dead letters that match back to where they came from. What dies again while it runs is left for
// another time. After an error, Sent counts what was acknowledged; sending again repeats that.
func (b *Box) Send(ctx context.Context, s Sending) (Sent, error) {
	run := sending{Sending: s, producer: ingest.NewProducer(b.Client, b.Logger), pace: rate.NewLimiter(rate.Inf,
		maxBatch)}
	if s.Rate > 0 {
		run.pace = rate.NewLimiter(rate.Limit(s.Rate), max(1, min(maxBatch, int(s.Rate))))
	}
	if !s.DryRun {
		if err := b.Client.CheckTopics(ctx, s.To); err != nil {
			return Sent{}, err
		}
	}
	foreign, err := b.Read(ctx, s.Filter, func(l *Letter, r *ingest.Record) error { return run.take(ctx, l, r) })
	if err == nil {
		err = run.flush(ctx)
	}
	run.Foreign = foreign
	if err != nil {
		err = fmt.Errorf("after %d dead letters were sent back: %w", run.Sent.Sent, err)
	}
	return run.Sent, err
}

// sending is one run of Send.
type sending struct {
	Sending
	Sent
	producer *ingest.Producer
	pace     *rate.Limiter
	batch    []*ingest.Output
	bytes    int
}

func (s *sending) take(ctx context.Context, l *Letter, r *ingest.Record) error {
	switch {
	case l.Topic != s.To:
		s.Elsewhere++
		return nil
	case l.LostOffsets > 0:
		s.Lost++
		return nil
	case l.Attempts >= s.MaxAttempts:
		s.Exhausted++
		return nil
	case s.DryRun:
		s.Sent.Sent++
		return nil
	}
	s.batch = append(s.batch, revive(r, l))
	s.bytes += l.Bytes
	if len(s.batch) >= s.pace.Burst() || s.bytes >= maxBatchBytes {
		return s.flush(ctx)
	}
	return nil
}

func (s *sending) flush(ctx context.Context) error {
	if err := s.pace.WaitN(ctx, len(s.batch)); err != nil {
		return err
	}
	if err := s.producer.Produce(ctx, s.To, s.batch); err != nil {
		return err
	}
	s.Sent.Sent += len(s.batch)
	s.batch, s.bytes = nil, 0
	return nil
}
