package app

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/internal/loglimit"
)

// TestBrokenHandshakes: many of them are one line, with their number; other lines are all logged.
func TestBrokenHandshakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out := &ingesttest.Log{}
		server := slog.NewLogLogger(&serverLog{slog.NewTextHandler(out, nil), loglimit.New(handshakesEvery)},
			slog.LevelWarn)
		for i := range 1000 {
			server.Printf("http: TLS handshake error from 192.0.2.1:%d: EOF", i)
		}
		for range 2 {
			server.Print("http: Accept error")
		}
		<-time.After(2 * time.Second)
		server.Print("http: TLS handshake error from 192.0.2.2:1: EOF")
		<-time.After(handshakesEvery)
		synctest.Wait()
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		want := []string{
			"Accept error", "Accept error", "192.0.2.1:0: EOF\" handshakes=1000", "192.0.2.2:1: EOF\" handshakes=1",
		}
		if len(lines) != len(want) {
			t.Fatalf("%d lines: %q", len(lines), lines)
		}
		for i, line := range lines {
			if !strings.Contains(line, want[i]) || !strings.Contains(line, "level=WARN") {
				t.Errorf("line %d is %s, want %s", i, line, want[i])
			}
		}
	})
}
