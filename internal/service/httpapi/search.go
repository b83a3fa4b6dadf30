package httpapi

import (
	"context"
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
	maxSearch = 500 // bytes
	// searchPatience is how long a search waits for an index that is made for the first time.
	searchPatience = 5 * time.Second
)

// search finds topics by words, or topics like another.
func (a *API) search(w http.ResponseWriter, r *http.Request) {
	q := a.query(r, "q", "like", "complaint", "model", "version", "direction", "method", "served", "limit", "offset")
	wanted := topicindex.Query{
		Text: q.text("q", maxSearch), Complaint: q.text("complaint", maxName), Model: q.text("model", maxName), Version: q.text("version", maxName),
		Direction: classifier.Direction(q.oneOf("direction", "admission", "discharge", "none")), Method: q.text("method", maxName),
		Served: q.oneOf("served", "true", "false") == "true",
		Limit:  q.number("limit", topicindex.DefaultLimit, 1, topicindex.MaxLimit), Offset: q.number("offset", 0, 0, topicindex.MaxOffset),
	}
	words, like := strings.TrimSpace(wanted.Text) != "", q.values.Get("like") != ""
	if like {
		ref := q.topic("like")
		wanted.Like = &ref
	}
	switch {
	case like && words:
		q.bad("like", "it stands in place of q; give one of them")
	case !like && !words:
		q.bad("q", "it is required, or like: words as a nurse would write them")
	}
	a.ask(w, r, q, func(ctx context.Context, t Topics) (any, error) { return t.Search(ctx, wanted) })
}

// firstSeen tells since when each model knows a word.
func (a *API) firstSeen(w http.ResponseWriter, r *http.Request) {
	q := a.query(r, "word")
	word := q.text("word", maxSearch)
	if strings.TrimSpace(word) == "" {
		q.bad("word", "it is required")
	}
	a.ask(w, r, q, func(ctx context.Context, t Topics) (any, error) {
		all, err := t.FirstSeen(ctx, word)
		return map[string]any{"models": all}, err
	})
}

// topicHistory tells how a topic moved over versions.
func (a *API) topicHistory(w http.ResponseWriter, r *http.Request) {
	q := a.query(r, "topic")
	ref := q.topic("topic")
	a.ask(w, r, q, func(ctx context.Context, t Topics) (any, error) {
		steps, err := t.History(ctx, ref)
		return map[string]any{"steps": steps}, err
	})
}

// ask answers with what the index of topics says.
func (a *API) ask(w http.ResponseWriter, r *http.Request, q *query, what func(context.Context, Topics) (any, error)) {
	switch topics := a.options.Topics; {
	case q.refused(w):
	case topics == nil:
		Problem{http.StatusNotImplemented, codeNotServed, "", "this process has no index of topics"}.Write(w)
	default:
		ctx, cancel := context.WithTimeout(r.Context(), searchPatience)
		defer cancel()
		found, err := what(ctx, topics)
		a.answer(w, r, err, func() { writeJSON(w, found) })
	}
}

// topic returns a parameter that names a topic.
func (q *query) topic(name string) topicindex.Ref {
	ref, err := topicindex.ParseRef(q.text(name, 2*maxName))
	if err != nil {
		q.bad(name, "it must be MODEL/TOPIC or MODEL/VERSION/TOPIC")
	}
	return ref
}
