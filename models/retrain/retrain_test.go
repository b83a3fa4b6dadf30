package retrain_test

import (
	"context"
	"fmt"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/models/retrain"
)

// memory is a source of messages at hand.
type memory struct{ outcomes, notes []retrain.Message }

func (*memory) Names() []string { return []string{"notes", "outcomes"} }

func (m *memory) Outcomes(_ context.Context, _ time.Time, each func(*retrain.Message) error) error {
	return deliver("outcomes", m.outcomes, each)
}

func (m *memory) Notes(_ context.Context, _ time.Time, each func(*retrain.Message) error) error {
	return deliver("notes", m.notes, each)
}

func deliver(name string, all []retrain.Message, each func(*retrain.Message) error) error {
	for i, m := range all {
		// What is kept of a message would change.
		value := append([]byte(nil), m.Value...)
		m.Place = retrain.Place{Source: name, Position: int64(i)}
		m.Value = value
		if err := each(&m); err != nil {
			return err
		}
		for j := range value {
			value[j] = 'X'
		}
	}
	return nil
}

// begin is the first day of the tests' hospital.
var begin = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func at(hours float64) time.Time { return begin.Add(time.Duration(hours * float64(time.Hour))) }

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// noteOf returns the note of a visit that arrives so many hours after begin.
func noteOf(visit int, hours float64, change ...func(*msg.Note)) retrain.Message {
	n := msg.Note{
		VisitID: fmt.Sprintf("v%04d", visit), ArrivedAt: stamp(at(hours)), Complaint: " Fall ",
		Text: fmt.Sprintf("fell at home %d", visit), Age: msg.Some(float64(visit % 90)), Sex: "F",
	}
	for _, f := range change {
		f(&n)
	}
	return retrain.Message{Key: []byte(n.VisitID), Value: n.AppendJSON(nil)}
}

// outcomeOf returns an outcome that is decided so many hours after begin.
func outcomeOf(visit int, hours float64, d msg.Disposition, change ...func(*msg.Outcome)) retrain.Message {
	o := msg.Outcome{VisitID: fmt.Sprintf("v%04d", visit), Disposition: d, DecidedAt: stamp(at(hours))}
	for _, f := range change {
		f(&o)
	}
	return retrain.Message{Key: []byte(o.VisitID), Value: o.AppendJSON(nil)}
}

func status(s msg.OutcomeStatus) func(*msg.Outcome) { return func(o *msg.Outcome) { o.Status = s } }

func recordedAt(hours float64) func(*msg.Outcome) {
	return func(o *msg.Outcome) { o.RecordedAt = stamp(at(hours)) }
}
