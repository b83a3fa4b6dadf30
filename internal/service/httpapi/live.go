package httpapi

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// liveEvents is how many predictions are kept for viewers.
	liveEvents = 1024
	// maxLiveEvent is the largest one that is kept, in bytes: all take 32 MiB at most. Usual ones have some kilobytes.
	maxLiveEvent = 32 << 10
	// liveTick is how often a viewer is sent what is new: the time that a prediction takes to it, at most. Each viewer
	// has a clock of its own, so that a thousand of them do not wake at once and get into the scorer's way.
	liveTick = 100 * time.Millisecond
	// liveHeartbeat shows a viewer, and the proxies on the way, that the stream is alive.
	liveHeartbeat = 15 * time.Second
	// liveBatch bounds what a viewer is sent at a tick, in bytes, and liveTotal what all are. So a scorer that catches
	// up with thousands of notes a second does not spend its time on viewers: they lose what nobody could follow. A
	// thousand viewers still get some 200 predictions a second each.
	minLiveBatch, maxLiveBatch = 16 << 10, 256 << 10
	liveTotal                  = 40 << 20
)

// Live keeps the latest published predictions for those who watch. Publish costs the same with no viewer and with
// thousands: it leaves a prediction in a ring and wakes nobody. A viewer that is too slow finds that the ring has moved
// on, and is told how many it lost.
type Live struct {
	epoch   string        // of this process, in the ids of events
	last    atomic.Uint64 // number of the last event, from 1
	ring    [liveEvents]atomic.Pointer[event]
	closed  chan struct{}
	viewers atomic.Int64
}

// event is a published prediction. It never changes.
type event struct {
	number uint64
	frame  []byte // as it is sent
}

// NewLive returns a Live without events.
func NewLive() *Live {
	return &Live{epoch: strconv.FormatInt(time.Now().UnixMilli(), 36), closed: make(chan struct{})}
}

// Publish keeps a copy of a prediction, one line of JSON. It never waits, and is safe for concurrent use.
func (l *Live) Publish(value []byte) {
	n := l.last.Add(1)
	var frame []byte
	if len(value) > maxLiveEvent {
		frame = appendLost(nil, 1)
	} else {
		frame = make([]byte, 0, len(value)+48)
		frame = append(append(frame, "id: "...), l.epoch...)
		frame = strconv.AppendUint(append(frame, '-'), n, 10)
		frame = append(append(append(frame, "\ndata: "...), value...), "\n\n"...)
	}
	e, slot := &event{n, frame}, &l.ring[n%liveEvents]
	for {
		held := slot.Load()
		if held != nil && held.number > n || slot.CompareAndSwap(held, e) {
			return // or this goroutine slept while others went once around the ring
		}
	}
}

// appendLost appends the frame in place of events that a viewer does not get.
func appendLost(dst []byte, n uint64) []byte {
	return fmt.Appendf(dst, "event: lost\ndata: {\"lost\":%d}\n\n", n)
}

// Close ends all streams. It must be called once.
func (l *Live) Close() { close(l.closed) }

// next returns the number of the event that comes next.
func (l *Live) next() uint64 { return l.last.Load() + 1 }

// read appends the frames of the events from number from on, until there are limit bytes or no more. It returns the
// number to go on with, and how many events were lost; a frame in their place says so.
func (l *Live) read(dst []byte, from uint64, limit int) (frames []byte, next, lost uint64) {
	for len(dst) < limit {
		e := l.ring[from%liveEvents].Load()
		switch {
		case e == nil || e.number < from: // is still to come
			return dst, from, lost
		case e.number > from:
			// A quarter of the ring ahead of the oldest, or the next one would be lost at once.
			oldest := max(l.next()-liveEvents*3/4, from+1)
			dst = appendLost(dst, oldest-from)
			lost += oldest - from
			from = oldest
		default:
			dst = append(dst, e.frame...)
			from++
		}
	}
	return dst, from, lost
}

// start returns the number of the first event for a viewer: the one after the last it saw, as far as it is of this
// process, or else the one that is recent events back.
func (l *Live) start(lastID string, recent int) uint64 {
	next := l.next()
	if epoch, number, ok := strings.Cut(lastID, "-"); ok && epoch == l.epoch {
		if n, err := strconv.ParseUint(number, 10, 64); err == nil && n < next {
			return n + 1
		}
	}
	return max(1, next-min(next, uint64(recent)))
}

// streamPattern is the route of the stream.
const streamPattern = "GET /v1/predictions/stream"

// stream sends the published predictions as server-sent events until the client goes, or the process drains.
func (a *API) stream(q *query) http.Handler {
	recent := q.number("recent", 0, 0, maxRecent)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		live := a.options.Triage.Live
		live.viewers.Add(1)
		defer live.viewers.Add(-1)
		out := OpenEvents(w, r)
		if out == nil {
			return
		}
		v := visitOf(r.Context())
		if v.facts = []any{"stream", "opened"}; v.audited {
			a.audit(r, http.StatusOK)
		}
		v.facts = []any{"stream", "closed"}
		viewer := &viewer{live: live, out: out, next: live.start(r.Header.Get("Last-Event-ID"), recent)}
		viewer.run(r.Context().Done())
		a.metrics.lost.Add(float64(viewer.lost))
	})
}

// Events is an open stream of server-sent events.
type Events struct {
	out     http.ResponseWriter
	control *http.ResponseController
}

// eventPatience is how long a client may take no byte before its stream is closed.
const eventPatience = 30 * time.Second

// OpenEvents begins a stream of server-sent events; nil for a request that wants its header alone.
func OpenEvents(w http.ResponseWriter, r *http.Request) *Events {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // of nginx
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	e := &Events{w, http.NewResponseController(w)}
	_ = e.control.SetReadDeadline(time.Time{}) // the server's own deadlines are for requests that end
	return e
}

// Send sends frames, and reports whether the client took them.
func (e *Events) Send(frames []byte) bool {
	_ = e.control.SetWriteDeadline(time.Now().Add(eventPatience))
	if _, err := e.out.Write(frames); err != nil {
		return false
	}
	return e.control.Flush() == nil
}

// maxRecent bounds how many earlier predictions a viewer may ask for.
const maxRecent = 200

// viewer is an open stream.
type viewer struct {
	live   *Live
	out    *Events
	next   uint64 // number of the event to send next
	lost   uint64
	buffer []byte
}

// run sends events until gone or the end of the stream.
func (v *viewer) run(gone <-chan struct{}) {
	tick := time.Tick(liveTick)
	silent := time.Duration(0)
	ok := v.out.Send([]byte("retry: 2000\n\n")) && v.catchUp()
	for ok {
		select {
		case <-gone:
			return
		case <-v.live.closed:
			v.catchUp()
			return
		case <-tick:
		}
		if v.next != v.live.next() {
			silent, ok = 0, v.catchUp()
		} else if silent += liveTick; silent >= liveHeartbeat {
			silent, ok = 0, v.out.Send([]byte(": alive\n\n"))
		}
	}
}

// catchUp sends the next events, and reports whether the client took them.
func (v *viewer) catchUp() bool {
	limit := min(max(liveTotal/int(max(1, v.live.viewers.Load())), minLiveBatch), maxLiveBatch)
	frames, next, lost := v.live.read(v.buffer[:0], v.next, limit)
	v.next, v.lost = next, v.lost+lost
	if v.buffer = frames; cap(frames) > 4*minLiveBatch {
		v.buffer = nil // a thousand viewers must not keep so much each
	}
	return len(frames) == 0 || v.out.Send(frames)
}
