package app

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestBrokenHandshakes: many of them are one line, with their number; other lines are all logged.
func TestBrokenHandshakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		server := slog.NewLogLogger(&serverLog{Handler: slog.NewTextHandler(&out, nil)}, slog.LevelWarn)
		for i := range 1000 {
			server.Printf("http: TLS handshake error from 192.0.2.1:%d: EOF", i)
		}
		for range 2 {
			server.Print("http: Accept error")
		}
		<-time.After(handshakeEvery)
		server.Print("http: TLS handshake error from 192.0.2.2:1: EOF")
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		want := []string{"192.0.2.1:0: EOF\" handshakes=1", "Accept error", "Accept error", "192.0.2.2:1: EOF\" handshakes=1000"}
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
