//go:build linux

// Package reliability_test tries the built program on three real brokers that misbehave: docs/reliability.md has what
// came out.
package reliability_test

import (
	"context"
	"os"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// length is how long a trial lasts: WARDCAST_TRIAL. It needs WARDCAST_SHARED too, whose script starts the brokers.
func length(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("WARDCAST_TRIAL")
	if text == "" || os.Getenv("WARDCAST_SHARED") == "" {
		t.Skip("it takes minutes and a real Kafka: WARDCAST_TRIAL is how long, such as 5m, and WARDCAST_SHARED has " +
			"the script that starts one")
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Minute {
		t.Fatalf("WARDCAST_TRIAL is %q and no duration of a minute or more", text)
	}
	return d
}

// background runs f until stop, which waits for its end.
func background(t *testing.T, f func(ctx context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all errgroup.Group
	all.Go(func() error { return f(ctx) })
	return func() {
		t.Helper()
		cancel()
		if err := all.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}

func pause(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}
