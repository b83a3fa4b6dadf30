package health

import (
	"net/http"
	"slices"
	"time"

	"github.com/wardcast/wardcast/ingest/deadletter"
	"github.com/wardcast/wardcast/internal/service/httpapi"
)

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
