package waiting

import (
	"net/http"
	"strconv"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/web/frame"
	"github.com/wardcast/wardcast/internal/wording"
)

const csvPath = "/v1/waiting.csv"

// csv answers with all who wait and match, for a spreadsheet. It names no visit and shows no label: what leaves the
// page tells patients apart by their arrival alone.
func (h *room) csv(r *http.Request) http.Handler {
	q, wrong := h.read(r)
	if wrong != nil {
		return *wrong
	}
	list, err := h.waiting.Waiting(r.Context())
	if wait := httpapi.NotKnown(err); wait != nil {
		return wait
	}
	if err != nil {
		return httpapi.Problem{Status: http.StatusServiceUnavailable}
	}
	q.Limit, q.Offset = list.Len(), 0
	out := httpapi.NewSheet("waiting.csv", "Arrived", "Minutes waited", "Complaint", "Age", "Sex", "Acuity", "Site",
		"Chance of admission", "Threshold", "Prediction", "Close call", "Ward, likely")
	number := func(v msg.Optional) string {
		if !v.Set {
			return ""
		}
		return wording.Short(v.Value, 2)
	}
	found := list.Find(q).Patients
	httpapi.AddFacts(r.Context(), "patients", len(found), "of", len(found))
	for _, p := range found {
		chance, said, near := wording.Fixed(p.Probability, 2), "Likely discharge", ""
		switch {
		case p.Abstained:
			chance, said = "", "Not predicted"
		case p.Admits():
			said = "Likely admission"
		}
		if p.Close() {
			near = "yes"
		}
		out.Add(p.Arrived.In(h.Zone).Format("2006-01-02 15:04"),
			strconv.Itoa(max(0, int(list.AsOf.Sub(p.Arrived)/time.Minute))), p.Complaint, number(p.Age), p.Sex,
			number(p.Acuity), p.Site, chance, wording.Fixed(p.Threshold, 2), said, near, p.Ward)
	}
	return out
}

// CSV returns the address of the sheet with the filters of the page.
func (d *view) CSV() string { return frame.Address(csvPath, address(d.query)) }
