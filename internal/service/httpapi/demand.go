package httpapi

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// QueryError names a wrong query parameter. Its text, which the caller sees, must not quote the query.
type QueryError struct {
	Field, Detail string
}

func (e *QueryError) Error() string { return "invalid query: " + e.Detail }

// BedDemand forecasts admissions.
type BedDemand interface {
	// Forecasts returns one for each ward and "_all", or for the query's ward; a *QueryError for a wrong query.
	Forecasts(ctx context.Context, q *DemandQuery) ([]Forecast, error)
}

// DemandQuery says what to forecast.
type DemandQuery struct {
	Ward            string         // "" for all
	Window          time.Duration  // from At on
	At              time.Time      // zero for now
	Waiting, Coming bool           // patients to count
	Beds            map[string]int // by ward: report P(more than so many)
}

// Forecast is the forecast for one ward.
type Forecast struct {
	Value json.RawMessage // as on triage.bed-demand
	Row   []string        // of DemandCSV
}

// Limits of a DemandQuery.
const (
	DefaultWindow = 8 * time.Hour
	MinWindow     = 15 * time.Minute
	MaxWindow     = 48 * time.Hour
	MaxWards      = 100 // with free beds
	MaxBeds       = 10_000
)

// DemandCSV returns forecasts as CSV, which a browser saves under the name.
func DemandCSV(name string, all []Forecast) *CSV {
	out := NewCSV(name, "as_of", "site", "ward", "horizon_hours", "component", "patients", "mean", "median", "lo80",
		"hi80", "lo95", "hi95", "beds", "p_more", "usual_mean", "calibrated", "outcomes_stale", "beds_version")
	for _, f := range all {
		out.Add(f.Row...)
	}
	return out
}

// demand answers with forecasts, in CSV if requested.
func (a *API) demand(q *query) http.Handler {
	wanted := q.demand()
	switch {
	case q.problem != nil:
		return nil
	case a.options.Demand == nil:
		return problem(http.StatusNotImplemented, codeNotServed, "this process forecasts no bed demand")
	}
	all, err := a.options.Demand.Forecasts(q.Context(), wanted)
	if err != nil {
		return a.failed(q, err)
	}
	answer := http.Handler(DemandCSV("", all))
	if kind, _, err := mime.ParseMediaType(q.Header.Get("Accept")); err != nil || kind != "text/csv" {
		values := []json.RawMessage{}
		for _, f := range all {
			values = append(values, f.Value)
		}
		answer = JSON(map[string]any{"forecasts": values})
	}
	return headed(answer, "Vary", "Accept")
}

func (q *query) demand() *DemandQuery {
	d := &DemandQuery{
		Ward: q.text("ward", maxName), Window: DefaultWindow, Waiting: true, Coming: true, Beds: map[string]int{},
	}
	var err error
	if text := q.values.Get("window"); text != "" {
		if d.Window, err = time.ParseDuration(text); err != nil || d.Window < MinWindow || d.Window > MaxWindow {
			q.bad("window", "it is not a duration from 15m to 48h, such as 8h")
		}
	}
	if text := q.values.Get("at"); text != "" {
		if d.At, err = time.Parse(time.RFC3339, text); err != nil || d.At.IsZero() { // which would stand for now
			q.bad("at", "it is not a time such as 2026-11-20T08:00:00Z; a + in it is written %2B")
		}
	}
	if text := q.values.Get("include"); text != "" {
		d.Waiting, d.Coming = false, false
		for part := range strings.SplitSeq(text, ",") {
			d.Waiting, d.Coming = d.Waiting || part == "waiting", d.Coming || part == "coming"
			if part != "waiting" && part != "coming" {
				q.bad("include", "it is not one of waiting; coming; waiting,coming")
			}
		}
	}
	if text := q.text("beds", MaxWards*maxName); text != "" {
		for part := range strings.SplitSeq(text, ",") {
			ward, count, ok := strings.Cut(part, ":")
			n, err := strconv.Atoi(count)
			if !ok || ward == "" || err != nil || n < 0 || n > MaxBeds || len(d.Beds) == MaxWards {
				q.bad("beds", "it is not of the form MED:6,SURG:4")
				break
			}
			d.Beds[ward] = n
		}
	}
	return d
}
