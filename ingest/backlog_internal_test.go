package ingest

import (
	"errors"
	"testing"
	"time"
)

// TestFailureOutlivesRebalance: a member that cannot read is not ready again because it joined its group again and has
// other partitions, until one of them makes progress.
func TestFailureOutlivesRebalance(t *testing.T) {
	t.Parallel()
	const after = 30 * time.Second
	denied := errors.New("denied")
	moved := func() *backlog {
		b := newBacklog(time.Hour)
		b.assign([]int{0})
		b.update(0, func(w *waiting) { w.reading = failure{denied, time.Now().Add(-time.Minute)} })
		b.assign([]int{1})
		return b
	}
	b := moved()
	if err := b.failed(after); !errors.Is(err, denied) {
		t.Errorf("ready although nothing was read for a minute: %v", err)
	}
	if err := b.failed(2 * time.Minute); err != nil {
		t.Errorf("not ready too soon: %v", err)
	}
	b.read(1, 5, &fetched{end: 9, high: 9})
	if err := b.failed(after); err == nil {
		t.Error("ready before what was read is answered")
	}
	b.answer(1, 9)
	if err := b.failed(after); err != nil {
		t.Errorf("not ready although a record was answered: %v", err)
	}
	b = moved()
	b.read(1, 5, &fetched{end: 5, high: 5, empty: true})
	if err := b.failed(after); err != nil {
		t.Errorf("not ready although nothing waits: %v", err)
	}
	b = moved()
	b.assign(nil)
	if err := b.failed(after); err != nil {
		t.Errorf("not ready without a partition: %v", err)
	}
}
