package frame_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/web/webtest"
)

// TestProblem: an error is a page for a browser, with who is logged in, the role that is needed and a way back; for
// everybody else, and below /v1/, it is problem details. A page is asked for by no name but text/html.
func TestProblem(t *testing.T) {
	t.Parallel()
	s := webtest.New(t)
	p := s.Page("/page", "Page")
	here := httpapi.Answering(func(*http.Request) http.Handler { return p.Missing("No topic has this name.") })
	s.Serve([]httpapi.Route{
		p.Route(here), p.LogOut(),
		{Pattern: "GET /page/change", Role: httpapi.Operator, Handler: here},
		{Pattern: "GET /v1/page", Role: httpapi.Viewer, Handler: here},
	})
	const role = "This requires the role operator, and yours is viewer."
	for name, c := range map[string]struct {
		token, path string
		status      int
		has         []string
	}{
		"missing": {
			webtest.Viewer, "/page", 404, []string{"No topic has this name.</p>", `href="/page">Back to Page`},
		},
		"no such page":    {webtest.Viewer, "/nothing", 404, []string{"<h1>Not found</h1>", "<b>board</b>"}},
		"wrong role":      {webtest.Viewer, "/page/change", 403, []string{role, `href="/logout">Log in as another`}},
		"not logged in":   {"", "/page/change", 401, []string{"token of the role operator", `">Log in</a>`}},
		"wrong token":     {"x", "/page", 401, []string{"<h1>Not logged in</h1>"}},
		"logged out":      {webtest.Viewer, "/logout?from=board", 401, []string{"You are logged out."}},
		"logged in again": {webtest.Operator, "/logout?from=board", 303, nil},
		"log out":         {webtest.Viewer, "/logout", 303, []string{"/logout?from=board"}},
		"cancelled":       {"", "/logout", 401, []string{"You are logged out."}},
	} {
		status, header, body := s.Ask(c.token, c.path, nil)
		if status != c.status || (status == 401) != (len(header.Values("WWW-Authenticate")) == 2) {
			t.Errorf("%s: %d, want %d: %v", name, status, c.status, header)
		}
		for _, want := range c.has {
			if !strings.Contains(body, want) {
				t.Errorf("%s: the page lacks %q:\n%s", name, want, body)
			}
		}
		if strings.Contains(body, `id="conn"`) || strings.Contains(body, "g1") {
			t.Errorf("%s: the page tells the state:\n%s", name, body)
		}
	}
	for _, accept := range []string{"", "*/*", "application/json"} {
		for _, path := range []string{"/page", "/v1/page", "/nothing"} {
			if status, header, body := s.Ask(webtest.Viewer, path, nil, "Accept", accept); status != 404 ||
				header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s for %q: %d %s", path, accept, status, body)
			}
		}
	}
	if _, header, _ := s.Ask(webtest.Viewer, "/v1/page",
		nil); header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("a browser gets %v below /v1/", header)
	}
}
