package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/wardcast/wardcast/ingest/hl7"
)

// Checked is what a bridge that knows no visit makes of one message.
type Checked struct {
	Kind   string         `json:"kind"`
	Answer hl7.Code       `json:"answer"`
	Reason string         `json:"reason,omitzero"`
	Place  string         `json:"place,omitzero"` // of the fault, such as PV1-19
	Unused []string       `json:"unused,omitempty"`
	Events []CheckedEvent `json:"events"`
}

// CheckedEvent is an event that the message causes.
type CheckedEvent struct {
	Topic string          `json:"topic"`
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
}

// ReadMessage reads a file with one message. Of one that is too large it returns so much that this is noticed.
func ReadMessage(name string) ([]byte, error) {
	f, err := os.Open(name) //nolint:gosec // the command line names it
	if err != nil {
		return nil, fmt.Errorf("reading the message: %w", err)
	}
	defer func() { _ = f.Close() }() // it is only read
	const frame = 3
	data, err := io.ReadAll(io.LimitReader(f, hl7.MaxMessage+frame+1))
	if err != nil {
		return nil, fmt.Errorf("reading the message: %w", err)
	}
	return data, nil
}

// Check reads and joins one message, in a frame of MLLP or not. topic names the topics.
func (b *Bridge) Check(data []byte, topic func(To) string, now time.Time) Checked {
	data = bytes.Trim(data, "\x0b\x1c")
	c := Checked{Answer: hl7.Accepted, Events: []CheckedEvent{}}
	r, err := b.read(data)
	c.Kind, c.Unused = r.Kind, r.Unused()
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		c.Answer, c.Reason, c.Place = refusal.Code, refusal.Reason, refusal.Place()
		return c
	}
	for _, e := range b.Join(r, now) {
		if e.To == Notes || e.To == Outcomes {
			c.Events = append(c.Events, CheckedEvent{topic(e.To), e.Key, e.Value})
		}
	}
	return c
}

// read reads a message of any format.
func (b *Bridge) read(data []byte) (Reading, error) {
	if begin := bytes.TrimLeft(data, " \t\r\n\xef\xbb\xbf"); len(begin) > 0 && begin[0] == '{' {
		return Reading{}, &Refusal{Code: hl7.Failed, Reason: NotFHIR}
	}
	_, r, err := b.ReadHL7(data)
	return r, err
}
