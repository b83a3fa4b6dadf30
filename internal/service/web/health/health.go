// Package health is the page Health: whether anything is late or lost, what each stream does now and did in the last
// hour, and the dead letters, which operators send back.
package health

import (
	"context"
	_ "embed"
	"html/template"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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
	//go:embed audit.html
	auditHTML string
	//go:embed letters.html
	lettersHTML string
)

type room struct {
	*frame.Page
	Replays
	snapshot         func() *health.Snapshot
	trail            *httpapi.Trail
	view, replayView *frame.Template

	auditView, lettersView *frame.Template

	replaying sync.Mutex
	sent      sync.Map // *replayed of the last replay, by stream
}

// replayed is what was sent back.
type replayed struct {
	At              time.Time
	By, Reason, Why string
	Sent            int
	answered        atomic.Bool // it is known that all of them are, or died again
}

// New returns the routes of the page.
func New(p *frame.Page, snapshot func() *health.Snapshot, replays Replays, trail *httpapi.Trail) []httpapi.Route {
	h := &room{
		Page: p, snapshot: snapshot, Replays: replays, trail: trail, view: p.Template(html),
		replayView: p.Template(replayHTML), auditView: p.Template(auditHTML), lettersView: p.Template(lettersHTML),
	}
	const path = " /health/replay"
	return []httpapi.Route{
		p.Route(h.page),
		frame.Get("/health.csv", h.csv), frame.Get("/health/letters", h.letters),
		{Pattern: "GET /audit", Role: httpapi.Operator, Handler: httpapi.Answering(h.audit)},
		{Pattern: "GET" + path, Role: httpapi.Operator, Handler: httpapi.Answering(h.askReplay)},
		{Pattern: "POST" + path, Role: httpapi.Operator, Handler: httpapi.Answering(h.replay)},
	}
}

type view struct {
	*health.Snapshot
	Streams  []stream
	Operator bool
}

type stream struct {
	*health.Status
	Measures []trend
	Replayed *replayed // nil for none
	Outcome  string    // what came of that
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
	for i := range data.Streams {
		s := &data.Streams[i]
		if last, found := h.sent.Load(s.Name); found {
			s.Replayed = last.(*replayed)
			s.Outcome = s.Replayed.outcome(s.Status, h.asked(r.Context(), s))
		}
	}
	return h.view.View(data)
}

// asked reports whether all that was last sent back has been answered. Kafka is asked until it has.
func (h *room) asked(ctx context.Context, s *stream) bool {
	d := s.Replayed
	if !d.answered.Load() && s.At.Sub(d.At) > answeredWithin {
		ctx, cancel := context.WithTimeout(ctx, askedWithin)
		defer cancel()
		d.answered.Store(h.Answered(ctx, s.Name))
	}
	return d.answered.Load()
}

const (
	answeredWithin = 5 * time.Second // how long after an answer a letter that died again may not be read yet
	askedWithin    = 2 * time.Second
)

