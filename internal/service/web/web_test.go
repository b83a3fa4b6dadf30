package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/deadletter"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/questionnaire/responses"
	"github.com/wardcast/wardcast/internal/service/health"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/internal/service/waitlist"
	"github.com/wardcast/wardcast/internal/service/web"
	"github.com/wardcast/wardcast/internal/service/web/beds"
	healthroom "github.com/wardcast/wardcast/internal/service/web/health"
	"github.com/wardcast/wardcast/internal/service/web/live"
	"github.com/wardcast/wardcast/internal/service/web/webtest"
	"github.com/wardcast/wardcast/models/topicindex"
)

// site serves all pages and the API over a store, with a stream of notes and no questionnaire.
type site struct {
	*webtest.Site
	feed *live.Feed
}

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{Site: webtest.New(t), feed: live.NewFeed(true)}
	store, _, set := webtest.Store(t)
	topics := webtest.Topics(t, store)
	s.Serve(nil, func(o *httpapi.Options) {
		o.Topics, o.Demand, o.Waiting, o.Trail = topics, unready{}, unready{}, &httpapi.Trail{}
		o.Triage = &httpapi.Triage{
			Store: store, Set: func() *scoring.Set { return set }, Live: httpapi.NewLive(), Changed: func() {},
		}
		o.Routes, o.Page = web.Routes(options(o, s.feed, topics))
	})
	return s
}

func options(api *httpapi.Options, feed *live.Feed, topics *topicindex.Index) web.Options {
	triage := health.Status{
		Stream: health.Stream{Name: "triage", Noun: "note", Generation: func() string { return "" }},
		Tally:  &deadletter.Tally{},
	}
	return web.Options{
		Options: api, Feed: feed, Index: topics, Clock: &beds.Clock{Zone: time.UTC},
		Away: func() (time.Time, error) { return time.Now(), nil },
		Health: func() *health.Snapshot {
			return &health.Snapshot{At: time.Now(), Streams: []health.Status{triage}}
		},
		Questionnaires: func() []*responses.Instrument { return nil },
		Replays: healthroom.Replays{Send: func(context.Context, string, msg.Reason, bool) (deadletter.Sent, error) {
			return deadletter.Sent{}, nil
		}},
	}
}

// unready is a forecaster that has read nothing yet.
type unready struct{}

func (unready) History(context.Context, *httpapi.HistoryQuery) (*httpapi.DemandHistory, error) {
	return &httpapi.DemandHistory{}, nil
}

func (unready) Forecasts(context.Context, *httpapi.DemandQuery) ([]httpapi.Forecast, error) {
	return nil, nil
}

func (unready) Waiting(context.Context) (*waitlist.List, error) {
	return waitlist.New(time.Now(), nil), nil
}

// TestPages: each page of the table is there for those who have its role, and each leads to all others.
func TestPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.feed.Publish(webtest.Note().AppendJSON(nil), webtest.Prediction().AppendJSON(nil))
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "pages.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range web.Pages() {
		if !strings.Contains(string(text), "\n## "+p.Title+":") {
			t.Errorf("docs/pages.md has no section %q", p.Title)
		}
		status, _, body := s.Ask(webtest.Viewer, p.Path, nil)
		if status != http.StatusOK || !strings.Contains(body, "<title>"+p.Title+" · wardcast</title>") {
			t.Errorf("%s: %d\n%s", p.Path, status, body)
		}
		for _, other := range web.Pages() {
			link, current := fmt.Sprintf("<a href=%q", other.Path), ""
			if other.Path == p.Path {
				current = ` aria-current="page"`
			}
			if strings.Count(body, link+current+">"+other.Title+"</a>") != 2 {
				t.Errorf("the top bar and the menu of %s lack %s", p.Path, other.Title)
			}
		}
		if strings.Contains(webtest.Plain(body), bundle.Other) {
			t.Errorf("%s names the model of all complaints %s", p.Path, bundle.Other)
		}
		if status, _, _ := s.Ask("", p.Path, nil); status != http.StatusUnauthorized {
			t.Errorf("%s without a token: %d", p.Path, status)
		}
	}
}

