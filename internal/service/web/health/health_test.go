package health

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardcast/wardcast/ingest/deadletter"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/goldentest"
	"github.com/wardcast/wardcast/internal/service/health"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/web/webtest"
)

// someHealth returns an hour with a gap, after which notes wait.
func someHealth() *health.Snapshot {
	at := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	now := health.Point{At: at, Lag: 1240, Age: 130, Rate: 0, P99: math.NaN()}
	status := health.Status{
		Stream: health.Stream{
			Name: "triage", Noun: "note", DeadLetters: "triage.notes.dlq", Generation: func() string { return "g1" },
		},
		Point: now, LastAnswer: at.Add(-2 * time.Minute),
		Partitions: []health.Partition{{ID: "1", Lag: 1200}, {ID: "0", Lag: 40}},
		Tally: &deadletter.Tally{
			Counts: []deadletter.Count{
				{Reason: msg.WrongType, Letters: 12, Newest: at.Add(-time.Hour)}, {Reason: msg.TooLarge, Letters: 1},
			},
			Latest: []deadletter.Letter{
				{
					Place: deadletter.Place{Partition: 1, Offset: 7}, Time: at, Reason: msg.WrongType, Field: "age",
					Attempts: 1,
				},
			},
		},
	}
	for i := range 59 {
		p := health.Point{
			At: at.Add(time.Duration(i-60) * time.Minute), Lag: float64(i % 7),
			Rate: 12.25 + float64(i%5), P99: 0.03 + 0.01*float64(i%3),
		}
		if i == 20 || i == 22 {
			p = health.Point{At: p.At, Lag: math.NaN(), Age: math.NaN(), Rate: 0, P99: math.Inf(1)}
		}
		status.History = append(status.History, p)
	}
	return &health.Snapshot{At: at, Streams: []health.Status{status}, Problems: []health.Problem{
		{Level: health.Failure, Text: "Kafka does not answer.", Since: at.Add(-2 * time.Minute)},
		{Level: health.Warning, Text: "1240 notes wait for an answer.", Since: at.Add(-time.Minute)},
	}}
}

func TestPage(t *testing.T) {
	t.Parallel()
	s := webtest.New(t)
	goldentest.Equal(t, "testdata/health.golden.html",
		[]byte(s.Page("/health", "Health").Template(html).Part("page", newView(someHealth()))))
	trail := &httpapi.Trail{Since: time.Date(2026, 11, 20, 7, 0, 0, 0, time.UTC)}
	s.Serve(New(s.Page("/health", "Health"), someHealth, Replays{}, trail),
		func(o *httpapi.Options) { o.Trail = trail })
	s.Check(map[string]webtest.Case{
		"CSV":                {Path: "/health.csv", Status: 200, Has: "2026-11-20T08:00:00Z,triage,1240,130,0,\n"},
		"letters":            {Path: "/health/letters?stream=triage", Status: 200, Has: `<th scope="row">1/7</th>`},
		"letters of nothing": {Path: "/health/letters", Status: 404, Has: "There is no such stream."},
		"audit for a viewer": {Path: "/audit", Status: 403, Has: "yours is viewer"},
		"audit": {
			Token: webtest.Operator, Path: "/audit", Status: 200,
			Has: "since 20 Nov 2026 07:00. The log is the record",
		},
		"claimed replay": {Path: "/health?replayed=99999", Status: 200, Lacks: "99999"},
		"on wall":        {Path: "/health?wall=1", Status: 200, Has: " wall"},
	})
}

