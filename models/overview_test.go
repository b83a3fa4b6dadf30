package models

import (
	"context"
	"errors"
	"testing"
	"time"
)

// hanging is a Bucket that answers nobody until the request ends.
type hanging struct {
	Bucket

	asked chan struct{}
}

func (h hanging) Files(ctx context.Context, _ string) ([]string, error) {
	h.asked <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestOverviewOfStoreThatHangs: who gives up goes, also while another waits for the store.
func TestOverviewOfStoreThatHangs(t *testing.T) {
	t.Parallel()
	s := New(hanging{asked: make(chan struct{}, 1)})
	ask := func(ctx context.Context) <-chan error {
		answered := make(chan error, 1)
		go func() {
			_, err := s.Overview(ctx)
			answered <- err
		}()
		return answered
	}
	waits, end := context.WithCancel(t.Context())
	first := ask(waits)
	<-s.bucket.(hanging).asked
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	select {
	case err := <-ask(gone):
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits for the one before")
	}
	end()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