// FuzzRequests sends requests with any method, path, query, header and body to the API and the pages. None is answered
// with 5xx, but for what this process does not serve; what is refused is a problem or a page; and nothing that was sent
// stands in the log.
func FuzzRequests(f *testing.F) {
	note := `{"visit_id":"` + webtest.Secret + `","complaint":"Fall","age":78,"text":"hip pain ` + webtest.Secret + `"}`
	for _, seed := range []struct{ method, path, query, kind, body string }{
		{"POST", "/v1/predictions", "", "application/json", note},
		{"POST", "/v1/predictions", "", "application/json; charset=x", note[:40] + "\xff"},
		{"POST", "/v1/predictions", "a=b", "text/html", note},
		{"GET", "/v1/models/_other/topics", "terms=9", "", ""},
		{"GET", "/v1/models/%2e%2e/topics", "", "", ""},
		{"GET", "/v1/topics/search", "q=hip+" + webtest.Secret + "&limit=3", "", ""},
		{"GET", "/v1/topics/search", "like=_other/1", "", ""},
		{"GET", "/v1/topics/first-seen", "word=" + webtest.Secret, "", ""},
		{"GET", "/v1/topics/history", "topic=_other/1", "", ""},
		{"GET", "/v1/bed-demand", "ward=MED&window=8h&beds=MED:6", "", ""},
		{"GET", "/v1/history", "", "", ""},
		{"POST", "/v1/rollback", "", "application/json", `{"reason":"` + webtest.Secret + `","dry_run":true}`},
		{"POST", "/v1/generations/x/promote", "", "application/json", `{"reason":"x"}`},
		{"HEAD", "/v1/predictions/stream", "", "", ""},
		{"POST", "/try", "", "application/x-www-form-urlencoded", "text=" + webtest.Secret + "&bp=138/74&age=x"},
		{"GET", "/topics", "q=hipp&direction=admission&version=x&t=99", "", ""},
		{"GET", "/topics", "like=_other/1&complaint=" + webtest.Secret, "", ""},
		{"GET", "/topics/found.csv", "q=hip", "", ""},
		{"GET", "/topics/history.csv", "topic=//9", "", ""},
		{"GET", "/", "row=1", "", ""},
		{"GET", "/live", "row=1", "", ""},
		{"GET", "/waiting", "site=A&decision=admit&close=1&sort=waited&offset=100&row=7", "", ""},
		{"POST", "/waiting", "ward=MED", "application/x-www-form-urlencoded", "q=84m+" + webtest.Secret},
		{"GET", "/v1/waiting", "q=" + webtest.Secret + "&sort=acuity&limit=7", "", ""},
		{"POST", "/models/promote", "", "application/x-www-form-urlencoded", "to=x&why=" + webtest.Secret},
		{"POST", "/health/replay", "", "application/x-www-form-urlencoded", "stream=triage&reason=" + webtest.Secret},
		{"GET", "/live%2ffeed", "after=x", "", ""},
		{"GET", "/models/_other/../../etc/passwd/card", "", "", ""},
		{"GET", "/static/wardcast.css", "v=1", "", ""},
		{"TRACE", "/metrics", "", "", ""},
		{"NONSENSE", "//" + webtest.Secret, "%zz", "\x7f", "\x00"},
	} {
		f.Add(seed.method, seed.path, seed.query, seed.kind, seed.body)
	}
	s := newSite(f)
	f.Fuzz(func(t *testing.T, method, path, query, kind, body string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", strings.NewReader(body))
		r.Method, r.URL = method, &url.URL{Path: path, RawQuery: query}
		if unescaped, err := url.PathUnescape(path); err == nil {
			r.URL.Path, r.URL.RawPath = unescaped, path
		}
		if r.URL.Path == "/v1/predictions/stream" || r.URL.Path == "/live/feed" {
			r.Method = http.MethodHead // the others do not end
		}
		r.Header.Set("Content-Type", kind)
		r.SetBasicAuth("anybody", webtest.Operator)
		w := httptest.NewRecorder()
		s.API.ServeHTTP(w, r)
		what := method + " " + path
		if w.Code >= http.StatusInternalServerError && w.Code != http.StatusNotImplemented {
			t.Errorf("%s: %d %s", what, w.Code, w.Body)
		}
		refusal := w.Header().Get("Content-Type")
		switch {
		case w.Code < http.StatusBadRequest || r.Method == http.MethodHead || strings.HasPrefix(refusal, "text/html"):
		case refusal != "application/problem+json" || !json.Valid(w.Body.Bytes()):
			t.Errorf("%s: %d %s %q is no problem", what, w.Code, refusal, w.Body)
		case bytes.Contains(w.Body.Bytes(), []byte(webtest.Secret)):
			t.Errorf("%s: the problem quotes the request: %s", what, w.Body)
		}
		if log := s.Log.String(); strings.Contains(log, webtest.Secret) {
			t.Fatalf("%s: the log names a patient: %s", what, log)
		}
	})
}

// BenchmarkPages draws each page as one request does, with all its rows.
func BenchmarkPages(b *testing.B) {
	s := newSite(b)
	for range 50 {
		s.feed.Publish(webtest.Note().AppendJSON(nil), webtest.Prediction().AppendJSON(nil))
	}
	for _, p := range web.Pages() {
		b.Run(p.Title, func(b *testing.B) {
			r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, p.Path, http.NoBody)
			r.Header.Set("Accept-Encoding", "gzip")
			r.SetBasicAuth("anybody", webtest.Viewer)
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				if s.API.ServeHTTP(w, r); w.Code != http.StatusOK {
					b.Fatal(w.Code)
				}
			}
		})
	}
}
