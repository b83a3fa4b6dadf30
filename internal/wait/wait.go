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
