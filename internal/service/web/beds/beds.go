// Package beds is the page Beds: how many beds will be needed, by when, and where they will be short.
package beds

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/web/frame"
)

//go:embed beds.html
var html string

const (
	fanPoints    = 12
	shownFor     = 5 * time.Second // that a forecast is shown again
	oldAfter     = 5 * time.Minute // of a count
	maxEntries   = 32
	momentLayout = "2006-01-02T15:04" // of the browser's field
)

type room struct {
	*frame.Page
	demand httpapi.BedDemand
	site   *Clock
	view   *frame.Template
	cache  cache
}

// New returns the routes of the page.
func New(p *frame.Page, demand httpapi.BedDemand, site *Clock) []httpapi.Route {
	h := &room{Page: p, demand: demand, site: site, view: p.Template(html)}
	return []httpapi.Route{p.Route(h.page), frame.Get(csvPath, h.csv)}
}

type query struct {
	asked
	Window    time.Duration // forecast
	free      map[string]int
	TypedFree map[string]string // by ward, as they were typed
	Errors    map[string]string // by field
}

// asked is the part of a query on which its forecasts depend.
type asked struct {
	Ahead   time.Duration // the window, zero if it ends at By
	By      string        // a time of the site's clock, "" for the usual one
	At      time.Time     // zero for now
	Ward    string        // that the first panel is about
	Waiting bool          // leave out those who arrive later
}

// readQuery reads the address of the page. What is wrong is in Errors, and left out.
func readQuery(values url.Values, zone *time.Location) *query {
	q := &query{
		asked: asked{
			Ward: cmp.Or(values.Get("ward"), msg.AllWards), Waiting: values.Get("include") == "waiting",
		},
		free: map[string]int{}, TypedFree: map[string]string{}, Errors: map[string]string{},
	}
	if text := values.Get("window"); text != "" {
		if d, err := time.ParseDuration(text); err != nil || d < httpapi.MinWindow || d > httpapi.MaxWindow {
			q.Errors["window"] = "Between 15 minutes and 48 hours, such as 8h."
		} else {
			q.Ahead = d
		}
	}
	if text := values.Get("by"); text != "" {
		if at, err := time.Parse(clockLayout, text); err != nil {
			q.Errors["by"] = "A time of day, such as 18:00."
		} else {
			q.Ahead, q.By = 0, at.Format(clockLayout)
		}
	}
	if text := values.Get("at"); text != "" {
		at, err := time.ParseInLocation(momentLayout, text, zone)
		if err != nil {
			at, err = time.Parse(time.RFC3339, text)
		}
		if err != nil {
			q.Errors["at"] = "A day and a time, such as 2026-11-20T16:00."
		} else {
			q.At = at
		}
	}
	if q.By == "" && !q.At.IsZero() {
		q.Ahead = cmp.Or(q.Ahead, httpapi.DefaultWindow)
	}
	for name, list := range values {
		ward, isWard := strings.CutPrefix(name, "free.")
		if name == "free" {
			ward, isWard = msg.AllWards, true
		}
		text := strings.TrimSpace(list[0])
		if !isWard || text == "" || len(q.TypedFree) == httpapi.MaxWards {
			continue
		}
		q.TypedFree[ward] = strings.ToValidUTF8(text, "\uFFFD")
		if n, err := strconv.Atoi(text); err != nil || n < 0 || n > httpapi.MaxBeds {
			q.Errors["free."+ward] = "A whole number of beds, 0 to 10,000."
		} else {
			q.free[ward] = n
		}
	}
	return q
}

func (q *query) address() url.Values {
	v := url.Values{}
	if q.Ahead != 0 && (q.At.IsZero() || q.Ahead != httpapi.DefaultWindow) {
		v.Set("window", httpapi.Span(q.Ahead))
	}
	if q.By != "" {
		v.Set("by", q.By)
	}
	if !q.At.IsZero() {
		v.Set("at", q.At.UTC().Format(time.RFC3339))
	}
	if q.Ward != msg.AllWards {
		v.Set("ward", q.Ward)
	}
	if q.Waiting {
		v.Set("include", "waiting")
	}
	for ward, n := range q.free {
		name := "free." + ward
		if ward == msg.AllWards {
			name = "free"
		}
		v.Set(name, strconv.Itoa(n))
	}
	return v
}

// spelled returns a duration with its unit.
func spelled(d time.Duration) string {
	if d == time.Hour {
		return "1 hour"
	}
	return strings.NewReplacer("h", " hours", "m", " minutes").Replace(httpapi.Span(d))
}

// LinkTo returns the address of the page with parameters changed, names and values by turns, or left out if the value
// is empty.
func (q *query) LinkTo(changes ...string) string {
	return frame.Address("/beds", q.address(), changes...)
}