// outcome says what came of a replay, as far as is known.
func (d *replayed) outcome(s *health.Status, answered bool) string {
	if s.Tally == nil {
		return "What came of that is not known: the dead letters cannot be read."
	}
	died, reasons := 0, map[string]int{}
	for _, l := range s.Tally.Latest {
		if l.Attempts > 1 && !l.Time.Before(d.At.Truncate(time.Second)) {
			died++
			reasons[strings.ReplaceAll(string(l.Reason), "_", " ")]++
		}
	}
	left, text := max(0, d.Sent-died), ""
	if died > 0 {
		text = wording.Count(died, s.Noun) + " died again: " +
			strings.Join(slices.Sorted(maps.Keys(reasons)), ", ") + ". "
	}
	switch {
	case left == 0:
		return text
	case answered:
		return text + wording.Count(left, s.Noun+" was answered", wording.Plural(s.Noun)+" were answered") + "."
	}
	return text + wording.Count(left, s.Noun+" waits", wording.Plural(s.Noun)+" wait") + " for an answer, or got one."
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

// Replays send dead letters back and tell what came of them.
type Replays struct {
	// Send sends those of a stream with a reason back to where they came from; a dry run counts them.
	Send func(ctx context.Context, stream string, reason msg.Reason, dryRun bool) (deadletter.Sent, error)
	// Answered reports whether all that a stream's last replay sent is known to have been answered, by any scorer.
	Answered func(ctx context.Context, stream string) bool
}

const (
	replayPatience = 20 * time.Second // bounds a replay, which must end before the server gives the request up
	maxReplay      = 4 << 10          // bounds the form, in bytes
)

type replayPage struct {
	*health.Status
	Reason, Why  string
	Error, Wrong string // why it cannot be done, and what is wrong with the form
	deadletter.Sent
}

func (h *room) askReplay(r *http.Request) http.Handler {
	data, missing := h.replayOf(r.URL.Query())
	if missing != nil {
		return missing
	}
	return h.counted(r.Context(), data, 0)
}

// counted shows how many dead letters are meant, or that they cannot be counted.
func (h *room) counted(ctx context.Context, data *replayPage, status int) *frame.View {
	if h.run(ctx, data, true) != nil {
		return h.shown(data, http.StatusServiceUnavailable,
			"The dead letters cannot be counted: Kafka does not answer, or there are too many. The log says why.")
	}
	return h.shown(data, status, "")
}

func (h *room) replay(r *http.Request) http.Handler {
	r.Body = http.MaxBytesReader(nil, r.Body, maxReplay)
	_ = r.ParseForm() // what does not come whole names no stream
	data, missing := h.replayOf(r.PostForm)
	if missing != nil {
		return missing
	}
	data.Why = httpapi.FormReason(r.PostForm)
	if problem := httpapi.CheckReason(data.Why); problem != nil {
		data.Wrong = frame.Capital(problem.Detail) + "."
		return h.counted(r.Context(), data, problem.Status)
	}
	if !h.replaying.TryLock() {
		return h.shown(data, http.StatusConflict,
			"Somebody is replaying dead letters just now. Look at Health before you send them again.")
	}
	defer h.replaying.Unlock()
	done := &replayed{
		At: time.Now(), By: httpapi.CallerOf(r.Context()).By(), Reason: data.Reason, Why: data.Why,
	}
	err := h.run(r.Context(), data, false)
	done.Sent = data.Sent.Sent
	h.sent.Store(data.Name, done)
	httpapi.AddFacts(r.Context(), "stream", data.Name, "reason", data.Reason, "sent", done.Sent, "why", data.Why)
	if err != nil {
		return h.shown(data, http.StatusServiceUnavailable, "Only "+wording.Count(data.Sent.Sent, data.Noun)+
			" went back, then the time was up or Kafka failed. The log says why; `wardcast dlq replay` takes as long "+
			"as it needs.")
	}
	return http.RedirectHandler("/health", http.StatusSeeOther)
}

func (h *room) shown(data *replayPage, status int, wrong string) *frame.View {
	data.Error = wrong
	v := h.replayView.View(data)
	v.Title, v.Status = "Replay dead letters", status
	return v
}

// replayOf reads which dead letters are meant, or returns the answer that there are none such.
func (h *room) replayOf(values url.Values) (*replayPage, http.Handler) {
	status, reason := h.streamOf(values.Get("stream")), values.Get("reason")
	if status == nil || !slices.Contains(msg.Reasons(), msg.Reason(reason)) {
		return nil, h.Missing("There are no dead letters of that kind.")
	}
	return &replayPage{Status: status, Reason: reason}, nil
}

// streamOf returns the stream of a name, or nil.
func (h *room) streamOf(name string) *health.Status {
	streams := h.snapshot().Streams
	if i := slices.IndexFunc(streams, func(s health.Status) bool { return s.Name == name }); i >= 0 {
		return &streams[i]
	}
	return nil
}

// run replays within the time of a request. Its error is logged.
func (h *room) run(ctx context.Context, data *replayPage, dryRun bool) (err error) {
	ctx, cancel := context.WithTimeout(ctx, replayPatience)
	defer cancel()
	data.Sent, err = h.Send(ctx, data.Name, msg.Reason(data.Reason), dryRun)
	if err != nil {
		h.Logger.ErrorContext(ctx, "dead letters cannot be replayed", "err", err)
	}
	return err
}

// audit shows the latest events of the audit log, or of these the changes.
func (h *room) audit(r *http.Request) http.Handler {
	data := struct {
		Since   time.Time
		Changes bool
		Events  []*httpapi.Event
	}{h.trail.Since, r.URL.Query().Get("changes") == "1", h.trail.Events()}
	if data.Changes {
		data.Events = slices.DeleteFunc(data.Events, func(e *httpapi.Event) bool { return !e.Change })
	}
	v := h.auditView.View(data)
	v.Title = "Audit"
	return v
}

// letters lists the latest dead letters of a stream.
func (h *room) letters(r *http.Request) http.Handler {
	status := h.streamOf(r.URL.Query().Get("stream"))
	if status == nil {
		return h.Missing("there is no such stream")
	}
	if status.Tally == nil {
		return httpapi.Problem{Status: http.StatusServiceUnavailable, Detail: "the dead letters are not read yet"}
	}
	data := struct {
		*stream
		Latest []deadletter.Letter
	}{&stream{Status: status}, status.Tally.Latest}
	v := h.lettersView.View(data)
	v.Title = "Dead letters"
	return v
}
