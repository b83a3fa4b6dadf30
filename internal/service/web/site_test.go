package web

import (
	"crypto/sha256"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

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
	"github.com/wardcast/wardcast/models/topicindex"
	"github.com/wardcast/wardcast/textproc"
)

const (
	viewerToken   = "viewer-0123456789abcdef"
	operatorToken = "operator-0123456789abcdef"
)

// site is the pages behind the checks of the API, with a store of two generations of which the first is served.
type site struct {
	testing.TB
	store  *models.Store
	newest string // generation
	served string // version
	log    *ingesttest.Log
	feed   *Feed
	pages  *Pages
	url    string
	api    *httpapi.API
}

// newBundle is a model that knows "hip" and "pain".
func newBundle(t testing.TB, n int) *bundle.Bundle {
	t.Helper()
	v, err := textproc.New(textproc.DefaultSettings(), []textproc.Term{{Text: "hip", DF: 1, Surface: []string{"hips"}}, {Text: "pain", DF: 1, Surface: []string{"pain"}}}, []float64{1, 1})
	if err != nil {
		t.Fatal(err)
	}
	parts := classifier.Parts{
		Info: msg.Model{Method: "sonmf"}, Vectorizer: v, Topics: mat.NewDense(2, 1, []float64{1, 0.5}),
		Heads:       []classifier.Head{{Beta: []float64{float64(n)}, Words: []float64{0.25, 0}}},
		Calibration: bundle.Calibration{Kind: bundle.Platt, Slope: 1}, Threshold: 0.5, Prevalence: []float64{0.5},
	}
	b := &bundle.Bundle{
		Manifest: bundle.Manifest{
			Name: bundle.Other, CreatedAt: time.Date(2026, 11, 20, 2, 0, n, 0, time.UTC), Metrics: json.RawMessage(`{"auroc":0.8,"auroc_95":{"low":0.7,"high":0.9},"brier":0.1}`),
			Training: bundle.Training{Documents: 6640, Positives: 1992},
		},
		Card: "# Card <script>", Page: []byte("<!DOCTYPE html><style>p { color: red }</style><p style='color: blue'>Report</p><script>alert(1)</script>"),
	}
	if err := parts.ToBundle(b); err != nil {
		t.Fatal(err)
	}
	return b
}

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{TB: t, store: models.OpenDir(t.TempDir()), log: &ingesttest.Log{}, feed: NewFeed(true)}
	storetest.Serve(t, s.store, newBundle(t, 1))
	s.newest = storetest.Add(t, s.store, newBundle(t, 2)).Name
	set, err := scoring.Load(t.Context(), s.store, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.served = set.Models[bundle.Other].Info().Version
	ready := func() (string, error) { return "", nil }
	log := slog.New(slog.NewJSONHandler(s.log, nil))
	topics := topicindex.New(topicindex.Config{Store: s.store, Folder: t.TempDir()})
	t.Cleanup(func() {
		if err := topics.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := topics.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	use := func() *scoring.Set { return set }
	p, err := New(Options{Feed: s.feed, Store: s.store, Set: use, Ready: ready, Health: someHealth, Replay: noReplay, Questionnaires: someQuestionnaires, Changed: func() {}, Topics: topics, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	s.pages = p
	token := func(name string, role httpapi.Role, secret string) httpapi.Token {
		return httpapi.Token{Name: name, Role: role, Sum: sha256.Sum256([]byte(secret))}
	}
	registry := prometheus.NewPedanticRegistry()
	api, err := httpapi.New(httpapi.Options{
		Logger: log, Gatherer: registry, Metrics: registry, Ready: ready, Routes: p.Routes(), Topics: topics, Triage: &httpapi.Triage{Store: s.store, Set: use, Live: httpapi.NewLive(), Changed: func() {}},
		Access: httpapi.Access{Tokens: func() []httpapi.Token {
			return []httpapi.Token{token("board", httpapi.Viewer, viewerToken), token("j.doe", httpapi.Operator, operatorToken)}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	t.Cleanup(func() {
		if strings.Contains(s.log.String(), secret) {
			t.Errorf("the log tells of a patient:\n%s", s.log)
		}
	})
	s.url, s.api = server.URL, api
	return s
}

// ask sends a form, or with none asks for a page, and returns status, header and body.
func (s *site) ask(token, path string, form url.Values, headers ...string) (int, http.Header, string) {
	s.Helper()
	method, content := http.MethodGet, io.Reader(http.NoBody)
	if form != nil {
		method, content = http.MethodPost, strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(s.Context(), method, s.url+path, content)
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if token != "" {
		r.SetBasicAuth("anybody", token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	response, err := client.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatal(err)
	}
	return response.StatusCode, response.Header, string(data)
}

// TestRoles: viewers see and do not change; operators need a reason; pages of other sites change nothing.
func TestRoles(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	promote := url.Values{"to": {s.newest}, "why": {"better"}}
	for _, c := range []struct {
		name, token, path string
		form              url.Values
		headers           []string
		status            int
		has, lacks        string
	}{
		{"no token", "", "/", nil, nil, 401, "no_token", ""},
		{"live", viewerToken, "/", nil, nil, 200, "No notes yet", ""},
		{"row that is gone", viewerToken, "/?row=99", nil, nil, 200, "no longer kept", ""},
		{"viewer's models", viewerToken, "/models", nil, nil, 200, "Operators promote", "Promote the newest"},
		{"operator's models", operatorToken, "/models", nil, nil, 200, "Promote the newest", "Operators promote"},
		{"one generation was served", operatorToken, "/models", nil, nil, 200, "There is no earlier generation to go back to.", "Roll back…"},
		{"viewer asks", viewerToken, "/models/promote?to=" + s.newest, nil, nil, 403, "wrong_role", ""},
		{"viewer promotes", viewerToken, "/models/promote", promote, nil, 403, "wrong_role", ""},
		{"another site", operatorToken, "/models/promote", promote, []string{"Sec-Fetch-Site", "cross-site"}, 403, "cross_origin", ""},
		{"no reason", operatorToken, "/models/promote", url.Values{"to": {s.newest}, "why": {" \n"}}, nil, 422, "A reason is required", ""},
		{"a reason that a terminal would obey", operatorToken, "/models/promote", url.Values{"to": {s.newest}, "why": {"better\x1b[2J"}}, nil, 422, "has control characters", ""},
		{"half a form", operatorToken, "/models/promote", url.Values{"why": {"better"}}, nil, 400, "did not come whole", ""},
		{"another is served than was shown", operatorToken, "/models/promote", url.Values{"to": {s.newest}, "from": {"2026-01-01T00-00-00Z-000000"}, "why": {"better"}}, nil, 409, "Somebody else changed", ""},
		{"no such generation", operatorToken, "/models/promote?to=2026-01-01T00-00-00Z-000000", nil, nil, 404, "no such generation", ""},
		{"nothing to go back to", operatorToken, "/models/rollback", nil, nil, 404, "<h1>Roll back", ""},
		{"operator asks", operatorToken, "/models/promote?to=" + s.newest, nil, nil, 200, "What changes", ""},
		{"unknown model", viewerToken, "/topics?model=x", nil, nil, 404, "Not found", ""},
		{"topics", viewerToken, "/topics?q=hip", nil, nil, 200, "1 topic with", ""},
		{"topics as CSV", viewerToken, "/topics.csv?model=_other", nil, nil, 200, "_other,", "<"},
		{"facets and versions", viewerToken, "/topics?q=hips&version=" + s.served, nil, nil, 200, "20 Nov 2026 02:00 · ", ""},
		{"too long a search", viewerToken, "/topics?q=" + strings.Repeat("x", 501), nil, nil, 400, "The search is too long", "xxx"},
		{"too long a search as CSV", viewerToken, "/topics/found.csv?q=" + strings.Repeat("x", 501), nil, nil, 400, "The search is too long", "xxx"},
		{"did you mean", viewerToken, "/topics?q=hipp", nil, nil, 200, `<a href="/topics?q=hip">hip</a>`, ""},
		{"topics like one", viewerToken, "/topics?like=_other/1", nil, nil, 200, "Topics like 1 of _other", ""},
		{"topics like none", viewerToken, "/topics?like=nobody/1", nil, nil, 200, "There is no such topic.", ""},
		{"found topics as CSV", viewerToken, "/topics/found.csv?q=hip", nil, nil, 200, "_other,", "<"},
		{"a topic over versions as CSV", viewerToken, "/topics/history.csv?topic=_other/1", nil, nil, 200, "_other," + s.served, "<"},
		{"no topic over versions as CSV", viewerToken, "/topics/history.csv?topic=x/1", nil, nil, 404, "There is no such topic.", ""},
		{"no name of a topic", viewerToken, "/topics/history.csv", nil, nil, 404, "There is no such topic.", ""},
		{"search without a match", viewerToken, "/topics?q=%3Cu%3E", nil, nil, 200, "No topic of this model holds", "<u>"},
		{"try", viewerToken, "/try", url.Values{"text": {"hip pain"}, "age": {"78"}}, nil, 200, "Why ", ""},
		{"try an age that cannot be", viewerToken, "/try", url.Values{"text": {"hip pain"}, "age": {"999"}}, nil, 200, "Age is out of range and was left out.", ""},
		{"try an unknown note", viewerToken, "/try", url.Values{"text": {secret}}, nil, 200, "Not predicted", ""},
		{"try nonsense", viewerToken, "/try", url.Values{"text": {secret}, "bp": {secret}}, nil, 400, "such as 138/74", ""},
		{"try too much", viewerToken, "/try", url.Values{"text": {strings.Repeat("x", maxForm)}}, nil, 400, "too large", ""},
	} {
		status, header, body := s.ask(c.token, c.path, c.form, c.headers...)
		if status != c.status || !strings.Contains(body, c.has) || c.lacks != "" && strings.Contains(body, c.lacks) {
			t.Errorf("%s: %d, want %d with %q and without %q:\n%s", c.name, status, c.status, c.has, c.lacks, body)
		}
		if policy := header.Get("Content-Security-Policy"); !strings.Contains(policy, "script-src 'self'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: the policy is %q", c.name, policy)
		}
	}
	before, err := s.store.Champion(t.Context())
	if err != nil || before.Name == s.newest {
		t.Fatalf("the champion is %v, %v", before, err)
	}
	promote.Set("from", before.Name)
	status, header, body := s.ask(operatorToken, "/models/promote", promote, "Sec-Fetch-Site", "same-origin")
	if status != http.StatusSeeOther || header.Get("Location") != "/models?done=promote" {
		t.Fatalf("promoting: %d %s", status, body)
	}
	if _, _, body := s.ask(operatorToken, "/models?done=promote", nil); !strings.Contains(body, "by <bdi>j.doe</bdi>: <bdi>better</bdi>") || !strings.Contains(body, "this process takes it up") {
		t.Errorf("after the promotion the page says\n%s", body)
	}
	if _, _, body := s.ask(operatorToken, "/models/rollback", nil); !strings.Contains(body, before.Name) {
		t.Errorf("the rollback goes to\n%s", body)
	}
	if !strings.Contains(s.log.String(), `"to":"`+s.newest+`"`) {
		t.Errorf("the audit log lacks the promotion:\n%s", s.log)
	}
}

// TestPromotable: the button offers what `wardcast models promote` would take, and nothing that was refused or rolled back.
func TestPromotable(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first, err := s.store.Champion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	third := storetest.Add(t, s.store, newBundle(t, 3)).Name
	button := func(name string) string { return `<a class="btn" href="/models/promote?to=` + name + `">` }
	look := func(when string, wanted, lacked []string) {
		t.Helper()
		_, _, body := s.ask(operatorToken, "/models", nil)
		for _, text := range wanted {
			if !strings.Contains(body, text) {
				t.Errorf("%s the page lacks %q:\n%s", when, text, body)
			}
		}
		for _, text := range lacked {
			if strings.Contains(body, text) {
				t.Errorf("%s the page has %q:\n%s", when, text, body)
			}
		}
	}
	look("first", []string{button(third)}, nil)
	judged, err := s.store.Generation(t.Context(), third)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.store.Refuse(t.Context(), judged, models.Change{Why: "worse"}); err != nil {
		t.Fatal(err)
	}
	look("after a refusal", []string{button(s.newest), ">refused<", `<a href="/models/promote?to=` + third}, []string{button(third)})
	if err := s.store.Promote(t.Context(), models.Change{To: s.newest, From: first.Name}); err != nil {
		t.Fatal(err)
	}
	look("with the newest sound one served", []string{"Roll back…"}, []string{"Promote the newest", "no earlier generation"})
	if err := s.store.Rollback(t.Context(), models.Change{To: first.Name, From: s.newest, Why: "odd"}); err != nil {
		t.Fatal(err)
	}
	look("after a rollback", []string{">refused<", ">rolled back<", `<a href="/models/promote?to=` + s.newest, "no earlier generation"}, []string{"Promote the newest", "Roll back…"})
}

// TestReport: what a file of the store holds runs no script, and no style but its own style sheet.
func TestReport(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, _, page := s.ask(viewerToken, "/models", nil)
	link := regexp.MustCompile(`<a href="/models/_other/([^/"]+)/report"`).FindStringSubmatch(page)
	if link == nil {
		t.Fatalf("the page has no link to a report:\n%s", page)
	}
	version := link[1]
	status, header, body := s.ask(viewerToken, "/models/_other/"+version+"/report", nil)
	policy := header.Get("Content-Security-Policy")
	if status != 200 || !strings.Contains(body, "Report") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "script-src") || !strings.HasSuffix(policy, "sandbox") || !strings.Contains(policy, "style-src 'sha256-") {
		t.Errorf("the report: %d, policy %q", status, policy)
	}
	if status, _, body := s.ask(viewerToken, "/models/_other/"+version+"/card", nil); status != 200 || !strings.Contains(body, "# Card &lt;script&gt;") {
		t.Errorf("the card: %d\n%s", status, body)
	}
	for _, path := range []string{"/models/_other/2026-01-01T00-00-00Z-000000/report", "/models/x/y/card", "/models/..%2f..%2fetc/passwd/report"} {
		if status, _, _ := s.ask(viewerToken, path, nil); status != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", path, status)
		}
	}
}

// TestStatic: the assets are compressed, and kept only at their own address.
func TestStatic(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, _, page := s.ask(viewerToken, "/", nil)
	_, rest, _ := strings.Cut(page, `href="/static/`)
	own, _, _ := strings.Cut(rest, `"`)
	for path, kept := range map[string]bool{own: true, "wardcast.css": false, "wardcast.css?v=x": false} {
		status, header, _ := s.ask("", "/static/"+path, nil)
		if status != 200 || strings.Contains(header.Get("Cache-Control"), "immutable") != kept || header.Get("Content-Type") != "text/css; charset=utf-8" {
			t.Errorf("%s: %d %v", path, status, header)
		}
	}
	if status, _, _ := s.ask("", "/static/web.go", nil); status != http.StatusNotFound {
		t.Errorf("web.go: %d", status)
	}
}
