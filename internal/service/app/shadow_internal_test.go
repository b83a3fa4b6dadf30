package app

import (
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/signing"
	"github.com/wardcast/wardcast/models/storetest"
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

// TestShadowTrusts: where keys are trusted, no challenger scores that none of them signed.
func TestShadowTrusts(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "key")
	if err := signing.NewKeyFile(key); err != nil {
		t.Fatal(err)
	}
	keys, err := signing.Read(key, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	store := models.OpenDir(dir).With(keys)
	storetest.Serve(t, store, storetest.Bundle("_other", 1))
	challenger := storetest.Add(t, models.OpenDir(dir), storetest.Bundle("_other", 2))
	for _, which := range []string{config.LatestChallenger, challenger.Name} {
		if _, err := loadChallenger(t.Context(), store, which, nil, nil); !errors.Is(err, signing.ErrUntrusted) {
			t.Errorf("%s: %v", which, err)
		}
	}
}
