// Package health is the page Health: whether anything is late or lost, what each stream does now and did in the last
// hour, and the dead letters, which operators send back.
package health

import (
	"context"
	_ "embed"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/wardcast/wardcast/ingest/deadletter"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/service/health"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/web/frame"
	"github.com/wardcast/wardcast/internal/wording"
)

var (
	//go:embed health.html
	html string
	//go:embed replay.html
	replayHTML string
)

type room struct {
	*frame.Page
	snapshot         func() *health.Snapshot
	send             Replay
	view, replayView *frame.Template
	replaying        sync.Mutex
}

// New returns the routes of the page.
func New(p *frame.Page, snapshot func() *health.Snapshot, replay Replay) []httpapi.Route {
	h := &room{Page: p, snapshot: snapshot, send: replay, view: p.Template(html), replayView: p.Template(replayHTML)}
	const path = " /health/replay"
	return []httpapi.Route{
		p.Route(h.page),
		frame.Get("/health.csv", h.csv),
		{Pattern: "GET" + path, Role: httpapi.Operator, Handler: httpapi.Answering(h.askReplay)},
		{Pattern: "POST" + path, Role: httpapi.Operator, Handler: httpapi.Answering(h.replay)},
	}
}

type view struct {
	*health.Snapshot
	Streams  []stream
	Operator bool
	Replayed string // how many dead letters were just sent back, "" for no replay
}

type stream struct {
	*health.Status
	Measures []trend
}

// Title is what its records are called.
func (s *stream) Title() string { return wording.Capital(wording.Plural(s.Noun)) }

// trend is a measure now and in the last hour.
type trend struct {
	Name, Now, Exact, Most string
	Line                   template.HTML
}

// hourSpan is the time that a sparkline spans, and hourGap that between two readings from which it has a gap.
const hourSpan, hourGap = time.Hour, 90 * time.Second

func (h *room) page(r *http.Request) http.Handler {
	data := newView(h.snapshot())
	data.Operator = httpapi.CallerOf(r.Context()).Is(httpapi.Operator)
	if n, err := strconv.Atoi(r.URL.Query().Get("replayed")); err == nil && n >= 0 {
		data.Replayed = wording.Count(n, "dead letter")
	}
	return h.view.View(data)
}

func newView(s *health.Snapshot) *view {
	data := &view{Snapshot: s}
	for i := range s.Streams {
		own := stream{Status: &s.Streams[i]}
		history := hour(own.Status)
		add := func(name string, format func(float64) string, of func(*health.Point) float64) {
			now := of(&own.Point)
			t := trend{Name: name, Now: known(now, format), Exact: frame.Exact(now), Most: frame.Unknown}
			if most := highest(history, of); most >= 0 {
				t.Most, t.Line = known(most, format), hourline(history, of, most)
			}
			own.Measures = append(own.Measures, t)
		}
		add(own.Title()+" that wait", count, func(p *health.Point) float64 { return p.Lag })
		add("Oldest in hand", age, func(p *health.Point) float64 { return p.Age })
		add("Answers a second", rate, func(p *health.Point) float64 { return p.Rate })
		add("99 % answered within", latency, func(p *health.Point) float64 { return p.P99 })
		data.Streams = append(data.Streams, own)
	}
	return data
}

// hour returns the last hour and now.
func hour(s *health.Status) []health.Point { return append(slices.Clone(s.History), s.Point) }

func known(v float64, format func(float64) string) string {
	if math.IsNaN(v) {
		return frame.Unknown
	}
	return format(v)
}

func count(v float64) string { return frame.Grouped(int(v)) }

// age returns how long ago something was, given in seconds.
func age(v float64) string {
	switch {
	case v == 0:
		return "none"
	case v < 60:
		return strconv.Itoa(int(v)) + " s"
	}
	return count(v/60) + " min"
}

// rate returns a number of answers a second.
func rate(v float64) string {
	if v < 10 {
		return wording.Short(v, 1)
	}
	return count(math.Round(v))
}

// latency returns a time to answer, given in seconds.
func latency(v float64) string {
	switch {
	case math.IsInf(v, 0):
		return "over a minute"
	case v < 1:
		return wording.Short(1000*v, 0) + " ms"
	}
	return wording.Short(v, 1) + " s"
}

// highest returns the largest value that is known, -1 if none is.
func highest(points []health.Point, of func(*health.Point) float64) float64 {
	most := -1.0
	for i := range points {
		if v := of(&points[i]); v > most {
			most = v
		}
	}
	return most
}

