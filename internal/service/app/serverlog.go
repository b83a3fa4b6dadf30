package app

import (
	"context"
	"log/slog"
	"strings"

	"github.com/wardcast/wardcast/internal/loglimit"
)

// brokenHandshake begins what net/http logs of a TLS handshake that did not come about. Any stranger can break
// thousands a second.
const brokenHandshake = "http: TLS handshake error"

// serverLog handles the records that net/http logs: one line counts all handshakes that break together.
type serverLog struct {
	slog.Handler

	handshakes *loglimit.Limiter
}

func (l *serverLog) Handle(ctx context.Context, r slog.Record) error {
	if !strings.HasPrefix(r.Message, brokenHandshake) {
		return l.Handler.Handle(ctx, r)
	}
	l.handshakes.Add(brokenHandshake, func(n int) {
		r.AddAttrs(slog.Int("handshakes", n))
		_ = l.Handler.Handle(ctx, r) // as net/http does with what it cannot log
	})
	return nil
}
