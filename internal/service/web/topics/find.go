package topics

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/web/frame"
	"github.com/wardcast/wardcast/internal/service/web/prediction"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/topicindex"
)

const (
	maxQuery    = 500 // bytes, as in the API
	maxName     = 200 // bytes of a name in an address
	foundRows   = 20
	facetValues = 8
)

type finding struct {
	Heading, Total, CSV, JSON string
	Facets                    []facet
	Rows                      []foundRow
}

// facet are the values of a field that results have. Each restricts the results to it, or lifts that.
type facet struct {
	Name   string
	Values []facetValue
}

type facetValue struct {
	frame.Choice
	Count int
}

type foundRow struct {
	*topicindex.Result
	Name, Of, Href, Like, Words, Served string
}

// notServed is what marks a topic of a version that is not served, "" for one that is.
func notServed(r *topicindex.Result) string {
	if r.Complaint == "" || r.Status == models.ChampionStatus {
		return "" // factors of questionnaires are in use
	}
	return "not served"
}

type asked struct {
	values url.Values
	query  topicindex.Query
	long   bool // what it searches for is too long
}

const tooLong = "The search is too long: it may have 500 bytes."

// newAsked reads the address. Values that are too long are left out; if that is what to search for, long says so.
func newAsked(values url.Values) *asked {
	a := &asked{values: url.Values{}}
	for _, name := range []string{
		"q", "like", "model", "direction", "complaint", "version", "method", "t", "sort", "beside",
	} {
		most := maxName
		if name == "q" || name == "beside" {
			most = maxQuery
		}
		switch v := strings.TrimSpace(values.Get(name)); {
		case v != "" && len(v) <= most:
			a.values.Set(name, v)
		case name == "q" && v != "":
			a.long = true
		}
	}
	a.query = topicindex.Query{
		Text: a.values.Get("q"), Complaint: a.values.Get("complaint"), Version: a.values.Get("version"),
		Method: a.values.Get("method"), Direction: classifier.Direction(a.values.Get("direction")), Limit: foundRows,
		ServedFirst: true,
	}
	if ref, err := topicindex.ParseRef(a.values.Get("like")); err == nil {
		a.query.Like = &ref
	}
	return a
}

// href returns the address with some values changed, as frame.Address does it.
func (a *asked) href(path string, changes ...string) string {
	return frame.Address(path, a.values, changes...)
}

// name returns the name of a topic, which topicindex.ParseRef reads.
func name(r topicindex.Ref) string { return r.Model + "/" + r.Version + "/" + strconv.Itoa(r.Topic) }

type hits struct {
	best   int // 0 if none matches
	topics map[int]bool
	meant  []topicindex.Correction
}

func (h *room) hits(ctx context.Context, a *asked, model, version string) (*hits, error) {
	found := &hits{topics: map[int]bool{}}
	if a.query.Text == "" {
		return found, nil
	}
	all, err := h.index.Search(ctx, topicindex.Query{
		Text: a.query.Text, Direction: a.query.Direction, Model: model, Version: version, Limit: topicindex.MaxLimit,
	})
	if err != nil {
		return found, err
	}
	for i := range all.Results {
		n := all.Results[i].Topic.Topic
		found.best = cmp.Or(found.best, n)
		found.topics[n] = true
	}
	found.meant = all.Corrections
	return found, nil
}

// find searches all versions for what an address asks; nil if it asks for nothing.
func (h *room) find(ctx context.Context, a *asked) (*finding, error) {
	if a.query.Text == "" && a.query.Like == nil {
		return nil, nil
	}
	found, err := h.index.Search(ctx, a.query)
	if err != nil {
		return nil, err
	}
	f := &finding{
		Heading: "“" + a.query.Text + "” in all versions", Total: wording.Count(found.Total, "topic"),
		CSV: a.href("/topics/found.csv", "t", "", "model", ""), Facets: a.facets(&found.Facets, h.Stamp),
	}
	api := []string{"t", "", "model", "", "limit", strconv.Itoa(topicindex.MaxLimit)}
	if a.query.Like != nil {
		f.Heading = "Topics like " + strconv.Itoa(a.query.Like.Topic) + " of " +
			frame.ModelLabel(a.query.Like.Model, "")
		api = append(api, "q", "")
	}
	f.JSON = a.href("/v1/topics/search", api...)
	if found.Total > len(found.Results) {
		f.Total += ", the best " + strconv.Itoa(len(found.Results))
	}
	for i := range found.Results {
		f.Rows = append(f.Rows, a.row(&found.Results[i]))
	}
	return f, nil
}

func (a *asked) row(r *topicindex.Result) foundRow {
	topic, ref := strconv.Itoa(r.Topic.Topic), topicindex.Ref{Model: r.Model, Version: r.Version, Topic: r.Topic.Topic}
	row := foundRow{
		Result: r, Name: prediction.TopicName(r.Label), Of: frame.ModelLabel(r.Model, r.Complaint),
		Words: wrote(&r.Topic), Served: notServed(r), Like: a.href("/topics", "q", "", "t", "", "like", name(ref)),
	}
	if n := len(r.Also); n > 0 {
		row.Of += ", and " + wording.Count(n, "other")
	}
	switch {
	case r.Complaint == "": // a factor of a questionnaire
		row.Href = "/questionnaires?" + url.Values{"name": {r.Model}, "factor": {topic}}.Encode() + "#loadings"
	case r.Status == models.ChampionStatus:
		row.Href = a.href("/topics", "model", r.Model, "t", topic, "beside", "")
	default:
		row.Href = a.href("/topics", "model", r.Model, "t", "", "beside", name(ref)) + "#beside"
	}
	return row
}

