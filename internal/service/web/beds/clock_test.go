package beds

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/httpapi"
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

// TestDaysOfThePast: each of the last days has its name, before and after the clock was changed.
func TestDaysOfThePast(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	for _, today := range []time.Time{
		time.Date(2026, 3, 31, 0, 0, 0, 0, zone), time.Date(2026, 10, 27, 0, 0, 0, 0, zone),
	} {
		h := &httpapi.DemandHistory{}
		for i := range 4*httpapi.MostDays + 1 {
			at := today.UTC().AddDate(0, 0, -httpapi.MostDays).Add(time.Duration(i) * 6 * time.Hour)
			h.Add(httpapi.HistoryPoint{At: at, Ward: msg.AllWards, Window: "8h", Expected: 3})
		}
		page := &view{query: readQuery(nil, zone), site: &Clock{Zone: zone}}
		svg := string(newPast(page, h).SVG())
		for day := range httpapi.MostDays + 1 {
			name := today.AddDate(0, 0, -day).Format("2 Jan")
			if n := strings.Count(svg, fmt.Sprintf(">%s<", name)); n != 1 {
				t.Errorf("%s stands %d times in %s", name, n, svg)
			}
		}
	}
}
