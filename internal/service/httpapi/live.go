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
	liveEvents = 1024 // how many predictions are kept for viewers
	// maxLiveEvent is the largest prediction kept, in bytes: all take 32 MiB at most. Typical ones have some kilobytes.
	maxLiveEvent = 32 << 10
	// liveTick is how often a viewer is sent what is new, the maximum delay. Each viewer has its own clock, so that a
	// thousand of them do not wake at once and slow the scorer.
	liveTick      = 100 * time.Millisecond
	liveHeartbeat = 15 * time.Second // interval that keeps a silent stream alive for viewers and proxies
	// liveBatch bounds the bytes sent to a viewer at a tick, and liveTotal those sent to all. A scorer that catches up
	// with thousands of notes a second then does not spend its time on viewers, who could not follow them. A thousand
	// viewers still get some 200 predictions a second each.
	minLiveBatch, maxLiveBatch = 16 << 10, 256 << 10
	liveTotal                  = 40 << 20
)

// Live keeps the latest published predictions for viewers. Publish costs the same for any number of viewers: it puts a
// prediction into a ring and wakes nobody. A slow viewer finds that the ring has moved on, and is sent the number of
// lost events.
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
			return // or others overtook this goroutine by a whole ring
		}
	}
}

// appendLost appends the frame that replaces lost events.
func appendLost(dst []byte, n uint64) []byte {
	return fmt.Appendf(dst, "event: lost\ndata: {\"lost\":%d}\n\n", n)
}

// Close ends all streams. It must be called once.
func (l *Live) Close() { close(l.closed) }

// next returns the number of the next event.
func (l *Live) next() uint64 { return l.last.Load() + 1 }

// read appends frames of events, from a number on, up to limit bytes. It returns the next number and how many are lost.
func (l *Live) read(dst []byte, from uint64, limit int) (frames []byte, next, lost uint64) {
	for len(dst) < limit {
		e := l.ring[from%liveEvents].Load()
		switch {
		case e == nil || e.number < from: // not published yet
			return dst, from, lost
		case e.number > from:
			// A quarter of the ring newer than the oldest, or the next one would be lost at once.
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

// start returns the number of a viewer's first event: after the last it saw in this process, or recent events back.
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

// stream sends the published predictions as server-sent events until the client is gone or the process drains.
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
		viewer := &viewer{live: live, out: out, next: live.start(r.Header.Get("Last-Event-ID"), recent)}
		viewer.run(r.Context().Done())
		AddFacts(r.Context(), "predictions", viewer.sent, "lost", viewer.lost)
		a.metrics.lost.Add(float64(viewer.lost))
	})
}

// Events is an open stream of server-sent events.
type Events struct {
	out     http.ResponseWriter
	control *http.ResponseController
}

// eventPatience is how long a client may accept no byte before its stream is closed.
const eventPatience = 30 * time.Second

// OpenEvents begins a stream of server-sent events, which the audit log records, or returns nil for a HEAD request.
func OpenEvents(w http.ResponseWriter, r *http.Request) *Events {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // of nginx
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	if v := visitOf(r.Context()); v.opened != nil {
		v.opened()
	}
	e := &Events{w, http.NewResponseController(w)}
	_ = e.control.SetReadDeadline(time.Time{}) // the server's own deadlines are for requests that end
	return e
}

// Send sends frames, and reports whether the client accepted them.
func (e *Events) Send(frames []byte) bool {
	_ = e.control.SetWriteDeadline(time.Now().Add(eventPatience))
	if _, err := e.out.Write(frames); err != nil {
		return false
	}
	return e.control.Flush() == nil
}

// maxRecent bounds the number of earlier predictions that a viewer may request.
const maxRecent = 200

// viewer is an open stream.
type viewer struct {
	live   *Live
	out    *Events
	next   uint64 // number of the event to send next
	sent   uint64 // predictions
	lost   uint64
	buffer []byte
}

// run sends events until the client is gone or the stream ends.
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

// catchUp sends the next events, and reports whether the client accepted them.
func (v *viewer) catchUp() bool {
	limit := min(max(liveTotal/int(max(1, v.live.viewers.Load())), minLiveBatch), maxLiveBatch)
	frames, next, lost := v.live.read(v.buffer[:0], v.next, limit)
	v.sent += next - v.next - lost
	v.next, v.lost = next, v.lost+lost
	if v.buffer = frames; cap(frames) > 4*minLiveBatch {
		v.buffer = nil // a thousand viewers must not keep so much each
	}
	return len(frames) == 0 || v.out.Send(frames)
}
