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
	zone   *time.Location
	view   *frame.Template
	cache  cache
}

// New returns the routes of the page. The zone is that of the site's wall clock.
func New(p *frame.Page, demand httpapi.BedDemand, zone *time.Location) []httpapi.Route {
	h := &room{Page: p, demand: demand, zone: zone, view: p.Template(html)}
	return []httpapi.Route{p.Route(h.page), frame.Get("/beds.csv", h.csv)}
}

type query struct {
	asked
	free   map[string]int
	typed  map[string]string // the fields as they were typed
	Errors map[string]string // by field
}

// asked is the part of a query on which its forecasts depend.
type asked struct {
	Window  time.Duration
	At      time.Time // zero for now
	Ward    string    // that the first panel is about
	Waiting bool      // leave out those who arrive later
}

// readQuery reads the address of the page. What is wrong is in Errors, and left out.
func readQuery(values url.Values, zone *time.Location) *query {
	q := &query{
		asked: asked{
			Window: httpapi.DefaultWindow, Ward: cmp.Or(values.Get("ward"), msg.AllWards),
			Waiting: values.Get("include") == "waiting",
		},
		free: map[string]int{}, typed: map[string]string{}, Errors: map[string]string{},
	}
	if text := values.Get("window"); text != "" {
		if d, err := time.ParseDuration(text); err != nil || d < httpapi.MinWindow || d > httpapi.MaxWindow {
			q.Errors["window"] = "Between 15 minutes and 48 hours, such as 8h."
		} else {
			q.Window = d
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
	for name, list := range values {
		ward, isWard := strings.CutPrefix(name, "free.")
		if name == "free" {
			ward, isWard = msg.AllWards, true
		}
		text := strings.TrimSpace(list[0])
		if !isWard || text == "" || len(q.typed) == httpapi.MaxWards {
			continue
		}
		q.typed[ward] = strings.ToValidUTF8(text, "\uFFFD")
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
	if q.Window != httpapi.DefaultWindow {
		v.Set("window", short(q.Window))
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

// short returns a duration as people write it: 8h, 90m.
func short(d time.Duration) string {
	if d%time.Hour == 0 {
		return strconv.Itoa(int(d/time.Hour)) + "h"
	}
	return strconv.Itoa(int(d/time.Minute)) + "m"
}

// spelled returns a duration with its unit.
func spelled(d time.Duration) string {
	if d == time.Hour {
		return "1 hour"
	}
	return strings.NewReplacer("h", " hours", "m", " minutes").Replace(short(d))
}

// LinkTo returns the address of the page with one of its parameters changed, or left out if the value is empty.
func (q *query) LinkTo(name, value string) string {
	return frame.Address("/beds", q.address(), name, value)
}

func (q *query) api() string {
	v := url.Values{"window": {short(q.Window)}}
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
	wards []msg.BedDemand // of the window, all wards together first
	hours []msg.BedDemand // of one ward for windows that grow, see fanStep
	asOf  time.Time
	read  time.Time
}

// cache keeps forecasts for shownFor, so that many viewers cost as much as one.
type cache struct {
	mu      sync.Mutex
	entries map[asked]*demanded
}

// of returns the forecasts of a query. Only one is made at a time.
func (c *cache) of(ctx context.Context, demand httpapi.BedDemand, q *query) (*demanded, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if d := c.entries[q.asked]; d != nil && now.Sub(d.read) < shownFor {
		return d, nil
	}
	d, err := ask(ctx, demand, q)
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

// fanStep returns the time between the points of the hourly chart, which goes beyond the window.
func fanStep(window time.Duration) time.Duration {
	return time.Duration(max(1, math.Ceil(window.Hours()/fanPoints))) * time.Hour
}

var errNoWard = errors.New("no ward of that name") // means that the ward of a query has no forecasts

// ask asks for all wards, and then for the windows of the hourly chart at the same moment.
func ask(ctx context.Context, demand httpapi.BedDemand, q *query) (*demanded, error) {
	wanted := q.demand()
	d := &demanded{}
	var err error
	if d.wards, err = forecasts(ctx, demand, wanted); err != nil || len(d.wards) == 0 {
		return d, err
	}
	if !slices.ContainsFunc(d.wards, func(b msg.BedDemand) bool { return b.Ward == q.Ward }) {
		return nil, errNoWard
	}
	if d.asOf, err = time.Parse(time.RFC3339, d.wards[0].AsOf); err != nil {
		return nil, fmt.Errorf("reading a forecast's time: %w", err)
	}
	step := fanStep(q.Window)
	for i := range fanPoints {
		one := *wanted
		one.At, one.Ward, one.Window = d.asOf, q.Ward, step*time.Duration(i+1)
		hour, err := forecasts(ctx, demand, &one)
		if err != nil {
			return nil, err
		}
		d.hours = append(d.hours, hour...)
	}
	return d, nil
}

func forecasts(ctx context.Context, demand httpapi.BedDemand, q *httpapi.DemandQuery) ([]msg.BedDemand, error) {
	answers, err := demand.Forecasts(ctx, q)
	if err != nil {
		return nil, err
	}
	list := make([]msg.BedDemand, len(answers))
	for i := range answers {
		if err := msg.DecodeBedDemand(answers[i].Value, &list[i]); err != nil {
			return nil, fmt.Errorf("reading a forecast: %w", err)
		}
	}
	return list, nil
}

func (h *room) page(r *http.Request) http.Handler {
	q := readQuery(r.URL.Query(), h.zone)
	d, err := h.cache.of(r.Context(), h.demand, q)
	data := &view{query: q, zone: h.zone, now: time.Now()}
	v := h.view.View(data)
	fault, faulty := errors.AsType[*httpapi.QueryError](err)
	switch {
	case errors.Is(err, errNoWard):
		return h.Missing("No ward of that name has forecasts.")
	case faulty:
		q.Errors["at"] = frame.Capital(fault.Detail) + "."
	case err != nil:
		v.Status = http.StatusServiceUnavailable
		data.Failed = "The forecast could not be made at " + data.clock(data.now) + ". The log says why."
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

func (h *room) csv(r *http.Request) http.Handler {
	q := readQuery(r.URL.Query(), h.zone)
	if len(q.Errors) > 0 {
		const detail = "a value in the address is wrong; the page Beds says which"
		return httpapi.Problem{Status: http.StatusBadRequest, Detail: detail}
	}
	wanted := q.demand()
	wanted.Beds = q.free
	all, err := h.demand.Forecasts(r.Context(), wanted)
	fault, faulty := errors.AsType[*httpapi.QueryError](err)
	switch {
	case faulty:
		return httpapi.Problem{Status: http.StatusBadRequest, Detail: fault.Detail}
	case err != nil:
		h.failed(r, err)
		return httpapi.Problem{Status: http.StatusServiceUnavailable}
	}
	return httpapi.DemandCSV("beds.csv", all)
}
