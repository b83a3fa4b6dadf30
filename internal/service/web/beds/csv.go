package beds

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/web/frame"
	"github.com/wardcast/wardcast/internal/wording"
)

const (
	csvPath   = "/v1/beds.csv"
	cellClock = "2006-01-02 15:04" // as spreadsheets read it
)

// csv answers with what the page shows, for a spreadsheet.
func (h *room) csv(r *http.Request) http.Handler {
	q := readQuery(r.URL.Query(), h.site.Zone)
	if len(q.Errors) > 0 {
		const detail = "a value in the address is wrong; the page Beds says which"
		return httpapi.Problem{Status: http.StatusBadRequest, Detail: detail}
	}
	d, err := h.of(r.Context(), q)
	if wait := httpapi.NotKnown(err); wait != nil {
		return wait
	}
	fault, faulty := errors.AsType[*httpapi.QueryError](err)
	switch {
	case errors.Is(err, errNoWard):
		return httpapi.Problem{Status: http.StatusNotFound, Detail: err.Error()}
	case faulty:
		return httpapi.Problem{Status: http.StatusBadRequest, Detail: fault.Detail}
	case err != nil:
		h.failed(r, err)
		return httpapi.Problem{Status: http.StatusServiceUnavailable}
	}
	page := &view{query: q, site: h.site, now: time.Now()}
	page.fill(d)
	return page.sheet(d)
}

// sheet returns the wards, or the one that is shown, and then its hours.
func (page *view) sheet(d *demanded) http.Handler {
	rows := d.hours
	for i := range d.wards {
		if o := d.wards[len(d.wards)-1-i]; page.Ward == msg.AllWards || o.Ward == page.Ward {
			rows = append([]outlook{o}, rows...)
		}
	}
	free, more := map[int]bool{}, "Chance of more than the free beds"
	for i := range rows {
		if n, known := page.freeOf(rows[i].Ward); known {
			free[n] = true
		}
	}
	if len(free) == 1 {
		for n := range free {
			more = fmt.Sprintf("Chance of more than %d", n)
		}
	}
	out := httpapi.NewSheet("beds.csv", "Ward", "From", "By", "Expected", "Low (8 in 10)", "High (8 in 10)", "Range",
		"Of those here now", "Usual", "Free beds", more, "Needed")
	local := func(t time.Time) string { return t.Round(time.Minute).In(page.site.Zone).Format(cellClock) }
	for i := range rows {
		o := &rows[i]
		ward, low, high, usual, beds, chance, came := o.Ward, "", "", "", "", "", ""
		if ward == msg.AllWards {
			ward = "All wards"
		}
		shown, worth := o.trust()
		if shown {
			low, high = strconv.Itoa(o.Total.Interval80[0]), strconv.Itoa(o.Total.Interval80[1])
		}
		if shown && worth == "" {
			worth = "checked"
		}
		if o.UsualMean.Set {
			usual = wording.Fixed(o.UsualMean.Value, 2)
		}
		if n, known := page.freeOf(o.Ward); known {
			beds, chance = strconv.Itoa(n), wording.Fixed(o.total.Exceed(n), 2)
		}
		if o.Came != nil {
			came = strconv.Itoa(*o.Came)
		}
		out.Add(ward, local(page.asOf), local(page.asOf.Add(time.Duration(o.HorizonHours*float64(time.Hour)))),
			wording.Fixed(o.Total.Mean, 2), low, high, frame.Capital(worth), wording.Fixed(o.Waiting.Mean, 2), usual, beds,
			chance, came)
	}
	return out
}
