package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/waitlist"
)

// waiters stands in for who waits.
type waiters struct {
	list *waitlist.List
	err  error
}

func (w *waiters) Waiting(context.Context) (*waitlist.List, error) { return w.list, w.err }

// twoWait returns a list of a patient with all there can be, and of one who is not predicted and told nothing of.
func twoWait() *waitlist.List {
	now := time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC)
	n := &msg.Note{Site: "A", Age: msg.Some(84), Sex: "M", Acuity: msg.Some(2)}
	p := &msg.Prediction{
		VisitID: secret, Complaint: "Fall", Probability: .88, Threshold: .5, Decision: msg.Admit,
		Evidence: []msg.Evidence{{Start: 1, End: 4, Text: "hip pain"}},
	}
	none := &msg.Prediction{
		VisitID: secret + "2", Threshold: .5, Abstained: true, Decision: msg.Discharge,
		Probability: .3,
	}
	return waitlist.New(now, []*waitlist.Patient{
		{Visit: waitlist.NewVisit(p, n, msg.Text("B4")), Arrived: now.Add(-time.Hour), Ward: "MED"},
		{Visit: waitlist.NewVisit(none, nil, msg.Value{}), Arrived: now.Add(time.Second)},
	})
}

const bothWait = `{"admit":1,"ahead":0,"as_of":"2026-11-20T16:00:00Z","close":0,"none":1,"total":2,"visits":[` +
	`{"visit_id":"zzsecretname","site":"A","arrived_at":"2026-11-20T15:00:00Z","waited_s":3600,"complaint":"Fall",` +
	`"age":84,"sex":"M","acuity":2,"probability":0.88,"threshold":0.5,"decision":"admit","abstained":false,` +
	`"ward":"MED","label":"B4"},{"visit_id":"zzsecretname2","site":"","arrived_at":"2026-11-20T16:00:01Z",` +
	`"waited_s":0,"complaint":"","age":null,"sex":"","acuity":null,"probability":null,"threshold":0.5,` +
	`"decision":"discharge","abstained":true,"ward":"","label":null}]}` + "\n"

func TestWaiting(t *testing.T) {
	t.Parallel()
	w := &waiters{list: twoWait()}
	s := newSite(t, func(o *httpapi.Options) {
		o.Waiting, o.LabelRoles, o.Access.Tokens = w, []httpapi.Role{httpapi.Operator}, tokens
	})
	got := s.ask("GET /v1/waiting", "", bearer(operatorToken))
	same(t, "all", bothWait, got.body)
	got = s.ask("GET /v1/waiting", "", bearer(viewerToken))
	same(t, "for a viewer", strings.Replace(bothWait, `"B4"`, `null`, 1), got.body)
	if n := strings.Count(s.log.String(), `"route":"/v1/waiting"`); n != 2 {
		t.Errorf("the audit log has %d lines of who read who waits", n)
	}
	if got := s.log.String(); strings.Count(got, `"patients":2,"of":2`) != 2 || strings.Contains(got, "secret") {
		t.Errorf("the audit log does not say what was seen, or has a visit:\n%s", got)
	}
	// What an open page asks by itself is in the log once for each caller and address, whatever else is.
	open := bearer(viewerToken)
	open["Wardcast-Again"] = "1"
	for _, path := range []string{"", "", "?sort=waited", "?sort=waited"} {
		s.ask("GET /v1/waiting"+path, "", open)
	}
	s.ask("GET /v1/waiting", "", bearer(viewerToken))
	if n := strings.Count(s.log.String(), `"route":"/v1/waiting"`); n != 4 {
		t.Errorf("the audit log has %d lines of two who looked twice, one of them at an open page of two addresses", n)
	}
	for query, want := range map[string]string{
		"decision=admit": `"total":1`, "decision=discharge": `"total":0`, "decision=none": `"none":1,"total":1`,
		"close=1": `"total":0`,
		"site=A":  `"total":1`, "site=nowhere": `"visits":[]`, "ward=MED&complaint=fall": `"total":1`,
		"q=84+m+hip": `"total":1`,
		"q=b4":       `"total":1`, "q=" + secret: `"total":0`,
		"limit=1":          `"total":2,"visits":[{"visit_id":"zzsecretname","`,
		"limit=1&offset=1": `"visits":[{"visit_id":"zzsecretname2"`, "offset=9&sort=acuity": `"total":2,"visits":[]`,
	} {
		got := s.ask("GET /v1/waiting?"+query, "", bearer(operatorToken))
		if got.status != http.StatusOK || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d %s, want %s", query, got.status, got.body, want)
		}
	}
	for _, query := range []string{
		"sort=x", "decision=perhaps", "close=yes", "limit=0", "limit=1001", "limit=x", "offset=-1", "site=a&site=b",
		"row=1", "q=" + strings.Repeat("a", 501),
	} {
		got := s.ask("GET /v1/waiting?"+query, "", bearer(viewerToken))
		same(t, query, "bad_parameter", s.problem(query, got, http.StatusBadRequest))
	}
	w.err = fmt.Errorf("x: %w", httpapi.ErrNotWhole)
	got = s.ask("GET /v1/waiting", "", bearer(viewerToken))
	same(t, "not whole", "unavailable", s.problem("not whole", got, http.StatusServiceUnavailable))
	if got.header.Get("Retry-After") == "" || strings.Contains(s.log.String(), "cannot be answered") {
		t.Errorf("not whole: %v, log %s", got.header, s.log)
	}
	w.err = errors.New("no broker")
	got = s.ask("GET /v1/waiting", "", bearer(viewerToken))
	same(t, "failed", "unavailable", s.problem("failed", got, http.StatusServiceUnavailable))
	if !strings.Contains(s.log.String(), "cannot be answered") {
		t.Error("a failure is not logged")
	}
}

// TestReadWaiting: a page leaves what it does not know to itself, and never reads words from an address.
func TestReadWaiting(t *testing.T) {
	t.Parallel()
	ask := func(query string) *http.Request {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/waiting?"+query, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	q, wrong := httpapi.ReadWaiting(ask("row=7&q=words&wall=1&site=A&close=1&sort=waited&offset=100&decision=none"),
		nil)
	if wrong != nil {
		t.Fatal(wrong)
	}
	same(t, "query", &waitlist.Query{
		Site: "A", Decision: waitlist.None, Close: true, Sort: waitlist.ByWaited, Limit: httpapi.PageRows, Offset: 100,
	}, q)
	if _, wrong := httpapi.ReadWaiting(ask("sort=x"), nil); wrong == nil || wrong.Field != "sort" {
		t.Errorf("%+v", wrong)
	}
}
