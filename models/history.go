package models

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"
)

// Action is what happened to a generation.
type Action string

// The actions.
const (
	Promoted     Action = "promoted"
	Recalibrated Action = "recalibrated" // promoted, as the generation before with its probabilities recalibrated
	RolledBack   Action = "rolled_back"  // served again
	Refused      Action = "refused"      // judged, and not to be served
)

// Event is a line of the history of a store.
type Event struct {
	Time   time.Time `json:"time"`
	Action Action    `json:"action"`
	// generation that was served then, "" if there was none; that of the history if the champion file was lost
	From    string `json:"from,omitempty"`
	To      string `json:"to,omitempty"` // generation that was to be served
	By      string `json:"by,omitempty"` // person or program
	Why     string `json:"why,omitempty"`
	Command string `json:"command,omitempty"`

	// Previous is the SHA-256 of the line before without its end; "" if an older wardcast wrote the event. Restart says
	// that it is that of all lines before: they hold no hashes, or a person vouched for them after damage.
	Previous string `json:"previous,omitempty"`
	Restart  bool   `json:"restart,omitempty"`

	// Abandoned says that the change never took effect: its writer was stopped after it recorded the change, or another
	// writer was faster. It is not stored: it follows from later changes and what is served now.
	Abandoned bool `json:"abandoned,omitempty"`
}

// changes reports whether the event says what was served from then on.
func (e *Event) changes() bool {
	return e.Action == Promoted || e.Action == Recalibrated || e.Action == RolledBack
}

const (
	historyFile = "history.jsonl"

	historyLimit = 64 << 20 // the largest history in bytes, some 200,000 events
)

// History returns what was recorded for the store, oldest first. Lines that cannot be read are left out and joined in
// the error, which holds a *FileError for each, also for lines that were changed or removed, and for a history that was
// lost.
func (s *Store) History(ctx context.Context) ([]Event, error) {
	l, err := s.look(ctx)
	if err != nil {
		return nil, err
	}
	err = l.damage
	if err == nil && l.served != "" && !slices.ContainsFunc(l.events, func(e Event) bool { return e.changes() }) {
		err = &FileError{File: historyFile, Err: fmt.Errorf(
			"%w or empty, though generation %q is served: copy it from a backup", ErrNotFound, l.served)}
	}
	return l.events, err
}

// readable returns what can be read of the history, as History does, without the error of what cannot.
func (s *Store) readable(ctx context.Context) ([]Event, error) {
	events, err := s.History(ctx)
	if isDamage(err) {
		err = nil
	}
	return events, err
}

// wholeLines cuts off a last line without its end.
func wholeLines(data []byte) []byte { return data[:bytes.LastIndexByte(data, '\n')+1] }

// abandon sets Abandoned. A change is recorded before it takes effect, so a record alone proves nothing, but each names
// the generation it started from, which was served then. A change took effect if what was served later proves it, or if
// what was served next is neither what it changed nor what was served before. Then the champion file was lost, or
// edited by hand, which must not deny the past. Nor does the start of a change by which a person mended what disagreed:
// another hand may have put it there. If it is unknown what is served, the last change counts.
func abandon(events []Event, served string, unknown bool) {
	proven := map[int]bool{}
	latest := map[string]int{} // change to each generation
	prove := func(name string) {
		if at, ok := latest[name]; ok {
			proven[at] = true
		}
	}
	mends := func(i int) bool { return events[i].Restart && i > 0 && events[i-1].Previous != "" }
	var changes []int
	for i, e := range events {
		if !mends(i) {
			prove(e.From)
		}
		if e.changes() {
			latest[e.To] = i
			changes = append(changes, i)
		}
	}
	prove(served)
	before := ""
	for n, i := range changes {
		e, next, known := &events[i], served, !unknown
		if n < len(changes)-1 {
			next, known = events[changes[n+1]].From, !mends(changes[n+1])
		}
		e.Abandoned = !proven[i] && known && (next == before || next == e.From)
		if !e.Abandoned {
			before = e.To
		}
	}
}

// servedLast returns the generation of the last change that took effect, "" if there is none.
func servedLast(events []Event) (name string) {
	for _, e := range events {
		if e.changes() && !e.Abandoned {
			name = e.To
		}
	}
	return name
}

// ServedAt returns the generation that was served at a time. The error wraps ErrNotFound if nothing was.
func (s *Store) ServedAt(ctx context.Context, at time.Time) (*Generation, error) {
	events, err := s.History(ctx)
	if err != nil {
		return nil, err
	}
	events = slices.DeleteFunc(events, func(e Event) bool { return e.Time.After(at) })
	if name := servedLast(events); name != "" {
		return s.Generation(ctx, name)
	}
	return nil, absent("nothing was served at " + at.UTC().Format(time.RFC3339) + "; without --at the history shows since when")
}
