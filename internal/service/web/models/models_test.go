package models

import (
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/internal/service/web/webtest"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/storetest"
)

// site serves the page over a store of two generations of which the first is served.
type site struct {
	*webtest.Site
	store  *models.Store
	newest string // generation
	served string // version
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{Site: webtest.New(t)}
	var set *scoring.Set
	s.store, s.newest, set = webtest.Store(t)
	s.served = set.Models[bundle.Other].Info().Version
	s.Serve(New(s.Page("/models", "Models"), s.store, func() *scoring.Set { return set }, func() {}))
	return s
}

// TestChange: viewers see and do not change; operators need a reason; pages of other sites change nothing.
func TestChange(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ask, promote := "/models/promote?to="+s.newest, url.Values{"to": {s.newest}, "why": {"better"}}
	because := func(why string) url.Values { return url.Values{"to": {s.newest}, "why": {why}} }
	earlier := because("better")
	earlier.Set("from", "2026-01-01T00-00-00Z-000000")
	const path, operator = "/models/promote", webtest.Operator
	s.Check(map[string]webtest.Case{
		"viewer's models": {Path: "/models", Status: 200, Has: "Operators promote", Lacks: "Promote the newest"},
		"operator's models": {
			Token: operator, Path: "/models", Status: 200, Has: "Promote the newest", Lacks: "Operators promote",
		},
		"one generation was served": {
			Token: operator, Path: "/models", Status: 200, Has: "There is no earlier generation to go back to.",
			Lacks: "Roll back…",
		},
		"viewer asks":     {Path: ask, Status: 403, Has: "yours is viewer"},
		"viewer promotes": {Path: path, Form: promote, Status: 403, Has: "yours is viewer"},
		"another site": {
			Token: operator, Path: path, Form: promote, Headers: []string{"Sec-Fetch-Site", "cross-site"}, Status: 403,
			Has: "Pages of other sites may not send this.",
		},
		"no reason": {Token: operator, Path: path, Form: because(" \n"), Status: 422, Has: "A reason is required"},
		"a reason that a terminal would obey": {
			Token: operator, Path: path, Form: because("better\x1b[2J"), Status: 422,
			Has: "it has the control character U&#43;001B",
		},
		"a reason of two lines that no key types": {
			Token: operator, Path: path, Form: because("better\u2028worse"), Status: 422, Has: "U&#43;2028",
		},
		"half a form": {
			Token: operator, Path: path, Form: url.Values{"why": {"better"}}, Status: 400, Has: "did not come whole",
		},
		"another is served than was shown": {
			Token: operator, Path: path, Form: earlier, Status: 409, Has: "Somebody else changed",
		},
		"no such generation": {
			Token: operator, Path: path + "?to=2026-01-01T00-00-00Z-000000", Status: 404, Has: "no such generation",
		},
		"nothing to go back to": {Token: operator, Path: "/models/rollback", Status: 404, Has: "<h1>Roll back"},
		"operator asks":         {Token: operator, Path: ask, Status: 200, Has: "What changes"},
	})
	s.Check(map[string]webtest.Case{
		"claimed": {Path: "/models?done=rollback", Status: 200, Has: "Generation", Lacks: "Rolled back."},
	})
	before, err := s.store.Champion(t.Context())
	if err != nil || before.Name == s.newest {
		t.Fatalf("the champion is %v, %v", before, err)
	}
	promote.Set("from", before.Name)
	status, header, body := s.Ask(operator, path, promote, "Sec-Fetch-Site", "same-origin")
	if status != http.StatusSeeOther || header.Get("Location") != "/models" {
		t.Fatalf("promoting: %d %s", status, body)
	}
	s.Check(map[string]webtest.Case{
		"told by the history": {Path: "/models", Status: 200, Has: "The last change: promoted, "},
		"after the promotion": {Path: "/models", Status: 200, Has: "by <bdi>j.doe</bdi>: " +
			"<bdi>better</bdi>"},
		"taken up later": {Path: "/models", Status: 200, Has: "this process takes it up"},
		"back":           {Token: operator, Path: "/models/rollback", Status: 200, Has: before.Name},
	})
	if !strings.Contains(s.Log.String(), `"to":"`+s.newest+`"`) {
		t.Errorf("the audit log lacks the promotion:\n%s", s.Log.String())
	}
}

