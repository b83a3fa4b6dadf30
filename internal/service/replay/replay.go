// Package replay reads past notes and outcomes from Kafka for models/retrain, outside any consumer group: it commits
// nothing and does not disturb a running scorer.
package replay

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/models/retrain"
)

// Source is a retrain.Source of two KafkaTopics, read partition after partition up to the end when reading begins.
type Source struct {
	Client                  *ingest.Client
	NoteTopic, OutcomeTopic string // names of KafkaTopics
	// Progress is called with the offsets passed in a KafkaTopic and their total; may be nil.
	Progress func(topic string, done, total int64)
	Logger   *slog.Logger
}

var _ retrain.Source = (*Source)(nil)

// Names returns the names of the KafkaTopics.
func (s *Source) Names() []string { return []string{s.NoteTopic, s.OutcomeTopic} }

// Outcomes calls each for the outcomes since the first that was recorded at from or later; zero means all.
func (s *Source) Outcomes(ctx context.Context, from time.Time, each func(*retrain.Message) error) error {
	return s.read(ctx, s.OutcomeTopic, from, each)
}

// Notes calls each for the notes since the first that was recorded at from or later; zero means all.
func (s *Source) Notes(ctx context.Context, from time.Time, each func(*retrain.Message) error) error {
	return s.read(ctx, s.NoteTopic, from, each)
}

func (s *Source) read(ctx context.Context, topic string, from time.Time, each func(*retrain.Message) error) error {
	r := ingest.Replay{Topic: topic, From: from, Logger: s.Logger}
	if s.Progress != nil {
		r.Progress = func(done, total int64) { s.Progress(topic, done, total) }
	}
	var m retrain.Message
	partition := -1
	got, err := s.Client.Replay(ctx, r, func(record *ingest.Record) error {
		if record.Partition != partition {
			partition = record.Partition
			m.Place.Source = topic + "/" + strconv.Itoa(partition)
		}
		m.Key, m.Value, m.Recorded, m.Place.Position = record.Key, record.Value, recorded(record), record.Offset
		return each(&m)
	})
	log := s.Logger.With("kafka_topic", topic, "partitions", got.Partitions, "records", got.Records,
		"absent", got.Absent)
	switch {
	case err != nil:
	case got.Deleted > 0:
		log.Warn("retention deleted records while they were read", "deleted", got.Deleted)
	default:
		log.Info("topic replayed")
	}
	return err
}

// recorded returns the timestamp of a record, zero if it has none (-1 in Kafka).
func recorded(r *ingest.Record) time.Time {
	if r.Time.UnixMilli() <= 0 {
		return time.Time{}
	}
	return r.Time
}
