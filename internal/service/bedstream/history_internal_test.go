package bedstream

import (
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/ingest/msg"
)

// TestPointAlone: a point of the past keeps its range, and not the distribution that it is of.
func TestPointAlone(t *testing.T) {
	t.Parallel()
	b := &msg.BedDemand{Ward: beds.All, Total: msg.DemandTotal{Interval80: [2]int{3, 9}}}
	kept := weak.Make(b)
	p := newPoint(time.Now(), 4*time.Hour, b, true)
	b = nil //nolint:ineffassign // the last reference goes
	runtime.GC()
	if kept.Value() != nil {
		t.Error("the forecast is kept with its point")
	}
	if *p.Low != 3 || *p.High != 9 || p.Ward != beds.All || p.Window != "4h" {
		t.Errorf("%+v", p)
	}
}