// TestReplay: operators send dead letters of one reason back, after they saw how many; nobody else does.
func TestReplay(t *testing.T) {
	t.Parallel()
	s := webtest.New(t)
	var asked []string
	failure, answered := error(nil), false
	replay := func(_ context.Context, stream string, reason msg.Reason, dryRun bool) (deadletter.Sent, error) {
		asked = append(asked, fmt.Sprint(stream, reason, dryRun))
		return deadletter.Sent{Sent: 7, Exhausted: 1}, failure
	}
	trail, now := &httpapi.Trail{}, someHealth()
	s.Serve(New(s.Page("/health", "Health"), func() *health.Snapshot { return now }, Replays{
		Send: replay, Answered: func(context.Context, string) bool { return answered },
	}, trail),
		func(o *httpapi.Options) { o.Trail = trail })
	const wanted = "/health/replay?stream=triage&reason=wrong_type"
	form := url.Values{"stream": {"triage"}, "reason": {"wrong_type"}, "why": {"the sender is mended"}}
	for name, c := range map[string]struct {
		token, path string
		form        url.Values
		status      int
		has         string
	}{
		"viewer's health": {webtest.Viewer, "/health", nil, 200, "wrong_type"},
		"operator's health": {
			webtest.Operator, "/health", nil, 200,
			`href="/health/replay?stream=triage&amp;reason=wrong_type"`,
		},
		"viewer asks": {webtest.Viewer, wanted, nil, 403, "This requires the role operator, and yours is viewer."},
		"viewer replays": {
			webtest.Viewer, "/health/replay", form, 403, "This requires the role operator, and yours is viewer.",
		},
		"operator asks": {
			webtest.Operator, wanted, nil, 200, "<b>7 notes</b> in <code>triage.notes.dlq</code> will be sent back",
		},
		"another stream": {
			webtest.Operator, "/health/replay?stream=" + webtest.Secret + "&reason=wrong_type", nil, 404,
			"no dead letters of that kind",
		},
		"another reason": {
			webtest.Operator, "/health/replay?stream=triage&reason=" + webtest.Secret, nil, 404,
			"no dead letters of that kind",
		},
		"without a reason": {
			webtest.Operator, "/health/replay",
			url.Values{"stream": {"triage"}, "reason": {"wrong_type"}},
			422,
			"A reason is required",
		},
		"half a form": {
			webtest.Operator, "/health/replay", url.Values{"stream": {"triage"}}, 404, "no dead letters of that kind",
		},
	} {
		if status, _, body := s.Ask(c.token, c.path, c.form); status != c.status || !strings.Contains(body, c.has) ||
			c.token == webtest.Viewer && strings.Contains(body, "Replay…") {
			t.Errorf("%s: %d, want %d with %q:\n%s", name, status, c.status, c.has, body)
		}
	}
	if len(asked) != 2 || asked[0] != "triagewrong_typetrue" || asked[1] != asked[0] {
		t.Errorf("asked for %q", asked)
	}
	if status, header, _ := s.Ask(webtest.Operator, "/health/replay", form); status != http.StatusSeeOther ||
		header.Get("Location") != "/health" || asked[2] != "triagewrong_typefalse" {
		t.Errorf("%d to %s, asked for %q", status, header.Get("Location"), asked)
	}
	died := deadletter.Letter{Time: time.Now(), Reason: msg.MissingField, Attempts: 2}
	for _, c := range []struct {
		died     int
		answered bool // by all scorers, whatever this one has in hand
		at       time.Duration
		want     string
	}{
		{0, true, time.Second, "7 notes wait for an answer, or got one."},
		{2, false, time.Minute, "2 notes died again: missing field. 5 notes wait for an answer, or got one."},
		{2, true, time.Minute, "2 notes died again: missing field. 5 notes were answered."},
		{7, true, time.Minute, "7 notes died again: missing field."},
	} {
		x := &now.Streams[0]
		x.At, x.Lag, answered = time.Now().Add(c.at), 0, c.answered
		x.Tally.Latest = slices.Repeat([]deadletter.Letter{died}, c.died)
		if _, _, page := s.Ask(webtest.Viewer, "/health", nil); !strings.Contains(page, "by <bdi>j.doe</bdi>: "+
			"<bdi>the sender is mended</bdi>. "+c.want) {
			t.Errorf("the page lacks %q:\n%s", c.want, webtest.Plain(page))
		}
	}
	if _, _, page := s.Ask(webtest.Operator, "/audit?changes=1", nil); !strings.Contains(page,
		"sent: 7, why: the sender") || strings.Contains(page, "GET ") {
		t.Errorf("the audit page:\n%s", webtest.Plain(page))
	}
	failure = errors.New("the broker is gone")
	for path, want := range map[string]string{wanted: "cannot be counted", "/health/replay": "Only 7 notes went back"} {
		var sent url.Values
		if path != wanted {
			sent = form
		}
		if status, _, body := s.Ask(webtest.Operator, path, sent); status != http.StatusServiceUnavailable ||
			!strings.Contains(body, want) || strings.Contains(body, failure.Error()) {
			t.Errorf("%s: %d, want 503 with %q:\n%s", path, status, want, body)
		}
	}
	if log := s.Log.String(); !strings.Contains(log, `"stream":"triage","reason":"wrong_type","sent":7`) {
		t.Errorf("the audit log lacks the replay:\n%s", log)
	}
}
