package web

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/wardcast/wardcast/internal/service/httpapi"
)

const (
	// viewerTick is how often a viewer looks for new rows. Each has a clock of its own, so that a thousand of them do not wake at once.
	viewerTick = 200 * time.Millisecond
	// stateGap is how often a viewer is told that all is well: without it, the page says that it is not connected.
	stateGap = 5 * time.Second
	// pageRows is how many rows the page has.
	pageRows = 50
	// leastRetry and mostRetry bound the time until a browser comes back after it lost the stream. Each gets another, so that they do not
	// come at once.
	leastRetry, mostRetry = time.Second, 30 * time.Second
)

// state is what the top bar says.
type state struct {
	Ready bool   `json:"ready"`
	Text  string `json:"text"`
}

// state returns that of now.
func (p *Pages) state() state {
	if _, err := p.options.Ready(); err != nil {
		return state{false, "notes are not being read yet"}
	}
	n, all := p.options.Feed.perMinute(time.Now())
	text := plural(n, "note") + " a minute"
	if !all {
		text = "over " + text
	}
	return state{true, text}
}

// serveState answers with the state, for pages without a stream.
func (p *Pages) serveState(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(p.state()) // the client is gone
}

// stream sends rows as server-sent events until the client goes, or the process drains.
func (p *Pages) stream(w http.ResponseWriter, r *http.Request) {
	out := httpapi.OpenEvents(w, r)
	if out == nil {
		return
	}
	v := &viewer{pages: p, out: out}
	seen := r.Header.Get("Last-Event-ID")
	if seen == "" {
		seen = r.URL.Query().Get("after")
	}
	v.run(r.Context().Done(), seen)
}

// viewer is an open stream.
type viewer struct {
	pages *Pages
	out   *httpapi.Events
	seen  uint64 // number of the newest row that was sent
}

// run sends what comes after the id that the browser has seen.
func (v *viewer) run(gone <-chan struct{}, id string) {
	feed := v.pages.options.Feed
	retry := leastRetry + rand.N(mostRetry-leastRetry) //nolint:gosec // not a secret
	first := []byte("retry: " + strconv.FormatInt(retry.Milliseconds(), 10) + "\n\n")
	var known bool
	if v.seen, known = feed.number(id); !known {
		v.seen = 0
		first = append(first, event("fresh", "", []byte("1"))...)
	}
	b := feed.frame(v.seen, pageRows, v.pages.renderRows)
	v.seen = max(b.last, v.seen)
	ok := v.out.Send(append(append(first, b.frame...), v.state()...))
	tick := time.NewTicker(viewerTick)
	defer tick.Stop()
	stateSent := time.Now()
	for ok {
		select {
		case <-gone:
			return
		case <-feed.closed:
			return
		case now := <-tick.C:
			out := v.catchUp(now)
			if now.Sub(stateSent) >= stateGap {
				out, stateSent = append(out, v.state()...), now
			}
			ok = len(out) == 0 || v.out.Send(out)
		}
	}
}

// catchUp returns what is new.
func (v *viewer) catchUp(now time.Time) (out []byte) {
	p := v.pages
	for _, b := range p.options.Feed.after(v.seen, now, p.renderRows) {
		switch {
		case b.last <= v.seen:
			continue
		case b.first <= v.seen: // it began before this viewer came
			b = p.options.Feed.frame(v.seen, batchRows, p.renderRows)
		case b.first > v.seen+1:
			out = append(out, event("rows", "", p.renderRows(nil, int(b.first-v.seen-1)))...)
		}
		out, v.seen = append(out, b.frame...), b.last
	}
	return out
}

func (v *viewer) state() []byte {
	data, err := json.Marshal(v.pages.state())
	if err != nil {
		return nil
	}
	return event("state", "", data)
}
