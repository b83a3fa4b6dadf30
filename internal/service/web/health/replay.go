package health

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
	"github.com/wardcast/wardcast/internal/service/web/frame"
	"github.com/wardcast/wardcast/internal/wording"
)

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
