package httpapi

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wardcast/wardcast/internal/loglimit"
)

// KeptEvents is how many changes, and how many others, a Trail keeps.
const KeptEvents = 1000

// Trail keeps the latest events of the audit log, which is the record. Changes are kept apart from the others, which
// come every few seconds while a page is open. A nil Trail keeps none.
type Trail struct {
	Since time.Time // when this process began

	mu              sync.Mutex
	changes, others []*Event // oldest first
}

// Event is a line of the audit log.
type Event struct {
	Time          time.Time
	Caller        Caller
	Method, Route string
	Status        int
	Change        bool // it changes something, or would have
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
	list := &t.others
	if e.Change {
		list = &t.changes
	}
	if len(*list) == KeptEvents {
		*list = slices.Delete(*list, 0, 1)
	}
	*list = append(*list, e)
}

// Events returns the latest events, newest first.
func (t *Trail) Events() []*Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := slices.Concat(t.changes, t.others)
	slices.SortStableFunc(all, func(a, b *Event) int { return b.Time.Compare(a.Time) })
	return all
}

// wrongTokensEvery is the minimum interval of log lines about wrong tokens, which can come by the thousand. A line
// names at most mostNamed of the addresses that they came from.
const (
	wrongTokensEvery = 10 * time.Second
	mostNamed        = 20
)

// wrongTokens logs requests with a wrong token.
type wrongTokens struct {
	log   *slog.Logger
	lines *loglimit.Limiter

	mu   sync.Mutex
	from map[string]bool // addresses of the requests since the last line
}

func (w *wrongTokens) add(address string) {
	w.mu.Lock()
	if len(w.from) < mostNamed {
		w.from[address] = true
	}
	w.mu.Unlock()
	w.lines.Add("", func(n int) {
		w.mu.Lock()
		from := w.from
		w.from = map[string]bool{}
		w.mu.Unlock()
		w.log.Warn("requests with a wrong token", "requests", n, "addresses", slices.Sorted(maps.Keys(from)))
	})
}
