package wait

import (
	"context"
	"time"
)

// For waits for d, and reports whether that passed before ctx ended.
func For(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// Over reports whether a channel is closed, on which nobody sends.
func Over(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
