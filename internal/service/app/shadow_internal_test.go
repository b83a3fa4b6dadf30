package app

import (
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/internal/service/config"
)

// TestShadowMemory: notes of any size wait for the challenger up to a number of bytes, and leave their room when they
// are scored.
func TestShadowMemory(t *testing.T) {
	t.Parallel()
	s := newShadow(&Options{
		Config: &config.Config{}, Logger: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
	}, nil)
	s.handler.Store(&Handler{})
	large := &ingest.Record{Value: make([]byte, 1<<20), Time: time.Now()}
	for range shadowQueue {
		s.offer(large)
	}
	if n := len(s.queue); n != shadowBytes/len(large.Value) || s.held.Load() != shadowBytes {
		t.Errorf("%d notes wait, of %d bytes", n, s.held.Load())
	}
	s.handler.Store(nil) // it forgets them
	s.score(t.Context())
	if len(s.queue) != 0 || s.held.Load() != 0 {
		t.Errorf("%d notes wait, of %d bytes", len(s.queue), s.held.Load())
	}
}
