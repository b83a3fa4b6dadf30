package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/service/httpapi"
)

// TestTrail: a page that is read again and again, or searched, displaces no change; events come newest first.
func TestTrail(t *testing.T) {
	t.Parallel()
	trail := &httpapi.Trail{}
	answer := httpapi.Answering(func(*http.Request) http.Handler { return httpapi.JSON(1) })
	s := newSite(t, func(o *httpapi.Options) {
		o.Trail, o.Access.Tokens = trail, tokens
		o.Routes = []httpapi.Route{
			{Pattern: "POST /change", Role: httpapi.Operator, Handler: answer},
			{Pattern: "POST /find", Role: httpapi.Viewer, Predictions: true, Handler: answer},
		}
	})
	ask := func(what, token string) {
		t.Helper()
		if got := s.ask(what, "", bearer(token)); got.status != http.StatusOK {
			t.Fatalf("%s: %+v", what, got)
		}
	}
	ask("POST /find", viewerToken)
	ask("POST /change", operatorToken)
	for range httpapi.KeptEvents + 1 {
		ask("POST /find", viewerToken)
	}
	all := trail.Events()
	if n := len(all); n != httpapi.KeptEvents+1 || !all[n-1].Change || all[n-1].Route != "/change" || all[0].Change {
		t.Errorf("%d events, the oldest %+v", n, all[n-1])
	}
	for i := range all[1:] {
		if all[i].Time.Before(all[i+1].Time) {
			t.Fatalf("event %d is older than the next", i)
		}
	}
}

// TestAgainOfSearches: what an open page searches by itself has a line of its own for other words.
func TestAgainOfSearches(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o *httpapi.Options) {
		o.Access.Tokens = tokens
		o.Routes = []httpapi.Route{{
			Pattern: "POST /find", Role: httpapi.Viewer, Predictions: true,
			Handler: httpapi.Answering(func(r *http.Request) http.Handler {
				return httpapi.JSON(r.ParseForm() == nil)
			}),
		}}
	})
	open := with(bearer(viewerToken), "Wardcast-Again", "1")
	open["Content-Type"] = "application/x-www-form-urlencoded"
	for _, words := range []string{"q=hip", "q=hip", "q=" + secret, "q=hip", "q=" + secret} {
		s.ask("POST /find", words, open)
	}
	if n := strings.Count(s.log.String(), `"route":"/find"`); n != 2 {
		t.Errorf("the audit log has %d lines of two searches, want 2", n)
	}
}
