package app

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// handshakeEvery is how often a broken TLS handshake is logged at most: any stranger can break thousands a second.
const handshakeEvery = 10 * time.Second

// brokenHandshake begins what net/http logs of a TLS handshake that did not come about.
const brokenHandshake = "http: TLS handshake error"

// serverLog handles the records that net/http logs. It is safe for concurrent use.
type serverLog struct {
	slog.Handler

	mu     sync.Mutex
	last   time.Time // when a broken handshake was logged
	broken int       // handshakes since then
}

// Handle implements slog.Handler.
func (l *serverLog) Handle(ctx context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, brokenHandshake) {
		n := l.tell(r.Time)
		if n == 0 {
			return nil
		}
		r.AddAttrs(slog.Int("handshakes", n))
	}
	return l.Handler.Handle(ctx, r)
}

// tell counts a broken handshake. It returns how many there were since the last one that was logged, 0 if this one is not to be.
func (l *serverLog) tell(now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken++
	if now.Sub(l.last) < handshakeEvery {
		return 0
	}
	n := l.broken
	l.last, l.broken = now, 0
	return n
}
