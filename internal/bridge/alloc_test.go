//go:build !race

package bridge_test

import (
	"runtime"
	"testing"

	"github.com/wardcast/wardcast/ingest/hl7"
)

// TestAllocations bounds the memory that a message takes on its way: its collection delays answers to others. The race
// detector allocates too.
func TestAllocations(t *testing.T) { //nolint:paralleltest // other tests would count
	b := newBridge(t, nil)
	data := message{event: "A04", obx: []string{fell, fall, "11289-6|98.6|NM|[degF]", "21612-7|78|NM|a", "11283-9|2"}}.bytes()
	var before, after runtime.MemStats
	const n, bound = 1000, 10 << 10
	runtime.ReadMemStats(&before)
	for range n {
		h, reading, err := b.ReadHL7(data)
		if err != nil {
			t.Fatal(err)
		}
		b.Join(reading, now)
		h.Acknowledge(hl7.Answer{Code: hl7.Accepted})
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / n; each > bound {
		t.Errorf("%d bytes a message, want at most %d", each, bound)
	}
}
