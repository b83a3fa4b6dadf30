package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/models/topicindex"
)

// Topics finds topics. *topicindex.Index is one.
type Topics interface {
	Search(ctx context.Context, q topicindex.Query) (*topicindex.Results, error)
	FirstSeen(ctx context.Context, word string) ([]topicindex.First, error)
	History(ctx context.Context, ref topicindex.Ref) ([]topicindex.Step, error)
}

const (
	maxName        = 200             // bytes of a name in a query
	maxSearch      = 500             // bytes
	searchPatience = 5 * time.Second // how long a search waits for the first index
)

// search finds topics by words, or topics like another.
func (a *API) search(q *query) http.Handler {
	wanted := topicindex.Query{
		Text: q.text("q", maxSearch), Complaint: q.text("complaint", maxName), Model: q.text("model", maxName),
		Version: q.text("version", maxName), Method: q.text("method", maxName),
		Direction: classifier.Direction(q.oneOf("direction", "admission", "discharge", "none")),
		Served:    q.oneOf("served", "true", "false") == "true",
		Limit:     q.number("limit", topicindex.DefaultLimit, 1, topicindex.MaxLimit),
		Offset:    q.number("offset", 0, 0, topicindex.MaxOffset),
	}
	words, like := strings.TrimSpace(wanted.Text) != "", q.values.Get("like") != ""
	if like {
		ref := q.topic("like")
		wanted.Like = &ref
	}
	switch {
	case like && words:
		q.bad("like", "like and q exclude each other")
	case !like && !words:
		q.bad("q", "q or like is required; q: words as a nurse would write them")
	}
	return a.ask(q, func(ctx context.Context, t Topics) (any, error) { return t.Search(ctx, wanted) })
}

// firstSeen answers since when each model has known a word.
func (a *API) firstSeen(q *query) http.Handler {
	word := q.text("word", maxSearch)
	if strings.TrimSpace(word) == "" {
		q.bad("word", "it is required")
	}
	return a.ask(q, func(ctx context.Context, t Topics) (any, error) {
		all, err := t.FirstSeen(ctx, word)
		return map[string]any{"models": all}, err
	})
}

// topicHistory answers with the changes of a topic over versions.
func (a *API) topicHistory(q *query) http.Handler {
	ref := q.topic("topic")
	return a.ask(q, func(ctx context.Context, t Topics) (any, error) {
		steps, err := t.History(ctx, ref)
		return map[string]any{"steps": steps}, err
	})
}

// ask answers with a result of the index of topics.
func (a *API) ask(q *query, what func(context.Context, Topics) (any, error)) http.Handler {
	return a.known(q, a.options.Topics != nil, "this process has no index of topics", func() (http.Handler, error) {
		ctx, cancel := context.WithTimeout(q.Context(), searchPatience)
		defer cancel()
		found, err := what(ctx, a.options.Topics)
		return JSON(found), err
	})
}

// known answers with what a part of this process says, unless the query is wrong or the process has no such part.
func (a *API) known(q *query, has bool, lacks string, what func() (http.Handler, error)) http.Handler {
	switch {
	case q.problem != nil:
		return nil
	case !has:
		return problem(http.StatusNotImplemented, codeNotServed, lacks)
	}
	answer, err := what()
	if err != nil {
		return a.failed(q, err)
	}
	return answer
}

// failed returns the answer to a query that is wrong, or cannot be answered now.
func (a *API) failed(q *query, err error) http.Handler {
	if wait := NotKnown(err); wait != nil {
		return wait
	}
	fault, named := errors.AsType[*QueryError](err)
	switch {
	case named:
		q.bad(fault.Field, fault.Detail)
		return nil
	case errors.Is(err, topicindex.ErrQuery):
		q.bad("", err.Error())
		return nil
	case q.Context().Err() == nil:
		a.options.Logger.Error("a request cannot be answered", "route", q.Pattern, "err", err,
			"request_id", visitOf(q.Context()).id)
	}
	return problem(http.StatusServiceUnavailable, codeUnavailable, "this cannot be answered now; the log says why")
}

// topic returns a parameter that names a topic.
func (q *query) topic(name string) topicindex.Ref {
	ref, err := topicindex.ParseRef(q.text(name, 2*maxName))
	if err != nil {
		q.bad(name, "it must be MODEL/TOPIC or MODEL/VERSION/TOPIC")
	}
	return ref
}
