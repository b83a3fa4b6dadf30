package deadletter

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/msg"
)

// BridgeStage is the stage of the bridge's dead letters. They say where and why a message was refused, and hold no
// message that could be sent back.
const BridgeStage = "bridge"

// Place is where a record is in its KafkaTopic. Its text is PARTITION/OFFSET.
type Place struct {
	Partition int
	Offset    int64
}

func (p Place) String() string { return fmt.Sprintf("%d/%d", p.Partition, p.Offset) }

// MarshalText writes PARTITION/OFFSET.
func (p Place) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads PARTITION/OFFSET.
func (p *Place) UnmarshalText(text []byte) error {
	partition, offset, _ := strings.Cut(string(text), "/")
	id, err := strconv.ParseInt(partition, 10, 32)
	at, errOffset := strconv.ParseInt(offset, 10, 64)
	if err != nil || errOffset != nil || id < 0 || at < 0 {
		return fmt.Errorf("%q is not the place of a record: write PARTITION/OFFSET, for example 0/17", text)
	}
	*p = Place{int(id), at}
	return nil
}

// Letter is what a dead letter says about its message. Only its size comes from the message.
type Letter struct {
	Place        Place      `json:"place"` // in the KafkaTopic of dead letters
	Time         time.Time  `json:"time"`  // when it became a dead letter
	Reason       msg.Reason `json:"reason"`
	Field        string     `json:"field,omitempty"`
	Detail       string     `json:"detail,omitempty"`
	Stage        string     `json:"stage"`
	ModelVersion string     `json:"model_version,omitempty"`
	Topic        string     `json:"source_topic"` // KafkaTopic that the message came from
	Source       Place      `json:"source"`       // its place there
	Attempts     int        `json:"attempts"`     // how often it became a dead letter, including now
	Bytes        int        `json:"bytes"`        // of key and value
	// LostOffsets is 0 unless the message could not be read: the letter then stands for this many offsets from Source.
	LostOffsets int64 `json:"lost_offsets,omitempty"`
	LostBytes   int64 `json:"lost_bytes,omitempty"` // size of that message, 0 if unknown
}

// newLetter reads the headers of a dead letter. ok is false if the record is not one: others may write there too.
func newLetter(r *ingest.Record) (l Letter, ok bool) {
	headers := map[string]string{}
	for _, h := range r.Headers {
		headers[h.Key] = string(h.Value)
	}
	number := func(name string) int64 {
		n, err := strconv.ParseInt(headers[name], 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	l = Letter{
		Place: Place{r.Partition, r.Offset}, Time: r.Time, Bytes: len(r.Key) + len(r.Value),
		Reason: msg.Reason(headers[msg.HeaderReason]), Field: headers[msg.HeaderField],
		Detail: headers[msg.HeaderDetail], Stage: headers[msg.HeaderStage],
		ModelVersion: headers[msg.HeaderModelVersion], Attempts: int(max(1, number(msg.HeaderAttempts))),
		Topic:       headers[msg.HeaderTopic],
		Source:      Place{int(number(msg.HeaderPartition)), number(msg.HeaderOffset)},
		LostOffsets: number(msg.HeaderLost), LostBytes: number(msg.HeaderSize),
	}
	if t, err := time.Parse(time.RFC3339, headers[msg.HeaderDeadTime]); err == nil {
		l.Time = t
	}
	return l, l.Stage == BridgeStage && l.Reason != "" || l.Topic != "" && slices.Contains(msg.Reasons(), l.Reason)
}

// revive returns the original message, to be sent back.
func revive(r *ingest.Record, l *Letter) *ingest.Output {
	o := &ingest.Output{Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value)}
	if string(r.Key) == l.Topic+"/"+l.Source.String() { // the key of a dead letter whose message had none
		o.Key = nil
	}
	for _, h := range r.Headers {
		if !strings.HasPrefix(h.Key, msg.DeadHeaderPrefix) && h.Key != msg.HeaderReplays {
			o.AddHeader(h.Key, string(h.Value))
		}
	}
	o.AddHeader(msg.HeaderReplays, strconv.Itoa(l.Attempts))
	return o
}

// Filter chooses dead letters.
type Filter struct {
	Reasons      []msg.Reason // any of these; empty for all
	Since, Until time.Time    // Since or later, and before Until; zero is no bound
	Place        *Place       // only this one; nil for all
}

func (f *Filter) matches(l *Letter) bool {
	return (len(f.Reasons) == 0 || slices.Contains(f.Reasons, l.Reason)) &&
		!l.Time.Before(f.Since) && (f.Until.IsZero() || l.Time.Before(f.Until)) &&
		(f.Place == nil || *f.Place == l.Place)
}