func (a *asked) facets(f *topicindex.Facets, stamp func(time.Time) string) []facet {
	var all []facet
	for _, field := range []struct {
		name, title string
		counts      []topicindex.Facet
	}{
		{"complaint", "Complaint", f.Complaint},
		{"version", "Version", f.Version},
		{"direction", "Toward", f.Direction},
		{"method", "Method", f.Method},
	} {
		values := make([]facetValue, 0, facetValues)
		for _, c := range field.counts[:min(len(field.counts), facetValues)] {
			v := facetValue{frame.Choice{Label: c.Value, Current: a.values.Get(field.name) == c.Value}, c.Count}
			switch {
			case c.Value == bundle.Other:
				v.Label = "All complaints"
			case field.name == "version":
				v.Label = versionLabel(c.Value, stamp)
			}
			if v.Current {
				c.Value = ""
			}
			v.Name = a.href("/topics", field.name, c.Value, "t", "")
			values = append(values, v)
		}
		if len(values) > 1 || len(values) == 1 && values[0].Current {
			all = append(all, facet{field.title, values})
		}
	}
	return all
}

func versionLabel(version string, stamp func(time.Time) string) string {
	const layout = "2006-01-02T15-04-05Z"
	if len(version) < len(layout) {
		return version
	}
	at, err := time.Parse(layout, version[:len(layout)])
	if err != nil {
		return version
	}
	return stamp(at) + strings.ReplaceAll(version[len(layout):], "-", " · ")
}

// wrote returns what nurses wrote for the heaviest words of a topic.
func wrote(t *classifier.Topic) string {
	var all []string
	for i := range t.Terms[:min(5, len(t.Terms))] {
		name, tag, _ := prediction.TermName(&t.Terms[i])
		if surface := t.Terms[i].Surface; len(surface) > 0 && !strings.Contains(t.Terms[i].Term, ":") {
			name = surface[0]
		}
		all = append(all, strings.TrimSpace(tag+" "+name))
	}
	return strings.Join(all, ", ")
}

// unanswered returns why the search did not answer, "" if it did. What is not the caller's fault is logged.
func (h *room) unanswered(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, topicindex.ErrQuery):
		return "There is no such topic."
	}
	if !errors.Is(err, context.Canceled) { // the caller has gone
		h.Logger.Error("topics cannot be searched", "err", err)
	}
	return "The search does not answer now; the log says why. Try again in a moment."
}

func (h *room) foundCSV(r *http.Request) http.Handler {
	a := newAsked(r.URL.Query())
	if a.long {
		return httpapi.Problem{Status: http.StatusBadRequest, Detail: tooLong}
	}
	a.query.Limit = topicindex.MaxLimit
	return h.csvOf(func() ([]topicindex.Step, error) {
		found, err := h.index.Search(r.Context(), a.query)
		if err != nil {
			return nil, err
		}
		steps := make([]topicindex.Step, len(found.Results))
		for i, result := range found.Results {
			steps[i].Result = result
		}
		return steps, nil
	})
}

func (h *room) historyCSV(r *http.Request) http.Handler {
	ref, err := topicindex.ParseRef(r.URL.Query().Get("topic"))
	if err != nil {
		return h.Missing(h.unanswered(err))
	}
	return h.csvOf(func() ([]topicindex.Step, error) { return h.index.History(r.Context(), ref) })
}

// csvOf answers with topics that the index returns.
func (h *room) csvOf(ask func() ([]topicindex.Step, error)) http.Handler {
	if !h.index.Ready() {
		return httpapi.Problem{Status: http.StatusServiceUnavailable, Detail: h.unanswered(
			errors.New("the index of topics is being made"))}
	}
	all, err := ask()
	switch {
	case errors.Is(err, topicindex.ErrQuery):
		return h.Missing(h.unanswered(err))
	case err != nil:
		return httpapi.Problem{Status: http.StatusServiceUnavailable, Detail: h.unanswered(err)}
	}
	out := httpapi.NewCSV("topics.csv", "model", "version", "generation", "complaint", "method", "status",
		"created_at", "topic", "label", "coefficient", "prevalence", "direction", "score", "similarity")
	for i := range all {
		s := &all[i]
		out.Add(s.Model, s.Version, s.Generation, s.Complaint, s.Method, string(s.Status),
			s.CreatedAt.UTC().Format("2006-01-02T15:04:05Z"), strconv.Itoa(s.Topic.Topic), s.Label,
			frame.Exact(s.Coefficient), frame.Exact(s.Prevalence), string(s.Direction), frame.Exact(s.Score),
			frame.Exact(s.Similarity))
	}
	return out
}
