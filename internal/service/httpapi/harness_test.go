package httpapi_test

import (
	"crypto/sha256"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/storetest"
	"github.com/wardcast/wardcast/textproc"
)

func TestMain(m *testing.M) { ingesttest.VerifyMain(m) }

// secret stands in notes, and may stand in no error and no log line.
const secret = "zzsecretname"

const (
	viewerToken   = "viewer-0123456789abcdef"
	operatorToken = "operator-0123456789abcdef"
)

// tokens are those of a viewer and of an operator.
func tokens() []httpapi.Token {
	return []httpapi.Token{
		{Name: "ward-board", Role: httpapi.Viewer, Sum: sha256.Sum256([]byte(viewerToken))},
		{Name: "j.doe", Role: httpapi.Operator, Sum: sha256.Sum256([]byte(operatorToken))},
	}
}

// site is an API over a real listener.
type site struct {
	testing.TB
	store    *models.Store
	set      atomic.Pointer[scoring.Set]
	live     *httpapi.Live
	log      *ingesttest.Log
	registry *prometheus.Registry
	options  httpapi.Options
	changed  atomic.Int32
	api      *httpapi.API
	url      string
	client   *http.Client
}

// newBundle is a model that knows "hip" and "pain".
func newBundle(tb testing.TB, name string, n int) *bundle.Bundle {
	tb.Helper()
	settings := textproc.DefaultSettings()
	settings.Concepts = &textproc.Concepts{} // compiling the built-in table takes longer than all the rest
	v, err := textproc.New(settings, []textproc.Term{
		{Text: "hip", DF: 1, Surface: []string{"hip", "hips"}}, {Text: "pain", DF: 1, Surface: []string{"pain"}},
	}, []float64{1, 1})
	if err != nil {
		tb.Fatal(err)
	}
	parts := classifier.Parts{
		Info: msg.Model{Method: "sonmf"}, Vectorizer: v,
		Topics:      mat.NewDense(2, 1, []float64{1, 0.5}),
		Heads:       []classifier.Head{{Beta: []float64{float64(n)}, Words: []float64{0.25, 0}}},
		Calibration: bundle.Calibration{Kind: bundle.Platt, Slope: 1}, Threshold: 0.5, Prevalence: []float64{0.5},
	}
	b := &bundle.Bundle{Evaluation: []byte("{}"), Report: []byte("{}"), Manifest: bundle.Manifest{
		Name: name, CreatedAt: time.Date(2026, 11, 20, 2, 0, n, 0, time.UTC),
		Metrics: json.RawMessage(`{"n":100,"auroc":{"value":0.8,"low":0.7,"high":0.9}}`),
		Training: bundle.Training{
			From: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
			To:   time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), Documents: 100, Positives: 30,
		},
	}}
	if name != bundle.Other {
		b.Manifest.Complaint = "Chest pain"
	}
	if err := parts.ToBundle(b); err != nil {
		tb.Fatal(err)
	}
	return b
}

// newSite returns a site whose store serves the second of three generations. change may change the options.
func newSite(tb testing.TB, change func(*httpapi.Options)) *site {
	tb.Helper()
	s := &site{
		TB: tb, store: models.OpenDir(tb.TempDir()), live: httpapi.NewLive(), log: &ingesttest.Log{},
		registry: prometheus.NewPedanticRegistry(),
	}
	storetest.Serve(tb, s.store, newBundle(tb, bundle.Other, 1))
	storetest.Serve(tb, s.store, newBundle(tb, "chest-pain", 2))
	storetest.Add(tb, s.store, newBundle(tb, bundle.Other, 3))
	s.load()
	s.options = httpapi.Options{
		Logger: slog.New(slog.NewJSONHandler(s.log, nil)), Gatherer: s.registry, Metrics: s.registry,
		Access: httpapi.Access{Local: true},
		Ready:  func() (string, error) { return "", nil },
		Triage: &httpapi.Triage{
			Store: s.store, Set: s.set.Load, Explain: classifier.Options{Limits: classifier.Limits{Evidence: 8}},
			Live: s.live, Changed: func() { s.changed.Add(1) },
		},
	}
	if change != nil {
		change(&s.options)
	}
	s.api = httpapi.New(s.options)
	server := httptest.NewUnstartedServer(s.api)
	server.Config.ErrorLog = slog.NewLogLogger(slog.NewJSONHandler(s.log, nil), slog.LevelWarn)
	server.Start()
	s.url, s.client = server.URL, server.Client()
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	tb.Cleanup(func() {
		server.Close()
		if strings.Contains(s.log.String(), secret) {
			tb.Errorf("the log names a patient:\n%s", s.log)
		}
	})
	return s
}

func (s *site) load() {
	s.Helper()
	set, err := scoring.Load(s.Context(), s.store, nil)
	if err != nil {
		s.Fatal(err)
	}
	s.set.Store(set)
}

type answer struct {
	status int
	header http.Header
	body   string
}

// ask sends a request: a method and a path, such as "GET /healthz".
func (s *site) ask(what, body string, headers map[string]string) answer {
	s.Helper()
	method, path, _ := strings.Cut(what, " ")
	var content io.Reader = http.NoBody
	if body != "" {
		content = strings.NewReader(body)
	}
	request, err := http.NewRequestWithContext(s.Context(), method, s.url, content)
	if err != nil {
		s.Fatal(err)
	}
	request.URL.Opaque = path // as it is written
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range headers {
		if request.Header.Set(name, value); name == "Host" {
			request.Host = value
		}
	}
	response, err := s.client.Do(request)
	if err != nil {
		s.Fatalf("%s: %v", what, err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatalf("%s: %v", what, err)
	}
	return answer{response.StatusCode, response.Header, string(data)}
}

func bearer(token string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token}
}

// problem holds an answer against RFC 9457, and returns its code.
func (s *site) problem(what string, a answer, status int) string {
	s.Helper()
	var got struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Code   string `json:"code"`
	}
	if err := json.Unmarshal([]byte(a.body), &got); err != nil ||
		a.header.Get("Content-Type") != "application/problem+json" {
		s.Errorf("%s: %d %s %q is no problem", what, a.status, a.header.Get("Content-Type"), a.body)
		return ""
	}
	if a.status != status || got.Status != status || got.Title != http.StatusText(status) || got.Type != "about:blank" {
		s.Errorf("%s: %d %q, want %d", what, a.status, a.body, status)
	}
	if strings.Contains(a.body, secret) {
		s.Errorf("%s: the problem quotes the note: %s", what, a.body)
	}
	return got.Code
}

// value returns the JSON of an answer of 200.
func value[T any](s *site, what string, a answer) (v T) {
	s.Helper()
	if err := json.Unmarshal([]byte(a.body), &v); err != nil || a.status != http.StatusOK ||
		a.header.Get("Content-Type") != "application/json" {
		s.Fatalf("%s: %d %s %q: %v", what, a.status, a.header.Get("Content-Type"), a.body, err)
	}
	return v
}

func same(tb testing.TB, what string, want, got any) {
	tb.Helper()
	if d := cmp.Diff(want, got); d != "" {
		tb.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func with(headers map[string]string, name, v string) map[string]string {
	all := maps.Clone(headers)
	if all == nil {
		all = map[string]string{}
	}
	all[name] = v
	return all
}
