package httpapi

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lists"
)

// QueryError names a wrong query parameter. Its text, which the caller sees, must not quote the query.
type QueryError struct{ Field, Detail string }

func (e *QueryError) Error() string { return "invalid query: " + e.Detail }

// BedDemand forecasts admissions.
type BedDemand interface {
	// Forecasts returns one for each ward and "_all", or for the query's ward; a *QueryError for a wrong query.
	Forecasts(ctx context.Context, q *DemandQuery) ([]Forecast, error)
	// History returns what was forecast on the last days, and what came; a *QueryError for a wrong query.
	History(ctx context.Context, q *HistoryQuery) (*DemandHistory, error)
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
	*msg.BedDemand
	Component string // the patients of the query: waiting, coming, or total
	Came      *int   // the admissions that were decided in the window, nil until it is over or if it is not known
}

// row returns a forecast in the order of the columns of DemandCSV.
func (f *Forecast) row() []string {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	t := &f.Total
	beds, more, usual := "", "", ""
	if len(f.Exceed) > 0 {
		beds, more = strconv.Itoa(f.Exceed[0].Beds), number(f.Exceed[0].Probability)
	}
	if f.UsualMean.Set {
		usual = number(f.UsualMean.Value)
	}
	return []string{
		f.AsOf, f.Site, f.Ward, number(f.HorizonHours), f.Component, strconv.Itoa(f.Waiting.Patients), number(t.Mean),
		strconv.Itoa(t.Median), strconv.Itoa(t.Interval80[0]), strconv.Itoa(t.Interval80[1]),
		strconv.Itoa(t.Interval95[0]), strconv.Itoa(t.Interval95[1]), beds, more, usual,
		strconv.FormatBool(f.Calibrated), strconv.FormatBool(f.OutcomesStale), f.BedsVersion,
	}
}

// HistoryQuery says which forecasts of the past are compared with what came.
type HistoryQuery struct {
	Ward   string // "" for all
	Window time.Duration
	Days   int // that ended now
}

// DemandHistory is what was forecast at moments of the past, by time, and what came.
type DemandHistory struct {
	Points   []HistoryPoint `json:"points"`
	Held     int            `json:"held"`     // points whose range has what came
	Compared int            `json:"compared"` // points with a range and with what came
}

// HistoryPoint is the forecast of a ward at a moment of the past.
type HistoryPoint struct {
	At       time.Time `json:"at"`
	Ward     string    `json:"ward"`
	Window   string    `json:"window"`
	Expected float64   `json:"expected"`
	Low      *int      `json:"low"` // of the 80 % range; nil without one
	High     *int      `json:"high"`
	Actual   *int      `json:"actual"` // nil until the window is over
}

// Add adds a point, and counts it if it can be compared.
func (h *DemandHistory) Add(p HistoryPoint) {
	h.Points = append(h.Points, p)
	if p.Actual == nil || p.Low == nil {
		return
	}
	h.Compared++
	if p.Held() {
		h.Held++
	}
}

// Held reports whether the range of a point that can be compared has what came.
func (p *HistoryPoint) Held() bool { return *p.Low <= *p.Actual && *p.Actual <= *p.High }

// Span returns a window as people write it: 8h, 90m.
func Span(d time.Duration) string {
	if d%time.Hour == 0 {
		return strconv.Itoa(int(d/time.Hour)) + "h"
	}
	return strconv.Itoa(int(d/time.Minute)) + "m"
}

// Limits of a DemandQuery.
const (
	DefaultWindow = 8 * time.Hour
	MinWindow     = 15 * time.Minute
	MaxWindow     = 48 * time.Hour
	MaxWards      = 100 // with free beds
	MaxBeds       = 10_000
	MostDays      = 7 // of a HistoryQuery
)

// DemandCSV returns forecasts as CSV, which a browser saves under the name.
func DemandCSV(name string, all []Forecast) *CSV {
	out := NewCSV(name, "as_of", "site", "ward", "horizon_hours", "component", "patients", "mean", "median", "lo80",
		"hi80", "lo95", "hi95", "beds", "p_more", "usual_mean", "calibrated", "outcomes_stale", "beds_version")
	for i := range all {
		out.Add(all[i].row()...)
	}
	return out
}

// demand answers with forecasts, in CSV if requested.
func (a *API) demand(q *query) http.Handler {
	wanted := q.demand()
	return a.known(q, a.options.Demand != nil, noDemand, func() (http.Handler, error) {
		all, err := a.options.Demand.Forecasts(q.Context(), wanted)
		answer := http.Handler(DemandCSV("", all))
		if kind, _, err := mime.ParseMediaType(q.Header.Get("Accept")); err != nil || kind != "text/csv" {
			values := lists.Map(all, func(f Forecast) json.RawMessage { return f.AppendJSON(nil) })
			answer = JSON(map[string]any{"forecasts": values})
		}
		return headed(answer, "Vary", "Accept"), err
	})
}

const noDemand = "this process forecasts no bed demand"

// demandHistory answers with forecasts of the past and what came.
func (a *API) demandHistory(q *query) http.Handler {
	wanted := &HistoryQuery{
		Ward: q.text("ward", maxName), Window: q.window(), Days: q.number("days", MostDays, 1, MostDays),
	}
	return a.known(q, a.options.Demand != nil, noDemand, func() (http.Handler, error) {
		h, err := a.options.Demand.History(q.Context(), wanted)
		return JSON(h), err
	})
}

// window returns the parameter window.
func (q *query) window() time.Duration {
	text := q.values.Get("window")
	if text == "" {
		return DefaultWindow
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < MinWindow || d > MaxWindow {
		q.bad("window", "it is not a duration from 15m to 48h, such as 8h")
	}
	return d
}

func (q *query) demand() *DemandQuery {
	d := &DemandQuery{
		Ward: q.text("ward", maxName), Window: q.window(), Waiting: true, Coming: true, Beds: map[string]int{},
	}
	var err error
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
