package httpapi_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/service/httpapi"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.ask("GET /v1/models/zz/topics", "", nil)
	s.ask("GET /zz", "", nil)
	got := s.ask("GET /metrics", "", nil)
	for _, want := range []string{
		`wardcast_http_requests_total{route="GET /v1/models/{model}/topics",status="404"} 1`,
		`wardcast_http_requests_total{route="none",status="404"} 1`,
		`wardcast_http_request_seconds_count{route="GET /v1/models/{model}/topics"} 1`, "wardcast_live_viewers 0",
	} {
		if !strings.Contains(got.body, "\n"+want+"\n") {
			t.Errorf("no %s in\n%s", want, got.body)
		}
	}
	if strings.Contains(got.body, "zz") || !strings.HasPrefix(got.header.Get("Content-Type"), "text/plain") {
		t.Errorf("%+v", got)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	missing := error(nil)
	s := newSite(t, func(o *httpapi.Options) { o.Ready = func() (string, error) { return "", missing } })
	for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ready\n"} {
		if got := s.ask("GET "+path, "", nil); got.status != http.StatusOK || got.body != want {
			t.Errorf("%s: %+v", path, got)
		}
	}
	missing = errors.New("no partitions are assigned")
	if got := s.ask("GET /healthz", "", nil); got.status != http.StatusOK {
		t.Errorf("the process is healthy while it waits for its models: %+v", got)
	}
	if got := s.ask("GET /readyz", "", nil); s.problem("readyz", got, http.StatusServiceUnavailable) != "unavailable" ||
		!strings.Contains(got.body, "no partitions are assigned") {
		t.Errorf("%+v", got)
	}
}

func TestNotFound(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for _, path := range []string{
		"/", "/v1", "/v1/", "/v1/none", "/metrics/", "/readyz/x", "/%2e%2e/etc/passwd", "/./etc", "/..",
		"/v1/models//topics", "/v1/models/none/topics", "/v1/models/%00/topics",
		"/v1/models/%ff%fe/topics", "/v1/models/a%2fb/topics", "/v1/models/../../../../etc/passwd",
		"/v1/models/..%2f..%2fetc%2fpasswd/topics", "/v1/models/%2e%2e/topics", "/debug/pprof/",
		"/v1/models/" + strings.Repeat("x", 4000) + "/topics",
	} {
		s.problem(path, s.ask("GET "+path, "", nil), http.StatusNotFound)
	}
}

func TestMethodNotAllowed(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for what, allow := range map[string]string{
		"POST /metrics": "GET, HEAD", "DELETE /healthz": "GET, HEAD", "TRACE /readyz": "GET, HEAD",
		"NONSENSE /v1/models": "GET, HEAD", "GET /v1/predictions": "POST", "POST /v1/topics/search": "GET, HEAD",
		"PUT /v1/bed-demand": "GET, HEAD", "GET /v1/rollback": "POST",
	} {
		got := s.ask(what, "", nil)
		s.problem(what, got, http.StatusMethodNotAllowed)
		same(t, what, allow, got.header.Get("Allow"))
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for path, want := range map[string]int{
		"/healthz": http.StatusOK, "/readyz": http.StatusOK,
		"/v1/models": http.StatusOK, "/v1/predictions/stream": http.StatusOK, "/none": http.StatusNotFound,
	} {
		if got := s.ask("HEAD "+path, "", nil); got.status != want || got.body != "" {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

// TestQueries: what a route does not know is an error, and never the server's.
func TestQueries(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for _, path := range []string{
		"/v1/models?x=1", "/v1/models/_other/topics?terms=0", "/v1/models/_other/topics?terms=x",
		"/v1/models/_other/topics?terms=1&terms=2", "/v1/generations?a=%", "/v1/history?a=b",
		"/v1/topics/search", "/v1/topics/search?q=", "/v1/topics/search?x=1", "/v1/topics/search?q=%00",
		"/v1/topics/search?q=%ff", "/v1/topics/search?q=hip&limit=-1",
		"/v1/topics/search?q=hip&limit=99999999999999999999", "/v1/topics/search?q=hip&offset=x",
		"/v1/topics/search?q=hip&direction=up", "/v1/topics/search?q=" + strings.Repeat("(", 3000),
		"/v1/topics/search?q=a;b",
		"/v1/bed-demand?horizon=x", "/v1/bed-demand?ward=%ff", "/v1/bed-demand?window=x", "/v1/bed-demand?window=-8h",
		"/v1/bed-demand?window=9999h", "/v1/bed-demand?at=noon", "/v1/bed-demand?at=0001-01-01T00:00:00Z",
		"/v1/bed-demand?include=all",
		"/v1/bed-demand?beds=MED", "/v1/bed-demand?beds=MED:x", "/v1/bed-demand?beds=MED:-1",
		"/v1/predictions/stream?recent=x", "/v1/predictions/stream?recent=9999",
	} {
		same(t, path, "bad_parameter", s.problem(path, s.ask("GET "+path, "", nil), http.StatusBadRequest))
	}
	for _, path := range []string{
		"/v1/topics/search?q=hip", "/v1/topics/search?q=%22", "/v1/bed-demand",
		"/v1/bed-demand?ward=MED&window=8h&at=2026-11-20T08:00:00Z&include=waiting,coming&beds=MED:6,SURG:2",
	} {
		same(t, path, "not_served_here", s.problem(path, s.ask("GET "+path, "", nil), http.StatusNotImplemented))
	}
	// A header beyond the server's bound is refused by net/http itself.
}

// TestNoNotes: a process that scores questionnaires alone has no models of notes.
func TestNoNotes(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o *httpapi.Options) { o.Triage = nil })
	s.problem("models", s.ask("GET /v1/models", "", nil), http.StatusNotFound)
	if got := s.ask("GET /healthz", "", nil); got.status != http.StatusOK {
		t.Errorf("%+v", got)
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for _, path := range []string{"/healthz", "/v1/models", "/none"} {
		h := s.ask("GET "+path, "", nil).header
		if policy := h.Get("Content-Security-Policy"); !strings.Contains(policy, "frame-ancestors 'none'") ||
			strings.Contains(policy, "unsafe") {
			t.Errorf("%s: policy %q", path, policy)
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
			"Referrer-Policy": "no-referrer", "Strict-Transport-Security": "",
		} {
			same(t, path+": "+name, want, h.Get(name))
		}
	}
	const id = "0123456789abcdef0123456789abcdef"
	same(t, "the id of a proxy", id,
		s.ask("GET /healthz", "", with(nil, "X-Request-Id", id)).header.Get("X-Request-Id"))
	if got := s.ask("GET /healthz", "", with(nil, "X-Request-Id", secret)).header.Get("X-Request-Id"); len(got) != 32 {
		t.Errorf("an id that may be a name is kept: %q", got)
	}
}

// TestPanic: the log has the place and not the value.
func TestPanic(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o *httpapi.Options) {
		o.Routes = []httpapi.Route{{Pattern: "GET /panic", Role: httpapi.Operator, Handler: http.HandlerFunc(
			func(http.ResponseWriter, *http.Request) { panic(secret) })}}
	})
	s.problem("panic", s.ask("GET /panic", "", nil), http.StatusInternalServerError)
	if log := s.log.String(); !strings.Contains(log, "the http handler panicked") ||
		!strings.Contains(log, "httpapi_test.go") || !strings.Contains(log, `"route":"/panic","status":500,`) {
		t.Errorf("log: %s", log)
	}
}
