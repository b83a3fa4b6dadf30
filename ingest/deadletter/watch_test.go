package deadletter_test

import (
	"context"
	"testing"

	"github.com/wardcast/wardcast/ingest/deadletter"
	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/ingest/msg"
)

// TestWatch: a watch that begins later knows all letters of the topic, and those that come; before, it knows none.
func TestWatch(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.send(in, record("a", "{}"), record("b", "!"), record("c", "!"))
	s.letters(3, deadletter.Filter{})
	var w deadletter.Watch
	if w.Tally() != nil {
		t.Error("a watch knows letters before it has read any")
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- w.Run(ctx, s.box) }()
	counts := func(n, notJSON int) func() bool {
		return func() bool {
			x := w.Tally()
			return x != nil && len(x.Latest) == n && x.Counts[0].Reason == msg.NotJSON && x.Counts[0].Letters == notJSON
		}
	}
	ingesttest.Await(t, "the letters that are there", counts(3, 2))
	s.send(in, record("d", "!"))
	ingesttest.Await(t, "one more", counts(4, 3))
	for i, l := range w.Tally().Latest[1:] {
		if l.Time.After(w.Tally().Latest[i].Time) {
			t.Errorf("letter %d is newer than the one before", i+1)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