// TestOtherHands: what somebody else wrote to the history is shown escaped.
func TestOtherHands(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	champion, err := s.store.Champion(t.Context())
	if err == nil {
		err = s.store.Promote(t.Context(), models.Change{
			To: s.newest, From: champion.Name, By: "eve\u202e", Why: "better\u009b2J\u2028",
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Check(map[string]webtest.Case{"history": {
		Path: "/models", Status: 200, Has: `by <bdi>eve\u202e</bdi>: <bdi>better\u009b2J\u2028</bdi>`, Lacks: "\u202e",
	}})
}

// TestPromotable: the button offers what `wardcast models promote` would take, and nothing that was refused or rolled
// back.
func TestPromotable(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first, err := s.store.Champion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	third := storetest.Add(t, s.store, webtest.Bundle(t, 3)).Name
	button := func(name string) string { return `<a class="btn" href="/models/promote?to=` + name + `">` }
	look := func(when string, wanted, lacked []string) {
		t.Helper()
		_, _, body := s.Ask(webtest.Operator, "/models", nil)
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
	look("after a refusal", []string{button(s.newest), ">refused<", `<a href="/models/promote?to=` + third},
		[]string{button(third)})
	if err := s.store.Promote(t.Context(), models.Change{To: s.newest, From: first.Name}); err != nil {
		t.Fatal(err)
	}
	look("with the newest sound one served", []string{"Roll back…"},
		[]string{"Promote the newest", "no earlier generation"})
	if err := s.store.Rollback(t.Context(), models.Change{To: first.Name, From: s.newest, Why: "odd"}); err != nil {
		t.Fatal(err)
	}
	look("after a rollback",
		[]string{">refused<", ">rolled back<", `<a href="/models/promote?to=` + s.newest, "no earlier generation"},
		[]string{"Promote the newest", "Roll back…"})
}

// TestReport: what a file of the store holds runs no script, and no style but its own style sheet.
func TestReport(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, _, page := s.Ask(webtest.Viewer, "/models", nil)
	link := regexp.MustCompile(`<a href="/models/_other/([^/"]+)/report"`).FindStringSubmatch(page)
	if link == nil {
		t.Fatalf("the page has no link to a report:\n%s", page)
	}
	version := link[1]
	status, header, body := s.Ask(webtest.Viewer, "/models/_other/"+version+"/report", nil)
	policy := header.Get("Content-Security-Policy")
	if status != 200 || !strings.Contains(body, "Report") || strings.Contains(policy, "unsafe") ||
		strings.Contains(policy, "script-src") || !strings.HasSuffix(policy, "sandbox") ||
		!strings.Contains(policy, "style-src 'sha256-") {
		t.Errorf("the report: %d, policy %q", status, policy)
	}
	if status, _, body := s.Ask(webtest.Viewer, "/models/_other/"+version+"/card", nil); status != 200 ||
		!strings.Contains(body, "&lt;script&gt;") || strings.Contains(body, "# ") ||
		!strings.Contains(body, "<h1>Card of All complaints</h1>") {
		t.Errorf("the card: %d\n%s", status, body)
	}
	for _, path := range []string{
		"/models/_other/2026-01-01T00-00-00Z-000000/report", "/models/x/y/card", "/models/..%2f..%2fetc/passwd/report",
	} {
		if status, _, _ := s.Ask(webtest.Viewer, path, nil); status != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", path, status)
		}
	}
}

// TestStoreAway: a store that is not there is not called damaged, and what scores is still named.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	s := webtest.New(t)
	_, _, set := webtest.Store(t)
	s.Serve(New(s.Page("/models", "Models"), models.OpenDir(filepath.Join(t.TempDir(), "away")),
		func() *scoring.Set { return set }, func() {}))
	s.Check(map[string]webtest.Case{
		"gone":  {Path: "/models", Status: 200, Has: "The model store is not there, or empty.", Lacks: "damaged"},
		"named": {Path: "/models", Status: 200, Has: "Generation <b>" + set.Generation + "</b> scores"},
	})
}
