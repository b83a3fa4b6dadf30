package httpapi_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/internal/service/httpapi"
)

// TestRevokedToken: the streams of a revoked token, that of the API and that of a page, end within 5 seconds.
func TestRevokedToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var valid atomic.Pointer[[]httpapi.Token]
		all := tokens()
		valid.Store(&all)
		log, live := &ingesttest.Log{}, httpapi.NewLive()
		page := func(w http.ResponseWriter, r *http.Request) {
			httpapi.OpenEvents(w, r)
			<-r.Context().Done()
		}
		api := httpapi.New(httpapi.Options{
			Logger: slog.New(slog.NewJSONHandler(log, nil)), Metrics: prometheus.NewRegistry(), Gatherer: prometheus.NewRegistry(),
			Access: httpapi.Access{Tokens: func() []httpapi.Token { return *valid.Load() }},
			Triage: &httpapi.Triage{Live: live},
			Routes: []httpapi.Route{{
				Pattern: "GET /live/feed", Role: httpapi.Viewer, Stream: true, Predictions: true,
				Handler: http.HandlerFunc(page),
			}},
		})
		var streams [2]chan struct{}
		for i, path := range []string{"/v1/predictions/stream", "/live/feed"} {
			streams[i] = make(chan struct{})
			go func() {
				defer close(streams[i])
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
				r.Header.Set("Authorization", "Bearer "+viewerToken)
				api.ServeHTTP(httptest.NewRecorder(), r)
			}()
		}
		<-time.After(time.Second)
		if n := strings.Count(log.String(), `"stream":"opened"`); n != 2 {
			t.Errorf("the audit log has %d of 2 streams at their opening:\n%s", n, log)
		}
		for range 3 {
			live.Publish([]byte(`{"visit_id":"zzsecretname"}`))
		}
		<-time.After(time.Minute)
		for i := range streams {
			select {
			case <-streams[i]:
				t.Fatalf("stream %d of a valid token ended", i)
			default:
			}
		}
		others := all[1:]
		valid.Store(&others)
		began := time.Now()
		for i := range streams {
			<-streams[i]
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("they ended after %v", took)
		}
		for _, want := range []string{
			`"route":"/v1/predictions/stream"`, `"stream":"closed","predictions":3,"lost":0,"token":"revoked"`,
			`"route":"/live/feed"`, `"stream":"closed","token":"revoked"`,
		} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the audit log lacks %s:\n%s", want, log)
			}
		}
		if strings.Contains(log.String(), "zzsecretname") {
			t.Errorf("the audit log has a visit:\n%s", log)
		}
	})
}

// TestWrongTokens: they are counted, and logged by one line for all that come together, with their addresses.
func TestWrongTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, registry := &ingesttest.Log{}, prometheus.NewRegistry()
		api := httpapi.New(httpapi.Options{
			Logger: slog.New(slog.NewJSONHandler(log, nil)), Metrics: registry, Gatherer: registry,
			Access: httpapi.Access{Tokens: tokens, Rate: 1, Burst: 60},
			Triage: &httpapi.Triage{Live: httpapi.NewLive()},
		})
		status := map[int]int{}
		for i := range 200 {
			path := "/v1/models"
			if i%2 == 1 {
				path = "/v1/predictions/stream"
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
			r.RemoteAddr = "192.0.2.7:4711"
			if i == 10 {
				r.RemoteAddr = "192.0.2.9:4711"
			}
			if i > 0 {
				r.Header.Set("Authorization", "Bearer wrong-0123456789abcdef")
			}
			w := httptest.NewRecorder()
			api.ServeHTTP(w, r)
			status[w.Code]++
		}
		same(t, "answers", map[int]int{http.StatusUnauthorized: 61, http.StatusTooManyRequests: 139}, status)
		<-time.After(time.Minute)
		if got := strings.Count(log.String(), "wrong token"); got != 1 {
			t.Errorf("%d lines:\n%s", got, log)
		}
		if !strings.Contains(log.String(), `"requests":199,"addresses":["192.0.2.7","192.0.2.9"]`) ||
			strings.Contains(log.String(), "0123456789abcdef") {
			t.Errorf("the log says:\n%s", log)
		}
		families, err := registry.Gather()
		at := slices.IndexFunc(families, func(f *dto.MetricFamily) bool {
			return f.GetName() == "wardcast_http_wrong_tokens_total"
		})
		if err != nil || at < 0 || families[at].GetMetric()[0].GetCounter().GetValue() != 199 {
			t.Errorf("counted: %v, %v", families, err)
		}
	})
}
