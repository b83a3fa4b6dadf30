package retrain

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"time"
)

// Log is a Source that grows while it is read. Shards of one retraining read the same part of it.
type Log interface {
	Source
	Ends(ctx context.Context) (Ends, error) // where it ends now
	Until(ends Ends) Source                 // the source up to these ends
}

// Ends are the offsets behind the last messages of the partitions of each KafkaTopic, by its name.
type Ends map[string][]int64

// endsPart is what the first shard of a retraining leaves for the others: up to where it reads. The cut-off alone does
// not make them read the same, since an outcome may be written late that was decided, or a note of somebody who
// arrived, before.
type endsPart struct {
	AsOf time.Time
	Ends Ends
}

// source returns what is read: of a log, each shard reads as much as the one that started first.
func (j *Job) source(ctx context.Context) (Source, error) {
	log, grows := j.Source.(Log)
	if !grows || j.Shard == (Shard{}) {
		return j.Source, nil
	}
	asOf := j.Settings.AsOf
	if asOf.IsZero() {
		return nil, fmt.Errorf("%w: shards that read a log need the same cut-off", ErrSettings)
	}
	ends, err := log.Ends(ctx)
	if err != nil {
		return nil, fmt.Errorf("finding where the messages end: %w", err)
	}
	agreed := endsPart{asOf, ends}
	data, err := encoded(agreed)
	if err != nil {
		return nil, fmt.Errorf("writing where the messages end: %w", err)
	}
	if _, err := j.Gatekeeper.Store.AgreeOnPart(ctx, fmt.Sprintf("ends-of-%d", j.Shard.Count), data,
		func(before []byte) bool {
			var found endsPart
			if gob.NewDecoder(bytes.NewReader(before)).Decode(&found) != nil {
				return false // of another version of the program
			}
			// Shard 0 may go back to an earlier cut-off, as for the model of all complaints.
			keep := found.AsOf.Equal(asOf) || found.AsOf.After(asOf) && j.Shard.Index > 0
			if keep {
				agreed = found
			}
			return keep
		}); err != nil {
		return nil, err
	}
	if agreed.AsOf.After(asOf) {
		return nil, &SupersededError{agreed.AsOf}
	}
	return log.Until(agreed.Ends), nil
}
