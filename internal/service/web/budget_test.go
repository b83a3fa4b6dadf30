package web

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/topicindex"
)

// The most bytes that a page, the style sheet and the script take, compressed.
const (
	mostPage   = 15 << 10
	mostStyle  = 6 << 10
	mostScript = 20 << 10
)

// everyPage lists the pages.
func everyPage() []string {
	var all []string
	for _, l := range links("") {
		all = append(all, l.Path)
	}
	return append(all, "/?wall=1", "/health?wall=1", "/questionnaires?name=survey")
}

// elsewhere matches what asks another host.
var elsewhere = regexp.MustCompile(`(?i)(https?:)?//[a-z0-9.-]+\.[a-z]{2,}|@import|url\(`)

// TestBudgets: no page or asset is larger than a slow line takes, moves for those who want no motion, or asks another host.
func TestBudgets(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i := range kept {
		p := prediction()
		p.Complaint = fmt.Sprintf("Complaint %d", i)
		s.feed.Publish(theNote().AppendJSON(nil), p.AppendJSON(nil))
	}
	for _, path := range everyPage() {
		status, _, small := s.ask(viewerToken, path, nil, "Accept-Encoding", "gzip")
		if status != http.StatusOK || len(small) > mostPage {
			t.Errorf("%s: %d, %d bytes compressed, want at most %d", path, status, len(small), mostPage)
		}
		t.Logf("%s: %d bytes", path, len(small))
		_, _, body := s.ask(viewerToken, path, nil, "Accept-Encoding", "identity")
		if bad := elsewhere.FindString(body); bad != "" {
			t.Errorf("%s asks for %s", path, bad)
		}
		if bad := regexp.MustCompile(` style=| on[a-z]+=|<style|<script>|ZgotmplZ`).FindString(body); bad != "" {
			t.Errorf("%s holds %q, which the policy of its content forbids", path, bad)
		}
	}
	for file, most := range map[string]int{"wardcast.css": mostStyle, "wardcast.js": mostScript} {
		a := s.pages.static[file]
		if n := len(a.small); n == 0 || n > most {
			t.Errorf("%s has %d bytes compressed, want at most %d", file, n, most)
		}
		t.Logf("%s: %d bytes", file, len(a.small))
		if bad := elsewhere.Find(a.data); bad != nil {
			t.Errorf("%s asks for %s", file, bad)
		}
	}
	for line := range strings.Lines(string(s.pages.static["wardcast.css"].data)) {
		if regexp.MustCompile(`animation|transition|@keyframes`).MatchString(line) && !strings.HasPrefix(line, "@media (prefers-reduced-motion:no-preference)") {
			t.Errorf("this moves for those who want no motion: %s", line)
		}
	}
}

// BenchmarkPages draws each page as one request does, with all its rows.
func BenchmarkPages(b *testing.B) {
	p, err := New(Options{
		Feed: NewFeed(true), Store: models.OpenDir(b.TempDir()), Set: func() *scoring.Set { return &scoring.Set{} },
		Ready: func() (string, error) { return "", nil }, Health: someHealth, Replay: noReplay, Questionnaires: someQuestionnaires, Changed: func() {}, Topics: topicindex.New(topicindex.Config{}), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	for range pageRows {
		p.options.Feed.Publish(theNote().AppendJSON(nil), prediction().AppendJSON(nil))
	}
	for path, page := range map[string]http.HandlerFunc{"live": p.live, "try": p.emptyTry, "questionnaires": p.questionnaires, "health": p.health} {
		b.Run(path, func(b *testing.B) {
			r := httptest.NewRequestWithContext(b.Context(), "GET", "/", http.NoBody)
			r.Header.Set("Accept-Encoding", "gzip")
			b.ReportAllocs()
			for b.Loop() {
				w := httptest.NewRecorder()
				if page(w, r); w.Code != 200 {
					b.Fatal(w.Code)
				}
			}
		})
	}
}
