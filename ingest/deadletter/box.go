// Package deadletter inspects dead letters and sends them back to their KafkaTopic once the cause is fixed.
//
// A dead letter is a message that could not be answered, with headers that say why. It remains in its KafkaTopic until
// retention deletes it: sending it back writes a copy of the original message, without those headers, to the KafkaTopic
// that it came from. The copy's msg.HeaderReplays counts the attempts, so that a message that fails each time is not
// sent back for ever.
//
// Only Read passes on the message itself; a Letter has its place, its size and the reason.
package deadletter

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/time/rate"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/msg"
)

// Box is a KafkaTopic of dead letters. It is read outside any consumer group, up to its end when reading begins.
type Box struct {
	Client   *ingest.Client
	Topic    string
	Logger   *slog.Logger
	Progress func(done, total int64) // called with the offsets passed and their total; may be nil
}

// Read calls each for the matching dead letters, partition after partition, and returns the number of other records.
// The record is the original message, valid until each returns. An error of each ends the reading.
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
		addTo(counts, l)
		return nil
	})
	return sorted(counts), err
}

// DefaultMaxAttempts is the default of Sending.MaxAttempts.
const DefaultMaxAttempts = 3

// Sending says which dead letters to send back, and how.
type Sending struct {
	Filter
	// To is the KafkaTopic to send to. Letters from another one are not sent.
	To          string
	MaxAttempts int     // skip messages that have become dead letters this often
	Rate        float64 // messages per second; 0 is no limit
	DryRun      bool    // count, and send nothing
}

// Sent counts what became of the dead letters that matched.
type Sent struct {
	Sent      int `json:"sent"`      // or would be, in a dry run
	Elsewhere int `json:"elsewhere"` // came from another KafkaTopic
	Exhausted int `json:"exhausted"` // reached MaxAttempts
	Lost      int `json:"lost"`      // lack the message's value
	Erased    int `json:"erased"`    // a record without a value has erased their key since
	Foreign   int `json:"foreign"`   // records that are not dead letters
}

const (
	// A batch ends at the first of these limits.
	maxBatch      = 100
	maxBatchBytes = 512 << 10
)

// Send sends the matching dead letters back to where they came from, except those that are written while it runs. After
// an error, Sent counts what was acknowledged; sending again repeats that.
func (b *Box) Send(ctx context.Context, s Sending) (Sent, error) {
	run := sending{Box: b, Sending: s, producer: ingest.NewProducer(b.Client, b.Logger), pace: rate.NewLimiter(rate.Inf,
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
	*Box
	Sending
	Sent
	producer *ingest.Producer
	pace     *rate.Limiter
	batch    []*ingest.Output
	bytes    int
	erasures map[string]Place // in To, the last one of each key; nil until they are read
}

// erased reports whether a record without a value erased the key of a letter after its message was written, or in
// another partition, whose order says nothing.
func (s *sending) erased(ctx context.Context, l *Letter, r *ingest.Record) (bool, error) {
	if s.erasures == nil {
		s.erasures = map[string]Place{}
		if _, err := s.Client.Replay(ctx, ingest.Replay{Topic: s.To, Logger: s.Logger}, func(r *ingest.Record) error {
			if len(r.Value) == 0 && len(r.Key) > 0 {
				s.erasures[string(r.Key)] = Place{r.Partition, r.Offset}
			}
			return nil
		}); err != nil {
			return false, fmt.Errorf("looking for what was erased: %w", err)
		}
	}
	at, is := s.erasures[string(r.Key)]
	return is && (at.Partition != l.Source.Partition || at.Offset > l.Source.Offset), nil
}

func (s *sending) take(ctx context.Context, l *Letter, r *ingest.Record) error {
	switch {
	case l.Topic != s.To:
		s.Elsewhere++
		return nil
	case l.LostOffsets > 0 || len(r.Value) == 0: // without a value it would erase what has its key
		s.Lost++
		return nil
	case l.Attempts >= s.MaxAttempts:
		s.Exhausted++
		return nil
	}
	switch erased, err := s.erased(ctx, l, r); {
	case err != nil:
		return err
	case erased:
		s.Erased++
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
