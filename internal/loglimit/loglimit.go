package loglimit

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// gather is how long the line of a first event waits for others of its kind.
const gather = time.Second

// Limiter counts events by kind. It is safe for concurrent use.
type Limiter struct {
	every time.Duration
	mu    sync.Mutex
	kinds map[string]*kind
}

type kind struct {
	n     int         // events that no line has reported yet
	write func(n int) // of the first of them
	timer *time.Timer // calls write
	last  time.Time   // when a line was written
}

// New returns a Limiter that lets one line of each kind be written in a period of at least a second.
func New(every time.Duration) *Limiter {
	return &Limiter{every: every, kinds: make(map[string]*kind)}
}

// Add counts an event. For the events that one line reports, the write of the first is called with their number, from
// another goroutine and up to a period later. The number of kinds must be bounded.
func (l *Limiter) Add(name string, write func(n int)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kinds[name]
	if k == nil {
		k = &kind{}
		l.kinds[name] = k
	}
	if k.n++; k.n == 1 {
		k.write = write
		k.timer = time.AfterFunc(max(gather, l.every-time.Since(k.last)), func() { l.write(k) })
	}
}

func (l *Limiter) write(k *kind) {
	l.mu.Lock()
	n, write := k.n, k.write
	k.n, k.write, k.last = 0, nil, time.Now()
	l.mu.Unlock()
	if n > 0 {
		write(n)
	}
}

// Flush writes the pending lines, before a process ends.
func (l *Limiter) Flush() {
	l.mu.Lock()
	kinds := slices.Collect(maps.Values(l.kinds))
	l.mu.Unlock()
	for _, k := range kinds {
		l.write(k)
	}
}

// Panic returns what may be logged of a panic: the text of a runtime error, which holds only indices and types, or else
// only the type of the value, which may hold a patient's words; and the stack of the function that recovered, innermost
// call first. skip is the number of calls between that function and Panic.
func Panic(value any, skip int) (what, stack string) {
	what = fmt.Sprintf("%T", value)
	if e, ok := value.(runtime.Error); ok {
		what = e.Error()
	}
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(skip+3, pcs)])
	var b strings.Builder
	for {
		f, more := frames.Next()
		fmt.Fprintf(&b, "%s %s:%d\n", f.Function, f.File, f.Line)
		if !more {
			return what, b.String()
		}
	}
}
