// Package live is the page Live: the latest predictions as they are published, and what moved one of them. The text of
// notes is shown only if the Feed keeps it. Rows have addresses that are numbers of this process, never visits.
package live

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"html/template"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/web/frame"
	"github.com/wardcast/wardcast/internal/service/web/prediction"
)

//go:embed live.html
var html string

type room struct {
	*frame.Page
	feed *Feed
	view *frame.Template
}

// New returns the routes of the page.
func New(p *frame.Page, feed *Feed) []httpapi.Route {
	h := &room{Page: p, feed: feed, view: p.Template(prediction.HTML, html)}
	page, stream := p.Route(h.page), frame.Get("/live/feed", h.stream)
	page.Predictions, stream.Predictions, stream.Stream = true, true, true
	return []httpapi.Route{page, stream, frame.Get("/live/state", h.state)}
}

// state answers with what the top bar says, for pages without a stream.
func (h *room) state(*http.Request) http.Handler { return httpapi.JSON(h.State()) }

type view struct {
	Rows      []template.HTML
	Last      string // id of the newest
	Counts    counts
	Chosen    *prediction.Row
	Since     *time.Time // when the oldest row came
	Gone      bool       // the chosen row is not kept any more
	ShowNotes bool
}

type counts struct{ All, Admit, Close, None int }

func (h *room) page(r *http.Request) http.Handler {
	list, last := h.feed.latest(pageRows, 0)
	data := &view{Last: h.feed.id(last), ShowNotes: h.feed.notes}
	v := h.view.View(data)
	v.Class = "list"
	var chosen *published
	if wanted := r.URL.Query().Get("row"); wanted != "" {
		v.Class += " row"
		if n, err := strconv.ParseUint(wanted, 10, 64); err == nil {
			chosen = h.feed.row(n)
		}
		data.Gone = chosen == nil
	} else if len(list) > 0 {
		chosen = list[0]
	}
	if chosen != nil {
		data.Chosen = h.row(chosen)
		data.Chosen.Selected = true
	}
	for _, f := range list {
		html := h.draw(f)
		data.Counts.add(f.kind)
		if f == chosen {
			html = h.view.Part("row", data.Chosen)
		}
		data.Rows = append(data.Rows, html)
		data.Since = &f.at
	}
	httpapi.AddFacts(r.Context(), "predictions", len(list))
	if chosen != nil {
		httpapi.AddFacts(r.Context(), "row", data.Chosen.Number)
	}
	return v
}

// add counts a row of these kinds.
func (c *counts) add(kinds string) {
	c.All++
	for kind, n := range map[string]*int{"admit": &c.Admit, "close": &c.Close, "none": &c.None} {
		if strings.Contains(kinds, kind) {
			*n++
		}
	}
}

// draw draws the row of a prediction, once for all pages and streams that show it.
func (h *room) draw(f *published) template.HTML {
	f.once.Do(func() {
		r := h.row(f)
		f.html, f.kind = h.view.Part("row", r), r.Kind()
	})
	return f.html
}

func (h *room) renderRows(list []*published, more int) []byte {
	data := struct {
		Rows []template.HTML
		More int
	}{More: more}
	for _, f := range list {
		data.Rows = append(data.Rows, h.draw(f))
	}
	return []byte(h.view.Part("batch", data))
}

// row returns what was published; one that says so for a prediction that cannot be read.
func (h *room) row(f *published) (r *prediction.Row) {
	var p msg.Prediction
	if err := json.Unmarshal(f.value, &p); err != nil {
		r = &prediction.Row{Title: "Prediction cannot be read", P: prediction.Probability{None: true}}
	} else {
		note := &msg.Note{}
		if f.note == nil || msg.DecodeNote(f.note, note) != nil {
			note = nil
		}
		r = prediction.NewRow(&p, note)
	}
	r.Number, r.At = h.feed.base+f.number, f.at
	return r
}

const (
	// viewerTick is how often a viewer looks for new rows, by its own clock, so that a thousand do not wake at once.
	viewerTick = 200 * time.Millisecond
	// stateGap is how often a viewer gets the state of the stream; without it, the page shows that it is not connected.
	stateGap = 5 * time.Second
	pageRows = 50 // how many rows the page has
	// leastRetry and mostRetry bound the random time after which a browser that lost the stream comes back.
	leastRetry, mostRetry = time.Second, 30 * time.Second
)

// stream sends rows as server-sent events until the client goes, or the process drains.
func (h *room) stream(*http.Request) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := httpapi.OpenEvents(w, r)
		if out == nil {
			return
		}
		seen := cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after"))
		v := &viewer{room: h, out: out}
		v.run(r.Context().Done(), seen)
		httpapi.AddFacts(r.Context(), "predictions", v.sent)
	})
}

type viewer struct {
	*room
	out  *httpapi.Events
	seen uint64 // number of the newest row that was sent
	sent uint64 // rows
}

// run sends what comes after the id that the browser has seen.
func (v *viewer) run(gone <-chan struct{}, id string) {
	retry := leastRetry + rand.N(mostRetry-leastRetry) //nolint:gosec // not a secret
	first := []byte("retry: " + strconv.FormatInt(retry.Milliseconds(), 10) + "\n\n")
	var known bool
	if v.seen, known = v.feed.number(id); !known {
		v.seen = 0
		first = append(first, event("fresh", "", []byte("1"))...)
	}
	b := v.feed.frame(v.seen, pageRows, v.renderRows)
	v.count(&b, pageRows)
	ok := v.out.Send(append(append(first, b.frame...), v.topBar()...))
	tick := time.Tick(viewerTick)
	said := time.Now()
	for ok {
		select {
		case <-gone:
			return
		case <-v.feed.closed:
			return
		case now := <-tick:
			out := v.catchUp(now)
			if now.Sub(said) >= stateGap {
				out, said = append(out, v.topBar()...), now
			}
			ok = len(out) == 0 || v.out.Send(out)
		}
	}
}

func (v *viewer) catchUp(now time.Time) (out []byte) {
	for _, b := range v.feed.after(v.seen, now, v.renderRows) {
		switch {
		case b.last <= v.seen:
			continue
		case b.first <= v.seen: // it began before this viewer came
			b = v.feed.frame(v.seen, batchRows, v.renderRows)
		case b.first > v.seen+1:
			out = append(out, event("rows", "", v.renderRows(nil, int(b.first-v.seen-1)))...)
		}
		out = append(out, b.frame...)
		v.count(&b, batchRows)
	}
	return out
}

// count adds the rows of a batch, of which it holds so many at most.
func (v *viewer) count(b *batch, most uint64) {
	v.sent += min(most, b.last+1-min(b.first, b.last+1))
	v.seen = max(b.last, v.seen)
}

func (v *viewer) topBar() []byte {
	data, err := json.Marshal(v.State())
	if err != nil {
		return nil
	}
	return event("state", "", data)
}
