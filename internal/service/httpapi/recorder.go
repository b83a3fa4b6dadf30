package httpapi

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/internal/loglimit"
	"github.com/wardcast/wardcast/internal/meter"
)

// recorder records the status of an answer.
type recorder struct {
	http.ResponseWriter
	code  int
	begun bool
}

func (r *recorder) WriteHeader(code int) {
	if !r.begun {
		r.code, r.begun = code, code >= http.StatusOK
	}
	r.ResponseWriter.WriteHeader(code)
}

func (r *recorder) Write(b []byte) (int, error) {
	if !r.begun {
		r.code, r.begun = http.StatusOK, true
	}
	return r.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// status is the status of the answer, 200 by default.
func (r *recorder) status() int { return cmp.Or(r.code, http.StatusOK) }

// statusOnly keeps a response's headers and status and drops its body.
type statusOnly struct {
	http.ResponseWriter
	code int
}

func (s *statusOnly) WriteHeader(code int) { s.code = code }

func (s *statusOnly) Write(b []byte) (int, error) { return len(b), nil }

// knownID is the accepted form of a request id from outside, never a name: 32 hexadecimal digits, or a UUID.
var knownID = regexp.MustCompile(`^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$`)

// requestID returns the id that a proxy gave a request, or a new one.
func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); knownID.MatchString(id) {
		return id
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// panicked logs a panic of a handler. The function that recovered calls it.
func (a *API) panicked(w *recorder, r *http.Request, value any) {
	if err, ok := value.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		return
	}
	a.metrics.panics.Inc()
	what, stack := loglimit.Panic(value, 1)
	a.options.Logger.Error("the http handler panicked", "route", r.Pattern, "panic", what,
		"request_id", visitOf(r.Context()).id, "stack", stack)
	if !w.begun {
		Problem{Status: http.StatusInternalServerError}.ServeHTTP(w, r)
	}
}

// metrics describe the requests and the viewers of the stream.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	panics   prometheus.Counter

	wrongTokens prometheus.Counter

	viewers prometheus.Gauge
	lost    prometheus.Counter
	streams map[string]bool // routes that do not end by themselves
}

func newMetrics(r prometheus.Registerer) *metrics {
	in := meter.New(r, "wardcast_")
	return &metrics{
		requests: in.Counters("http_requests_total",
			"Requests answered, by route and status; route is none if no route answers.", "route", "status"),
		seconds: in.Histograms("http_request_seconds", "Time to answer a request, by route, live streams aside.",
			[]float64{.001, .005, .025, .1, .5, 2.5, 10}, "route"),
		panics: in.Counter("http_panics_total", "Requests whose handler panicked."),
		wrongTokens: in.Counter("http_wrong_tokens_total",
			"Requests with a token that none of http.tokens is."),
		viewers: in.Gauge("live_viewers", "Open streams of predictions."),
		lost:    in.Counter("live_lost_total", "Predictions that viewers were too slow for."),
		streams: map[string]bool{},
	}
}

func (m *metrics) observe(route string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	if !m.streams[route] {
		m.seconds.WithLabelValues(route).Observe(took.Seconds())
	}
}
