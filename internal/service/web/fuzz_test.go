package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// FuzzRequests sends requests with any method, path, query, header and body to the API and the pages. None is answered with 5xx, but for
// what this process does not serve; what is refused is a problem or a page; and nothing that was sent stands in the log.
func FuzzRequests(f *testing.F) {
	note := `{"visit_id":"` + secret + `","complaint":"Fall","age":78,"text":"hip pain ` + secret + `"}`
	for _, seed := range []struct{ method, path, query, kind, body string }{
		{"POST", "/v1/predictions", "", "application/json", note},
		{"POST", "/v1/predictions", "", "application/json; charset=x", note[:40] + "\xff"},
		{"POST", "/v1/predictions", "a=b", "text/html", note},
		{"GET", "/v1/models/_other/topics", "terms=9", "", ""},
		{"GET", "/v1/models/%2e%2e/topics", "", "", ""},
		{"GET", "/v1/topics/search", "q=hip+" + secret + "&limit=3", "", ""},
		{"GET", "/v1/topics/search", "like=_other/1", "", ""},
		{"GET", "/v1/topics/first-seen", "word=" + secret, "", ""},
		{"GET", "/v1/topics/history", "topic=_other/1", "", ""},
		{"GET", "/v1/bed-demand", "ward=MED&window=8h&beds=MED:6", "", ""},
		{"GET", "/v1/history", "", "", ""},
		{"POST", "/v1/rollback", "", "application/json", `{"reason":"` + secret + `","dry_run":true}`},
		{"POST", "/v1/generations/x/promote", "", "application/json", `{"reason":"x"}`},
		{"HEAD", "/v1/predictions/stream", "", "", ""},
		{"POST", "/try", "", "application/x-www-form-urlencoded", "text=" + secret + "&bp=138/74&age=x"},
		{"GET", "/topics", "q=hipp&direction=admission&version=x&t=99", "", ""},
		{"GET", "/topics", "like=_other/1&complaint=" + secret, "", ""},
		{"GET", "/topics/found.csv", "q=hip", "", ""},
		{"GET", "/topics/history.csv", "topic=//9", "", ""},
		{"GET", "/", "row=1", "", ""},
		{"POST", "/models/promote", "", "application/x-www-form-urlencoded", "to=x&why=" + secret},
		{"POST", "/health/replay", "", "application/x-www-form-urlencoded", "stream=triage&reason=" + secret},
		{"GET", "/live%2ffeed", "after=x", "", ""},
		{"GET", "/models/_other/../../etc/passwd/card", "", "", ""},
		{"GET", "/static/wardcast.css", "v=1", "", ""},
		{"TRACE", "/metrics", "", "", ""},
		{"NONSENSE", "//" + secret, "%zz", "\x7f", "\x00"},
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
		r.SetBasicAuth("anybody", operatorToken)
		w := httptest.NewRecorder()
		s.api.ServeHTTP(w, r)
		what := method + " " + path
		if w.Code >= http.StatusInternalServerError && w.Code != http.StatusNotImplemented {
			t.Errorf("%s: %d %s", what, w.Code, w.Body)
		}
		refusal := w.Header().Get("Content-Type")
		switch {
		case w.Code < http.StatusBadRequest || r.Method == http.MethodHead || strings.HasPrefix(refusal, "text/html"):
		case refusal != "application/problem+json" || !json.Valid(w.Body.Bytes()):
			t.Errorf("%s: %d %s %q is no problem", what, w.Code, refusal, w.Body)
		case bytes.Contains(w.Body.Bytes(), []byte(secret)):
			t.Errorf("%s: the problem quotes the request: %s", what, w.Body)
		}
		if log := s.log.String(); strings.Contains(log, secret) {
			t.Fatalf("%s: the log tells of a patient: %s", what, log)
		}
	})
}
