package beds

import (
	"testing"
	"time"
)

// TestHour: when the clock is set back, each of the two equal hours begins where it begins, in every zone.
func TestHour(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"UTC", "America/New_York", "Europe/London", "Europe/Berlin", "Asia/Kolkata"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		c := &Clock{Zone: zone}
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for at := start; at.Year() == start.Year(); at = at.Add(15 * time.Minute) {
			hour := c.hour(at.Add(7 * time.Second))
			if gone := at.Sub(hour); gone < 0 || gone >= time.Hour || hour.Minute() != 0 || hour.Second() != 0 {
				t.Fatalf("the hour of %v begins at %v", at.In(zone), hour)
			}
		}
	}
}