func (q *query) api() string {
	v := url.Values{"window": {httpapi.Span(q.Window)}}
	if !q.At.IsZero() {
		v.Set("at", q.At.UTC().Format(time.RFC3339))
	}
	if q.Waiting {
		v.Set("include", "waiting")
	}
	var free []string
	for _, ward := range slices.Sorted(maps.Keys(q.free)) {
		free = append(free, ward+":"+strconv.Itoa(q.free[ward]))
	}
	if free != nil {
		v.Set("beds", strings.Join(free, ","))
	}
	return "/v1/bed-demand?" + v.Encode()
}

func (q *query) demand() *httpapi.DemandQuery {
	return &httpapi.DemandQuery{Window: q.Window, At: q.At, Waiting: true, Coming: !q.Waiting}
}

type demanded struct {
	window  time.Duration
	wards   []outlook // of the window, all wards together first
	hours   []outlook // of one ward for windows that grow
	history *httpapi.DemandHistory
	asOf    time.Time
	read    time.Time
}

// cache keeps forecasts for shownFor, so that many viewers cost as much as one.
type cache struct {
	mu      sync.Mutex
	entries map[asked]*demanded
}

// of returns the forecasts of a query. Only one is made at a time.
func (h *room) of(ctx context.Context, q *query) (*demanded, error) {
	c := &h.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if d := c.entries[q.asked]; d != nil && now.Sub(d.read) < shownFor {
		return d, nil
	}
	d, err := h.ask(ctx, q)
	if err != nil {
		return nil, err
	}
	d.read = now
	maps.DeleteFunc(c.entries, func(_ asked, d *demanded) bool { return now.Sub(d.read) >= shownFor })
	if c.entries == nil || len(c.entries) == maxEntries {
		c.entries = map[asked]*demanded{}
	}
	c.entries[q.asked] = d
	return d, nil
}

var errNoWard = errors.New("no ward of that name") // means that the ward of a query has no forecasts

const slack = 30 * time.Second // by which a window may miss the time that it is to end at

// ask asks for all wards, then for the windows of the hourly chart at the same moment, and for the last days.
func (h *room) ask(ctx context.Context, q *query) (*demanded, error) {
	wanted := q.demand()
	now := q.At
	if now.IsZero() {
		now = time.Now()
	}
	d := &demanded{asOf: now}
	for {
		window := cmp.Or(q.Ahead, h.site.until(d.asOf, q.By).Sub(d.asOf))
		if (window - d.window).Abs() <= slack {
			break // that of the moment that the forecast turned out to be of
		}
		d.window, wanted.Window = window, window
		var err error
		if d.wards, err = forecasts(ctx, h.demand, wanted); err != nil || len(d.wards) == 0 {
			return d, err
		}
		if d.asOf, err = time.Parse(time.RFC3339, d.wards[0].AsOf); err != nil {
			return nil, fmt.Errorf("reading a forecast's time: %w", err)
		}
	}
	if !slices.ContainsFunc(d.wards, func(o outlook) bool { return o.Ward == q.Ward }) {
		return nil, errNoWard
	}
	// The hourly chart begins at a full hour and goes beyond the end of the window.
	step, hour := time.Duration(math.Floor(d.window.Hours()/fanPoints)+1)*time.Hour, h.site.hour(d.asOf)
	for i := range fanPoints {
		one := *wanted
		one.At, one.Ward, one.Window = d.asOf, q.Ward, hour.Add(step*time.Duration(i+1)).Sub(d.asOf)
		made, err := forecasts(ctx, h.demand, &one)
		if err != nil {
			return nil, err
		}
		d.hours = append(d.hours, made...)
	}
	var err error
	d.history, err = h.demand.History(ctx, &httpapi.HistoryQuery{Window: judged(d.window), Days: httpapi.MostDays})
	return d, err
}

func forecasts(ctx context.Context, demand httpapi.BedDemand, q *httpapi.DemandQuery) ([]outlook, error) {
	answers, err := demand.Forecasts(ctx, q)
	return lists.Map(answers, newOutlook), err
}

func (h *room) page(r *http.Request) http.Handler {
	q := readQuery(r.URL.Query(), h.site.Zone)
	d, err := h.of(r.Context(), q)
	data := &view{query: q, site: h.site, now: time.Now()}
	v := h.view.View(data)
	fault, faulty := errors.AsType[*httpapi.QueryError](err)
	switch {
	case errors.Is(err, errNoWard):
		return h.Missing("No ward of that name has forecasts.")
	case faulty:
		q.Errors["at"] = frame.Capital(fault.Detail) + "."
	case errors.Is(err, httpapi.ErrNoModel):
		data.Failed = "There is no forecast before the first model: who waits is not known."
	case err != nil:
		v.Status = http.StatusServiceUnavailable
		data.Failed = "The forecast could not be made at " + h.Clock(data.now) + ". The log says why."
		h.failed(r, err)
	default:
		data.fill(d)
	}
	if len(q.Errors) > 0 {
		v.Status = http.StatusBadRequest
	}
	return v
}

// failed logs why there is no forecast, unless nobody waits for it any more.
func (h *room) failed(r *http.Request, err error) {
	if r.Context().Err() == nil {
		h.Logger.Error("beds cannot be forecast", "err", err)
	}
}
