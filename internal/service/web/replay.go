package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/wardcast/wardcast/ingest/deadletter"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/health"
	"github.com/wardcast/wardcast/internal/service/httpapi"
)

// Replay sends the dead letters of a stream that died of a reason back to where they came from; a dry run only counts them.
type Replay func(ctx context.Context, stream string, reason msg.Reason, dryRun bool) (deadletter.Sent, error)

const (
	// replayPatience bounds a replay, which must end before the server gives the request up.
	replayPatience = 20 * time.Second
	// maxReplay bounds the form, in bytes.
	maxReplay = 4 << 10
)

// replayPage asks an operator to confirm a replay.
type replayPage struct {
	Stream, Reason, Noun, DeadLetters, Error string
	deadletter.Sent
}

// askReplay counts what a replay would send, and asks whether it shall.
func (p *Pages) askReplay(w http.ResponseWriter, r *http.Request) {
	page := p.replayOf(w, r, r.URL.Query())
	if page == nil {
		return
	}
	v := view{template: "replay", title: "Replay dead letters", here: "Health", data: page}
	var err error
	if page.Sent, err = p.send(r.Context(), page, true); err != nil {
		v.status, page.Error = http.StatusServiceUnavailable, "The dead letters cannot be counted: Kafka does not answer, or there are too many. The log says why."
	}
	p.write(w, r, v)
}

// replay sends the dead letters of a reason back.
func (p *Pages) replay(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxReplay)
	_ = r.ParseForm() // what does not come whole names no stream
	page := p.replayOf(w, r, r.PostForm)
	if page == nil {
		return
	}
	v := view{template: "replay", title: "Replay dead letters", here: "Health", data: page}
	if !p.replaying.TryLock() {
		v.status, page.Error = http.StatusConflict, "Somebody is replaying dead letters just now. Look at Health before you send them again."
		p.write(w, r, v)
		return
	}
	defer p.replaying.Unlock()
	sent, err := p.send(r.Context(), page, false)
	httpapi.AddFacts(r.Context(), "stream", page.Stream, "reason", page.Reason, "sent", sent.Sent)
	if err != nil {
		v.status, page.Error = http.StatusServiceUnavailable, "Only "+plural(sent.Sent, page.Noun)+" went back, then the time was up or Kafka failed. The log says why; `wardcast dlq replay` takes as long as it needs."
		p.write(w, r, v)
		return
	}
	http.Redirect(w, r, "/health?replayed="+strconv.Itoa(sent.Sent), http.StatusSeeOther)
}

// replayOf reads which dead letters are meant, or answers that there are none such.
func (p *Pages) replayOf(w http.ResponseWriter, r *http.Request, values url.Values) *replayPage {
	page := &replayPage{Stream: values.Get("stream"), Reason: values.Get("reason")}
	streams := p.options.Health().Streams
	i := slices.IndexFunc(streams, func(s health.Status) bool { return s.Name == page.Stream })
	if i < 0 || !slices.Contains(msg.Reasons(), msg.Reason(page.Reason)) {
		p.missing(w, r, "Health", "There are no dead letters of that kind.")
		return nil
	}
	page.Noun, page.DeadLetters = streams[i].Noun, streams[i].DeadLetters
	return page
}

// send replays within the time of a request. Its error is logged.
func (p *Pages) send(ctx context.Context, page *replayPage, dryRun bool) (deadletter.Sent, error) {
	ctx, cancel := context.WithTimeout(ctx, replayPatience)
	defer cancel()
	sent, err := p.options.Replay(ctx, page.Stream, msg.Reason(page.Reason), dryRun)
	if err != nil {
		p.options.Logger.ErrorContext(ctx, "dead letters cannot be replayed", "err", err)
	}
	return sent, err
}
