package httpapi_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/internal/service/httpapi"
)

type answer struct {
	status int
	header http.Header
	body   string
}

// get returns the answer of the handler over a real connection.
func get(t *testing.T, h http.Handler, method, path string) answer {
	t.Helper()
	server := httptest.NewServer(h)
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(body)}
}

func ready() (string, error) { return "", nil }

func TestMetrics(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: "wardcast_test_notes_total", Help: "Notes."})
	registry.MustRegister(counter)
	counter.Add(3)
	got := get(t, httpapi.New(registry, ready), http.MethodGet, "/metrics")
	if got.status != http.StatusOK || !strings.HasPrefix(got.header.Get("Content-Type"), "text/plain") || !strings.Contains(got.body, "\nwardcast_test_notes_total 3\n") {
		t.Errorf("%+v", got)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	notReady := func() (string, error) { return "", errors.New("no partitions are assigned") }
	// The process is healthy while it waits for its models.
	if got := get(t, httpapi.New(prometheus.NewRegistry(), notReady), http.MethodGet, "/healthz"); got.status != http.StatusOK || got.body != "ok\n" {
		t.Errorf("healthz: %+v", got)
	}
	if got := get(t, httpapi.New(prometheus.NewRegistry(), ready), http.MethodGet, "/readyz"); got.status != http.StatusOK || got.body != "ready\n" {
		t.Errorf("readyz: %+v", got)
	}
	got := get(t, httpapi.New(prometheus.NewRegistry(), notReady), http.MethodGet, "/readyz")
	checkProblem(t, got, map[string]any{"type": "about:blank", "title": "Service Unavailable", "status": 503.0, "detail": "no partitions are assigned"})
}

// checkProblem holds an answer against RFC 9457.
func checkProblem(t *testing.T, a answer, want map[string]any) {
	t.Helper()
	var got map[string]any
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		t.Fatalf("%v: %+v", err, a)
	}
	if d := cmp.Diff(want, got); d != "" || a.header.Get("Content-Type") != "application/problem+json" || float64(a.status) != want["status"] {
		t.Errorf("%d, %v: %s", a.status, a.header, d)
	}
}

func TestNotFound(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/v1/none", "/metrics/", "/readyz/x", "/%2e%2e/etc/passwd"} {
		got := get(t, httpapi.New(prometheus.NewRegistry(), ready), http.MethodGet, path)
		checkProblem(t, got, map[string]any{"type": "about:blank", "title": "Not Found", "status": 404.0})
	}
}

func TestMethodNotAllowed(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/metrics", "/healthz", "/readyz"} {
		for _, method := range []string{http.MethodPost, http.MethodDelete} {
			got := get(t, httpapi.New(prometheus.NewRegistry(), ready), method, path)
			checkProblem(t, got, map[string]any{"type": "about:blank", "title": "Method Not Allowed", "status": 405.0})
			if allow := got.header.Get("Allow"); allow != "GET, HEAD" {
				t.Errorf("%s %s: allow %q", method, path, allow)
			}
		}
	}
}

func TestHead(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusOK, "/metrics": http.StatusOK, "/none": http.StatusNotFound} {
		if got := get(t, httpapi.New(prometheus.NewRegistry(), ready), http.MethodHead, path); got.status != want || got.body != "" {
			t.Errorf("%s: %+v", path, got)
		}
	}
}
