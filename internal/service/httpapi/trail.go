package httpapi

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

const keptEvents = 1000

// Trail keeps the latest events of the audit log, which is the record. A nil Trail keeps none.
type Trail struct {
	Since time.Time // when this process began

	mu     sync.Mutex
	events []*Event // oldest first
}

// Event is a line of the audit log.
type Event struct {
	Time          time.Time
	Caller        Caller
	Method, Route string
	Status        int
	facts         []any
}

// Facts returns what else the line says, in words.
func (e *Event) Facts() string {
	var all []string
	for i := 0; i+1 < len(e.facts); i += 2 {
		all = append(all, fmt.Sprintf("%v: %v", e.facts[i], e.facts[i+1]))
	}
	return strings.Join(all, ", ")
}

func (t *Trail) add(e *Event) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.events) == keptEvents {
		t.events = slices.Delete(t.events, 0, 1)
	}
	t.events = append(t.events, e)
}

// Events returns the latest events, newest first.
func (t *Trail) Events() []*Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := slices.Clone(t.events)
	slices.Reverse(all)
	return all
}
