// Package httpapi serves what operators watch: GET /metrics (Prometheus), /healthz (the process answers) and /readyz
// (models are loaded and the consumer has joined its group). Errors are RFC 9457 problem details.
package httpapi

import (
	"encoding/json"
	"io"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// New returns the handler. ready returns what is missing before notes are scored, nil if nothing is, and remarks on what is
// wrong although notes are scored, each a line.
func New(metrics prometheus.Gatherer, ready func() (remarks string, err error)) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		remarks, err := ready()
		if err != nil {
			problem(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		_, _ = io.WriteString(w, "ready\n"+remarks)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if handler, pattern := mux.Handler(r); pattern != "" {
			handler.ServeHTTP(w, r)
			return
		}
		// The multiplexer answers 404 and 405 with the header Allow; a problem replaces its text.
		status := &statusOnly{ResponseWriter: w}
		mux.ServeHTTP(status, r)
		problem(w, status.code, "")
	})
}

// statusOnly keeps a response's headers and status and drops its body.
type statusOnly struct {
	http.ResponseWriter
	code int
}

func (s *statusOnly) WriteHeader(code int) { s.code = code }

func (s *statusOnly) Write(b []byte) (int, error) { return len(b), nil }

func problem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	body := map[string]any{"type": "about:blank", "title": http.StatusText(status), "status": status}
	if detail != "" {
		body["detail"] = detail
	}
	_ = json.NewEncoder(w).Encode(body) // the client is gone
}
