package web

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/ingest/deadletter"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/service/health"
	"github.com/wardcast/wardcast/solver/icqf"
)

// someHealth returns an hour with a gap, after which notes wait.
func someHealth() *health.Snapshot {
	at := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	now := health.Point{At: at, Lag: 1240, Age: 130, Rate: 0, P99: math.NaN()}
	status := health.Status{
		Stream: health.Stream{Name: "triage", Noun: "note", DeadLetters: "triage.notes.dlq", Generation: func() string { return "g1" }},
		Point:  now, LastAnswer: at.Add(-2 * time.Minute),
		Partitions: []health.Partition{{ID: "1", Lag: 1200}, {ID: "0", Lag: 40}},
		Letters:    []health.Letters{{Reason: "wrong_type", Count: 12, Newest: at.Add(-time.Hour)}, {Reason: "other", Count: 1}},
	}
	for i := range 59 {
		p := health.Point{At: at.Add(time.Duration(i-60) * time.Minute), Lag: float64(i % 7), Rate: 12.25 + float64(i%5), P99: 0.03 + 0.01*float64(i%3)}
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

// someQuestionnaires returns one with a cross-validation, and one with many items and without.
func someQuestionnaires() []Questionnaire {
	mood := &model.Model{
		Items: []questionnaire.Item{{Name: "q1", Text: "I have trouble <b>sleeping"}, {Name: "q2", Reversed: true}, {Name: "q3"}},
		ICQF:  icqf.Model{Loadings: mat.NewDense(3, 2, []float64{.1, 1.25, .904, 0, .2, .3})},
		Summary: model.Summary{
			Method: "icqf", Factors: 2, Beta: 0.1, Participants: 1612, Missing: 0.083, Explained: 0.54, OneStandardErrorFactors: 2, Warnings: []string{"Few participants."},
			BCV: []model.Point{
				{Candidate: model.Candidate{Factors: 1, Beta: 0.1}, Error: 0.5, StandardError: 0.01},
				{Candidate: model.Candidate{Factors: 2, Beta: 0.1}, Error: 0.41, StandardError: 0.02},
				{Candidate: model.Candidate{Factors: 3, Beta: 0.1}, Error: 0.4, StandardError: 0.02},
				{Candidate: model.Candidate{Factors: 2, Beta: 1}, Error: 0.45, StandardError: 0.02},
			},
			FactorFits: []model.FactorFit{{Absent: 0.1, High: 0.2}, {Absent: 0.3, High: 0.05}},
			Settings:   model.Settings{Input: secret + ".csv", Range: questionnaire.Range{Low: 0, High: 4}},
		},
		ID: secret,
	}
	const items, factors = 120, 10
	big := &model.Model{ICQF: icqf.Model{Loadings: mat.NewDense(items, factors, nil)}, Summary: model.Summary{Factors: factors, FactorFits: make([]model.FactorFit, factors)}}
	for j := range items {
		big.Items = append(big.Items, questionnaire.Item{Name: fmt.Sprintf("item_%d", j), Text: fmt.Sprintf("What was asked as number %d of the questionnaire", j)})
		big.ICQF.Loadings.Set(j, j%factors, 1+float64(j%17)/10)
		big.ICQF.Loadings.Set(j, (j+3)%factors, float64(j%13)/20)
	}
	return []Questionnaire{{msg.Model{Name: "mood", Version: "v1"}, mood}, {msg.Model{Name: "survey", Version: "v2"}, big}}
}

// TestOperatorPages draws Health and Questionnaires.
func TestOperatorPages(t *testing.T) {
	t.Parallel()
	p := pages(t, false)
	chosen := someQuestionnaires()[0]
	for name, data := range map[string]any{
		"health":         newHealthPage(someHealth()),
		"questionnaires": &questionnairesPage{Chosen: newQuestionnaireView(&chosen, 1), CSV: "/c", JSON: "/j", Factor: 1, Switches: []choice{{"/1", "1", true}, {"/2", "2", false}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			if err := p.templates[name].ExecuteTemplate(&out, "page", data); err != nil {
				t.Fatal(err)
			}
			golden(t, name, []byte(out.String()))
			if strings.Contains(out.String(), secret) || strings.Contains(out.String(), "<b>sleeping") {
				t.Error("the page tells where the answers are from, or shows a text as it came")
			}
		})
	}
}

// TestLoadings: a questionnaire's loadings are there in full, and only under its own name.
func TestLoadings(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, c := range []struct {
		path   string
		status int
		has    string
	}{
		{"/questionnaires.csv?name=mood", 200, "item,factor1,factor2\nq1,0.1,1.25\n"},
		{"/questionnaires.json?name=mood", 200, `{"item":"q3","loadings":[0.2,0.3]}`},
		{"/questionnaires?name=mood&factor=2", 200, `aria-current="true"><span class="vh">Factor </span>2<`},
		{"/questionnaires?name=mood&factor=99", 200, `aria-current="true"><span class="vh">Factor </span>1<`},
		{"/questionnaires?name=" + secret, 404, "No questionnaire of that name"},
		{"/questionnaires.csv?name=" + secret, 404, "No questionnaire of that name"},
		{"/health.csv", 200, "2026-11-20T08:00:00Z,triage,1240,130,0,\n"},
	} {
		if status, _, body := s.ask(viewerToken, c.path, nil); status != c.status || !strings.Contains(body, c.has) || strings.Contains(body, secret) {
			t.Errorf("%s: %d, want %d with %q:\n%s", c.path, status, c.status, c.has, body)
		}
	}
	empty := pages(t, false)
	for path, c := range map[string]struct {
		handler func(http.ResponseWriter, *http.Request)
		status  int
	}{"/questionnaires": {empty.questionnaires, 200}, "/questionnaires.csv": {empty.loadingsCSV, 404}, "/questionnaires.json": {empty.loadingsJSON, 404}} {
		w := httptest.NewRecorder()
		if c.handler(w, httptest.NewRequestWithContext(t.Context(), "GET", path, http.NoBody)); w.Code != c.status {
			t.Errorf("%s without questionnaires: %d, want %d", path, w.Code, c.status)
		}
	}
}

// TestReplay: operators send dead letters of one reason back, after they saw how many; nobody else does.
func TestReplay(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var asked []string
	failure := error(nil)
	s.pages.options.Replay = func(_ context.Context, stream string, reason msg.Reason, dryRun bool) (deadletter.Sent, error) {
		asked = append(asked, fmt.Sprint(stream, reason, dryRun))
		return deadletter.Sent{Sent: 7, Exhausted: 1}, failure
	}
	const wanted = "/health/replay?stream=triage&reason=wrong_type"
	form := url.Values{"stream": {"triage"}, "reason": {"wrong_type"}}
	for name, c := range map[string]struct {
		token, path string
		form        url.Values
		status      int
		has         string
	}{
		"viewer's health":   {viewerToken, "/health", nil, 200, "wrong_type"},
		"operator's health": {operatorToken, "/health?replayed=7", nil, 200, `href="/health/replay?stream=triage&amp;reason=wrong_type"`},
		"viewer asks":       {viewerToken, wanted, nil, 403, "wrong_role"},
		"viewer replays":    {viewerToken, "/health/replay", form, 403, "wrong_role"},
		"operator asks":     {operatorToken, wanted, nil, 200, "<b>7 notes</b> in <code>triage.notes.dlq</code> will be sent back"},
		"another stream":    {operatorToken, "/health/replay?stream=" + secret + "&reason=wrong_type", nil, 404, "no dead letters of that kind"},
		"another reason":    {operatorToken, "/health/replay?stream=triage&reason=" + secret, nil, 404, "no dead letters of that kind"},
		"half a form":       {operatorToken, "/health/replay", url.Values{"stream": {"triage"}}, 404, "no dead letters of that kind"},
	} {
		if status, _, body := s.ask(c.token, c.path, c.form); status != c.status || !strings.Contains(body, c.has) || c.token == viewerToken && strings.Contains(body, "Replay…") {
			t.Errorf("%s: %d, want %d with %q:\n%s", name, status, c.status, c.has, body)
		}
	}
	if len(asked) != 1 || asked[0] != "triagewrong_typetrue" {
		t.Errorf("asked for %q", asked)
	}
	if status, header, _ := s.ask(operatorToken, "/health/replay", form); status != http.StatusSeeOther || header.Get("Location") != "/health?replayed=7" || asked[1] != "triagewrong_typefalse" {
		t.Errorf("%d to %s, asked for %q", status, header.Get("Location"), asked)
	}
	failure = errors.New("the broker is gone")
	for path, want := range map[string]string{wanted: "cannot be counted", "/health/replay": "Only 7 notes went back"} {
		var sent url.Values
		if path != wanted {
			sent = form
		}
		if status, _, body := s.ask(operatorToken, path, sent); status != http.StatusServiceUnavailable || !strings.Contains(body, want) || strings.Contains(body, failure.Error()) {
			t.Errorf("%s: %d, want 503 with %q:\n%s", path, status, want, body)
		}
	}
	if log := s.log.String(); !strings.Contains(log, `"stream":"triage","reason":"wrong_type","sent":7`) {
		t.Errorf("the audit log lacks the replay:\n%s", log)
	}
}
