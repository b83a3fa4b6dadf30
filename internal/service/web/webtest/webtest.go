// Package webtest serves the routes of pages to tests behind the checks of the API, and holds each page to what all
// pages keep: it is small, asks no other host, and has nothing that the policy of its content forbids.
package webtest

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/web/frame"
)

// Tokens of a viewer and of the operator j.doe, and a word in notes, which no model knows and no log may have.
const (
	Viewer   = "viewer-0123456789abcdef"
	Operator = "operator-0123456789abcdef"
	Secret   = "zzsecretname"
)

const mostPage = 15 << 10 // the most bytes that a page takes, compressed

// Site is an API that serves pages.
type Site struct {
	testing.TB
	Log    ingesttest.Log
	Logger *slog.Logger
	API    *httpapi.API
	frame  *frame.Frame // of the last page
}

// New returns a site that serves nothing yet.
func New(t testing.TB) *Site {
	s := &Site{TB: t}
	s.Logger = slog.New(slog.NewJSONHandler(&s.Log, nil))
	t.Cleanup(func() {
		if strings.Contains(s.Log.String(), Secret) {
			t.Errorf("the log holds what a note says:\n%s", s.Log.String())
		}
	})
	return s
}

// Page returns a page in a frame of its own.
func (s *Site) Page(path, title string) *frame.Page {
	state := func() frame.State { return frame.State{Ready: true} }
	s.frame = frame.New(frame.Options{State: state, Generation: func() string { return "g1" }, Logger: s.Logger})
	return s.frame.Add(path, title)
}

// Serve serves routes, and what else the options say.
func (s *Site) Serve(routes []httpapi.Route, options ...func(*httpapi.Options)) {
	s.Helper()
	registry := prometheus.NewPedanticRegistry()
	o := httpapi.Options{
		Logger: s.Logger, Gatherer: registry, Metrics: registry, Routes: routes,
		Ready: func() (string, error) { return "", nil },
		Access: httpapi.Access{Tokens: func() []httpapi.Token {
			return []httpapi.Token{
				{Name: "board", Role: httpapi.Viewer, Sum: sha256.Sum256([]byte(Viewer))},
				{Name: "j.doe", Role: httpapi.Operator, Sum: sha256.Sum256([]byte(Operator))},
			}
		}},
	}
	if s.frame != nil {
		o.Page = s.frame.Problem
	}
	for _, change := range options {
		change(&o)
	}
	s.API = httpapi.New(o)
}

// Elsewhere matches what asks another host, and unsafe what the policy forbids or a template refused.
var (
	Elsewhere = regexp.MustCompile(`(?i)(https?:)?//[a-z0-9.-]+\.[a-z]{2,}|@import|url\(`)
	unsafe    = regexp.MustCompile(` style=| on[a-z]+=|<style|<script>|ZgotmplZ|NaN|Inf\b`)
)

// Ask sends a form, or with none asks for a page, as a browser does, and returns status, header and body. It looks at
// each page.
func (s *Site) Ask(token, path string, form url.Values, headers ...string) (int, http.Header, string) {
	s.Helper()
	r := httptest.NewRequestWithContext(s.Context(), http.MethodGet, path, http.NoBody)
	if form != nil {
		r = httptest.NewRequestWithContext(s.Context(), http.MethodPost, path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if token != "" {
		r.SetBasicAuth("anybody", token)
	}
	r.Header.Set("Accept", "text/html,*/*;q=0.8")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.API.ServeHTTP(w, r)
	body, policy := w.Body.String(), w.Header().Get("Content-Security-Policy")
	if w.Header().Get("Content-Type") == "text/html; charset=utf-8" && !strings.HasSuffix(policy, "sandbox") {
		s.look(path, body)
		if !strings.Contains(policy, "script-src 'self'") || strings.Contains(policy, "unsafe") {
			s.Errorf("%s: the policy is %q", path, policy)
		}
	}
	return w.Code, w.Header(), body
}

// look holds a page to what all pages keep.
func (s *Site) look(path, page string) {
	s.Helper()
	for _, what := range []*regexp.Regexp{Elsewhere, unsafe} {
		if bad := what.FindString(page); bad != "" {
			s.Errorf("%s holds %q", path, bad)
		}
	}
	var small bytes.Buffer
	z := gzip.NewWriter(&small)
	_, _ = z.Write([]byte(page)) // a buffer takes everything
	_ = z.Close()
	if small.Len() > mostPage {
		s.Errorf("%s has %d bytes compressed, want at most %d", path, small.Len(), mostPage)
	}
}

var (
	hidden = regexp.MustCompile(`(?s)<desc.*?</desc>|<title.*?</title>|</?bdi>`)
	tags   = regexp.MustCompile(`<[^>]*>`)
)

// Plain returns the text of a page.
func Plain(html string) string {
	return strings.Join(strings.Fields(tags.ReplaceAllString(hidden.ReplaceAllString(html, ""), " ")), " ")
}

// Case is an address or a form with what it is answered with.
type Case struct {
	Token, Path string
	Form        url.Values
	Headers     []string
	Status      int
	Has, Lacks  string
}

// Check asks for each case.
func (s *Site) Check(cases map[string]Case) {
	s.Helper()
	for name, c := range cases {
		if c.Token == "" {
			c.Token = Viewer
		}
		status, _, body := s.Ask(c.Token, c.Path, c.Form, c.Headers...)
		if status != c.Status || !strings.Contains(body, c.Has) || c.Lacks != "" && strings.Contains(body, c.Lacks) {
			s.Errorf("%s: %d, want %d with %q and without %q:\n%s", name, status, c.Status, c.Has, c.Lacks, body)
		}
	}
}
