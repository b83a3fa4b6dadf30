package httpapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/waitlist"
)

// Waiting knows who waits.
type Waiting interface {
	// Waiting returns who waits now, or ErrNoModel, or ErrNotWhole while the past is still being read.
	Waiting(ctx context.Context) (*waitlist.List, error)
}

// Reasons why it is not known who waits.
var (
	ErrNoModel  = errors.New("there is no model yet; records wait until a first generation is promoted")
	ErrNotWhole = errors.New("notes and outcomes of the last days are still being read")
)

// NotKnown returns the answer while it is not known yet who waits, or nil for other errors.
func NotKnown(err error) http.Handler {
	if !errors.Is(err, ErrNoModel) && !errors.Is(err, ErrNotWhole) {
		return nil
	}
	return headed(problem(http.StatusServiceUnavailable, codeUnavailable, err.Error()), "Retry-After", "1")
}

// Limits of a query of those who wait.
const (
	PageRows   = 100 // by default
	maxRows    = 1000
	maxSkipped = 1_000_000
)

// waitingParameters are those of GET /v1/waiting.
var waitingParameters = []string{
	"site", "complaint", "ward", "decision", "close", "q", "sort", "limit", "offset",
}

// waiting reads the parameters of a query of those who wait.
func (q *query) waiting(roles []Role) *waitlist.Query {
	return &waitlist.Query{
		Site: q.text("site", maxName), Complaint: q.text("complaint", maxName), Ward: q.text("ward", maxName),
		Decision: q.oneOf("decision", waitlist.Admit, waitlist.Discharge, waitlist.None),
		Close:    q.oneOf("close", "0", "1") == "1",
		Words:    q.text("q", maxSearch), Labels: slices.Contains(roles, CallerOf(q.Context()).Role),
		Sort:  waitlist.Sort(q.oneOf("sort", waitlist.Sorts()...)),
		Limit: q.number("limit", PageRows, 1, maxRows), Offset: q.number("offset", 0, 0, maxSkipped),
	}
}

// ReadWaiting reads the query in the address of a page, of which other parameters are ignored. Labels are for these
// roles. The problem says what is wrong, and is nil if nothing is.
func ReadWaiting(r *http.Request, roles []Role) (*waitlist.Query, *Problem) {
	q := &query{Request: r}
	values := r.URL.Query()
	for name := range values {
		if !slices.Contains(waitingParameters, name) || name == "q" {
			values.Del(name)
		}
	}
	q.readValues(values, waitingParameters)
	if q.problem != nil {
		return nil, q.problem
	}
	wanted := q.waiting(roles)
	return wanted, q.problem
}

// waitingVisit is a visit in the answer of GET /v1/waiting.
type waitingVisit struct {
	VisitID     string       `json:"visit_id"`
	Site        string       `json:"site"`
	ArrivedAt   time.Time    `json:"arrived_at"`
	WaitedS     int64        `json:"waited_s"`
	Complaint   string       `json:"complaint"`
	Age         msg.Optional `json:"age"`
	Sex         string       `json:"sex"`
	Acuity      msg.Optional `json:"acuity"`
	Probability msg.Optional `json:"probability"` // null if the prediction abstained
	Threshold   float64      `json:"threshold"`
	Decision    msg.Decision `json:"decision"`
	Abstained   bool         `json:"abstained"`
	Ward        string       `json:"ward"` // the likeliest
	Label       *string      `json:"label"`
}

// waitingList answers with those who wait.
func (a *API) waitingList(q *query) http.Handler {
	wanted := q.waiting(a.options.LabelRoles)
	return a.known(q, a.options.Waiting != nil, "this process does not know who waits", func() (http.Handler, error) {
		list, err := a.options.Waiting.Waiting(q.Context())
		if err != nil {
			return nil, err
		}
		return listed(q, list, wanted), nil
	})
}

func listed(q *query, list *waitlist.List, wanted *waitlist.Query) http.Handler {
	found := list.Find(wanted)
	visits := make([]waitingVisit, len(found.Patients))
	for i, p := range found.Patients {
		visits[i] = waitingVisit{
			VisitID: p.ID, Site: p.Site, ArrivedAt: p.Arrived.UTC(),
			WaitedS:   max(0, int64(list.AsOf.Sub(p.Arrived)/time.Second)),
			Complaint: p.Complaint, Age: p.Age, Sex: p.Sex, Acuity: p.Acuity, Threshold: p.Threshold,
			Probability: msg.Optional{Value: p.Probability, Set: !p.Abstained}, Decision: p.Decision,
			Abstained: p.Abstained, Ward: p.Ward,
		}
		if wanted.Labels && p.Label != "" {
			visits[i].Label = &p.Label
		}
	}
	AddFacts(q.Context(), "patients", len(visits), "of", found.Total)
	return JSON(map[string]any{
		"as_of": list.AsOf.UTC(), "total": found.Total, "admit": found.Admit, "close": found.Close, "none": found.None,
		"ahead": list.Ahead, "visits": visits,
	})
}
