package beds

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardcast/wardcast/internal/service/httpapi"
)

// TestCSV: a spreadsheet has what the page shows, in numbers and times that it reads; who is at fault if there is none.
func TestCSV(t *testing.T) {
	t.Parallel()
	d := demand(t)
	all, err := forecasts(t.Context(), d, &httpapi.DemandQuery{Window: 4 * time.Hour, Waiting: true, Coming: true})
	if err != nil {
		t.Fatal(err)
	}
	status, body := visit(t, d, "/v1/beds.csv?ward=ICU&free.ICU=2&window=4h")
	lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	o := all[slices.IndexFunc(all, func(o outlook) bool { return o.Ward == "ICU" })]
	row := fmt.Sprintf("ICU,2026-11-20 16:00,2026-11-20 20:00,%.2f,%d,%d,Checked,%.2f,%.2f,2,%.2f,", o.Total.Mean,
		o.Total.Interval80[0], o.Total.Interval80[1], o.Waiting.Mean, o.UsualMean.Value, o.total.Exceed(2))
	if status != 200 || len(lines) != 2+fanPoints || lines[1] != row ||
		!strings.HasPrefix(lines[0], "\ufeffWard,From,By,") ||
		!strings.Contains(lines[0], "Chance of more than 2,") ||
		!strings.Contains(lines[13], "ICU,2026-11-20 16:00,2026-11-21 04:00,") {
		t.Errorf("%d, want %s:\n%s", status, row, body)
	}
	_, body = visit(t, d, "/v1/beds.csv?at=2026-11-20T08:00&free=18&free.ICU=2")
	if !strings.Contains(body, "\nAll wards,2026-11-20 08:00,2026-11-20 16:00,") || !strings.Contains(body, "\nMED,") ||
		!strings.Contains(body, "Chance of more than the free beds,Needed\n") {
		t.Errorf("all wards:\n%s", body)
	}
	for name, c := range map[string]struct {
		demand  httpapi.BedDemand
		address string
		status  int
		has     string
	}{
		"bad value":    {&fixed{}, "/v1/beds.csv?free=many", 400, "the page Beds says which"},
		"unknown ward": {d, "/v1/beds.csv?ward=NOWHERE", 404, "no ward of that name"},
		"refused": {
			&fixed{err: &httpapi.QueryError{Detail: "beds names a ward without forecasts"}},
			"/v1/beds.csv", 400, `"beds names a ward`,
		},
		"failed": {&fixed{err: errors.New("broken")}, "/v1/beds.csv", 503, "Service Unavailable"},
	} {
		if status, body := visit(t, c.demand, c.address); status != c.status || !strings.Contains(body, c.has) {
			t.Errorf("%s: %d, want %d with %q:\n%s", name, status, c.status, c.has, body)
		}
	}
}