// hourline draws the values in the last hour before the last point, from 0 to most. What is not known leaves a gap.
func hourline(points []health.Point, of func(*health.Point) float64, most float64) template.HTML {
	if math.IsInf(most, 1) || most == 0 {
		most = 1
	}
	c := &chart.Chart{
		Class: "stretch", Width: 240, Height: 28, Top: 2, Bottom: 2,
		X: chart.Span{From: -hourSpan.Seconds()}, Y: chart.Span{To: most},
	}
	c.Line("ax", chart.At(c.X.From, 0), chart.At(0, 0))
	var line []chart.Point
	var before time.Time
	for i := range points {
		at, back := points[i].At, points[len(points)-1].At.Sub(points[i].At)
		if at.Sub(before) > hourGap {
			line = append(line, chart.At(0, math.NaN()))
		}
		if v := of(&points[i]); back <= hourSpan {
			line = append(line, chart.At(-back.Seconds(), v))
			if !math.IsNaN(v) {
				before = at
			}
		}
	}
	c.Line("run", line...)
	return c.SVG()
}

func (h *room) csv(*http.Request) http.Handler {
	out := httpapi.NewCSV("health.csv", "time", "stream", "waiting", "oldest_seconds",
		"answers_per_second", "p99_seconds")
	for _, s := range h.snapshot().Streams {
		for _, x := range hour(&s) {
			out.Add(x.At.UTC().Format(time.RFC3339), s.Name, frame.Exact(x.Lag), frame.Exact(x.Age),
				frame.Exact(x.Rate), frame.Exact(x.P99))
		}
	}
	return out
}

// Replay sends the dead letters of a stream with a reason back to where they came from; a dry run counts them.
type Replay func(ctx context.Context, stream string, reason msg.Reason, dryRun bool) (deadletter.Sent, error)

const (
	replayPatience = 20 * time.Second // bounds a replay, which must end before the server gives the request up
	maxReplay      = 4 << 10          // bounds the form, in bytes
)

type replayPage struct {
	*health.Status
	Reason, Error string
	deadletter.Sent
}

func (h *room) askReplay(r *http.Request) http.Handler {
	data, missing := h.replayOf(r.URL.Query())
	if missing != nil {
		return missing
	}
	if h.run(r.Context(), data, true) != nil {
		return h.shown(data, http.StatusServiceUnavailable,
			"The dead letters cannot be counted: Kafka does not answer, or there are too many. The log says why.")
	}
	return h.shown(data, 0, "")
}

func (h *room) replay(r *http.Request) http.Handler {
	r.Body = http.MaxBytesReader(nil, r.Body, maxReplay)
	_ = r.ParseForm() // what does not come whole names no stream
	data, missing := h.replayOf(r.PostForm)
	if missing != nil {
		return missing
	}
	if !h.replaying.TryLock() {
		return h.shown(data, http.StatusConflict,
			"Somebody is replaying dead letters just now. Look at Health before you send them again.")
	}
	defer h.replaying.Unlock()
	err := h.run(r.Context(), data, false)
	httpapi.AddFacts(r.Context(), "stream", data.Name, "reason", data.Reason, "sent", data.Sent.Sent)
	if err != nil {
		return h.shown(data, http.StatusServiceUnavailable, "Only "+wording.Count(data.Sent.Sent, data.Noun)+
			" went back, then the time was up or Kafka failed. The log says why; `wardcast dlq replay` takes as long "+
			"as it needs.")
	}
	return http.RedirectHandler("/health?replayed="+strconv.Itoa(data.Sent.Sent), http.StatusSeeOther)
}

func (h *room) shown(data *replayPage, status int, wrong string) *frame.View {
	data.Error = wrong
	v := h.replayView.View(data)
	v.Title, v.Status = "Replay dead letters", status
	return v
}

// replayOf reads which dead letters are meant, or returns the answer that there are none such.
func (h *room) replayOf(values url.Values) (*replayPage, http.Handler) {
	streams, reason := h.snapshot().Streams, values.Get("reason")
	i := slices.IndexFunc(streams, func(s health.Status) bool { return s.Name == values.Get("stream") })
	if i < 0 || !slices.Contains(msg.Reasons(), msg.Reason(reason)) {
		return nil, h.Missing("There are no dead letters of that kind.")
	}
	return &replayPage{Status: &streams[i], Reason: reason}, nil
}

// run replays within the time of a request. Its error is logged.
func (h *room) run(ctx context.Context, data *replayPage, dryRun bool) (err error) {
	ctx, cancel := context.WithTimeout(ctx, replayPatience)
	defer cancel()
	data.Sent, err = h.send(ctx, data.Name, msg.Reason(data.Reason), dryRun)
	if err != nil {
		h.Logger.ErrorContext(ctx, "dead letters cannot be replayed", "err", err)
	}
	return err
}
