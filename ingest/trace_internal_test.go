package ingest

import (
	"testing"
	"time"
)

// TestNoTracing: without a tracer, spans cost no allocation.
func TestNoTracing(t *testing.T) { // alone, for AllocsPerRun counts those of all goroutines
	var off tracing
	now := time.Now()
	record := Record{Headers: []Header{{Key: "ce_id", Value: []byte("1")}}}
	if got := testing.AllocsPerRun(100, func() {
		r := record
		off.begin(&r, now)
		r.fail(ReasonScoringFailed)
		_ = r.TraceParent()
		off.end(&r, "out", now, now)
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}
