// Package waiting is the page Waiting: who waits now, who of them is likely to be admitted, and why. Filters and the
// order stand in the address; words that are searched are sent by POST, so that no address holds them.
package waiting

import (
	_ "embed"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/waitlist"
	"github.com/wardcast/wardcast/internal/service/web/frame"
	"github.com/wardcast/wardcast/internal/service/web/prediction"
)

//go:embed waiting.html
var html string

const (
	path      = "/waiting"
	mostWords = 500       // bytes of the words searched
	mostForm  = 8 << 10   // bytes of the form with them
	mostDrawn = 64        // pages of one list that are kept as they are sent
	mostParts = 8 * 1_000 // visits whose part of a row is kept
)

type room struct {
	*frame.Page
	waiting httpapi.Waiting
	labels  []httpapi.Role // who see what tells patients apart
	view    *frame.Template

	mu    sync.Mutex
	list  *waitlist.List // that of the pages
	pages map[string]*drawn
	parts map[*waitlist.Visit]*part
}

// New returns the routes of the page, which is the first that a browser asks for too.
func New(p *frame.Page, waiting httpapi.Waiting, labels []httpapi.Role) []httpapi.Route {
	h := &room{
		Page: p, waiting: waiting, labels: labels, view: p.Template(prediction.HTML, html),
		parts: map[*waitlist.Visit]*part{},
	}
	routes := []httpapi.Route{
		p.Route(h.page), frame.Get("/{$}", h.page),
		{Pattern: "POST " + path, Role: httpapi.Viewer, Handler: httpapi.Answering(h.search)},
		{Pattern: "POST /{$}", Role: httpapi.Viewer, Handler: httpapi.Answering(h.search)}, // the script's own address
		frame.Get(csvPath, h.csv),
		{Pattern: "POST " + csvPath, Role: httpapi.Viewer, Handler: httpapi.Answering(h.csv)},
	}
	for i := range routes {
		routes[i].Predictions = true
	}
	return routes
}

// page answers a browser. Many ask for the same, so each page of a list is drawn once, but for explanations.
func (h *room) page(r *http.Request) http.Handler {
	q, wrong := httpapi.ReadWaiting(r, h.labels)
	if wrong != nil {
		return *wrong
	}
	values := r.URL.Query()
	list, err := h.waiting.Waiting(r.Context())
	if err != nil || values.Get("row") != "" {
		return h.answer(r, q, list, err).to(r)
	}
	key := string(httpapi.CallerOf(r.Context()).Role) + strconv.FormatBool(q.Labels) + values.Encode()
	h.mu.Lock()
	if h.list != list {
		h.list, h.pages = list, map[string]*drawn{}
	}
	page := h.pages[key]
	h.mu.Unlock()
	if page != nil {
		return page.to(r)
	}
	page = h.answer(r, q, list, nil)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.list == list && len(h.pages) < mostDrawn {
		h.pages[key] = page
	}
	return page.to(r)
}

// search answers with those who have all the words that were sent.
func (h *room) search(r *http.Request) http.Handler {
	q, wrong := h.read(r)
	if wrong != nil {
		return *wrong
	}
	list, err := h.waiting.Waiting(r.Context())
	return h.answer(r, q, list, err).to(r)
}

// read reads the filters in the address, and the words that were sent.
func (h *room) read(r *http.Request) (*waitlist.Query, *httpapi.Problem) {
	r.Body = http.MaxBytesReader(nil, r.Body, mostForm)
	if err := r.ParseForm(); err != nil {
		return nil, &httpapi.Problem{Status: http.StatusBadRequest, Detail: "the form cannot be read"}
	}
	q, wrong := httpapi.ReadWaiting(r, h.labels)
	if wrong == nil {
		words := strings.TrimSpace(r.PostForm.Get("q"))
		q.Words = strings.ToValidUTF8(words[:min(len(words), mostWords)], "")
	}
	return q, wrong
}

// drawn is a page, with what it shows for the audit log.
type drawn struct {
	page  http.Handler
	facts []any
}

// to returns the page, and adds what it shows to the audit log's line about a request.
func (d *drawn) to(r *http.Request) http.Handler {
	httpapi.AddFacts(r.Context(), d.facts...)
	return d.page
}

// answer draws the page of a list, or says why there is none.
func (h *room) answer(r *http.Request, q *waitlist.Query, list *waitlist.List, err error) *drawn {
	data := &view{query: q}
	v := h.view.View(data)
	v.Class = "list"
	switch {
	case errors.Is(err, httpapi.ErrNoModel):
		data.Failed = "Who waits is not known before the first model: their notes wait too."
	case errors.Is(err, httpapi.ErrNotWhole):
		v.Status = http.StatusServiceUnavailable
		data.Failed = "The list is not whole yet: " + err.Error() + ". It appears here as soon as all are known."
	case err != nil:
		v.Status = http.StatusServiceUnavailable
		data.Failed = "Who waits cannot be listed now. The log says why."
		if r.Context().Err() == nil {
			h.Logger.Error("who waits cannot be listed", "err", err)
		}
	default:
		asked := r.URL.Query().Get("row")
		if asked != "" {
			v.Class += " row"
		}
		h.fill(data, list, asked)
	}
	page := &drawn{page: v.Draw(r)}
	if data.Found != nil {
		page.facts = []any{"patients", len(data.Rows), "of", data.Found.Total}
	}
	if data.Chosen != nil {
		page.facts = append(page.facts, "row", data.Chosen.Patient.Row)
	}
	return page
}
