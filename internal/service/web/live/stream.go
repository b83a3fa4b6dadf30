package live

import (
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/wardcast/wardcast/internal/service/httpapi"
)

const (
	// viewerTick is how often a viewer looks for new rows, by its own clock, so that a thousand do not wake at once.
	viewerTick = 200 * time.Millisecond
	// stateGap is how often a viewer is told that all is well: without it, the page says that it is not connected.
	stateGap = 5 * time.Second
	pageRows = 50 // how many rows the page has
	// leastRetry and mostRetry bound the time until a browser comes back after it lost the stream. Each gets another,
	// so that they do not come at once.
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
	})
}

type viewer struct {
	*room
	out  *httpapi.Events
	seen uint64 // number of the newest row that was sent
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
	v.seen = max(b.last, v.seen)
	ok := v.out.Send(append(append(first, b.frame...), v.topBar()...))
	tick := time.NewTicker(viewerTick)
	defer tick.Stop()
	said := time.Now()
	for ok {
		select {
		case <-gone:
			return
		case <-v.feed.closed:
			return
		case now := <-tick.C:
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
		out, v.seen = append(out, b.frame...), b.last
	}
	return out
}

func (v *viewer) topBar() []byte {
	data, err := json.Marshal(v.State())
	if err != nil {
		return nil
	}
	return event("state", "", data)
}
