package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/models/topicindex"
)

// ErrQuery means that a query is at fault. Its text, which the caller sees, must not quote the query.
var ErrQuery = errors.New("invalid query")

// QueryError is an ErrQuery that names the parameter at fault.
type QueryError struct {
	Field, Detail string
}

func (e *QueryError) Error() string { return ErrQuery.Error() + ": " + e.Detail }

// Unwrap returns ErrQuery.
func (e *QueryError) Unwrap() error { return ErrQuery }

// maxName bounds the names in a query, in bytes.
const maxName = 200

// answer answers unless err says why not.
func (a *API) answer(w http.ResponseWriter, r *http.Request, err error, write func()) {
	fault, named := errors.AsType[*QueryError](err)
	switch {
	case named:
		badParameter(fault.Field, fault.Detail).Write(w)
	case errors.Is(err, ErrQuery), errors.Is(err, topicindex.ErrQuery):
		badParameter("", err.Error()).Write(w)
	case err != nil:
		if r.Context().Err() == nil {
			a.options.Logger.Error("a request cannot be answered", "route", r.Pattern, "err", err, "request_id", visitOf(r.Context()).id)
		}
		Problem{http.StatusServiceUnavailable, codeUnavailable, "", "this cannot be answered now; the log says why"}.Write(w)
	default:
		write()
	}
}

// BedDemand forecasts admissions.
type BedDemand interface {
	// Forecasts returns one for each ward, "_all" among them, or for the ward of the query. The error wraps ErrQuery if the query is
	// at fault.
	Forecasts(ctx context.Context, q *DemandQuery) ([]Forecast, error)
}

// DemandQuery says what to forecast.
type DemandQuery struct {
	Ward            string         // "" for all
	Window          time.Duration  // from At on
	At              time.Time      // zero for now
	Waiting, Coming bool           // patients to count
	Beds            map[string]int // by ward: P(more than so many) is told
}

// Forecast is that of one ward.
type Forecast struct {
	Value json.RawMessage // as on triage.bed-demand
	Row   []string        // of DemandColumns
}

// DemandColumns are the columns of forecasts as CSV.
func DemandColumns() []string {
	return []string{
		"as_of", "site", "ward", "horizon_hours", "component", "patients", "mean", "median", "lo80", "hi80", "lo95", "hi95", "beds", "p_more", "usual_mean",
		"calibrated", "outcomes_stale", "beds_version",
	}
}

// What may be asked of a forecast.
const (
	DefaultWindow = 8 * time.Hour
	MinWindow     = 15 * time.Minute
	MaxWindow     = 48 * time.Hour
	MaxWards      = 100 // with free beds
	MaxBeds       = 10_000
)

func (a *API) demand(w http.ResponseWriter, r *http.Request) {
	q := a.query(r, "ward", "window", "at", "include", "beds")
	wanted := q.demand()
	switch demand := a.options.Demand; {
	case q.refused(w):
	case demand == nil:
		Problem{http.StatusNotImplemented, codeNotServed, "", "this process forecasts no bed demand"}.Write(w)
	default:
		all, err := demand.Forecasts(r.Context(), wanted)
		a.answer(w, r, err, func() { writeForecasts(w, r, all) })
	}
}

// demand reads the parameters of a forecast.
func (q *query) demand() *DemandQuery {
	d := &DemandQuery{Ward: q.text("ward", maxName), Window: DefaultWindow, Waiting: true, Coming: true, Beds: map[string]int{}}
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
				q.bad("include", "it is none of waiting; coming; waiting,coming")
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

// writeForecasts answers with forecasts, as CSV for those who ask for it.
func writeForecasts(w http.ResponseWriter, r *http.Request, all []Forecast) {
	w.Header().Add("Vary", "Accept")
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Accept")); err == nil && kind == "text/csv" {
		out := NewCSV(w, DemandColumns()...)
		for _, f := range all {
			out.Write(f.Row...)
		}
		out.Flush()
		return
	}
	values := []json.RawMessage{}
	for _, f := range all {
		values = append(values, f.Value)
	}
	writeJSON(w, map[string]any{"forecasts": values})
}
