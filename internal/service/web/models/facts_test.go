package models

import (
	"context"
	"testing"
	"time"

	"github.com/wardcast/wardcast/models"
)

// hanging is a store that answers nobody until the request ends.
type hanging struct {
	models.Bucket

	asked chan struct{}
}

func (h hanging) Read(ctx context.Context, _ string, _ int64) ([]byte, error) {
	select {
	case h.asked <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestFactsOfStoreThatHangs: who gives up goes, also while another waits for the store.
func TestFactsOfStoreThatHangs(t *testing.T) {
	t.Parallel()
	b := hanging{asked: make(chan struct{}, 1)}
	h := &room{store: models.New(b)}
	done := make(chan struct{}, 2)
	ask := func(ctx context.Context) {
		_, _ = h.factsOf(ctx, "_other", "2026-11-20T02-00-00Z-000000")
		done <- struct{}{}
	}
	waits, end := context.WithCancel(t.Context())
	go ask(waits)
	<-b.asked
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	go ask(gone)
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Error("it waits for the one before")
	}
	end()
	<-done
}
