package httpapi_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/scoring"
)

var scoredAt = regexp.MustCompile(`"scored_at":"[^"]*"`)

// TestPredict: an answer has the bytes of a line of predict.
func TestPredict(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	for _, n := range []string{note, `{"visit_id":"a","text":"no hip pain"}`, `{"schema_version":"1.7","visit_id":7,` +
		`"text":"nothing known","age":null,"x":[]}`, strings.Replace(note, `"visit_id"`, ` "visit_id" `, 1)} {
		var line bytes.Buffer
		counts, err := s.set.Load().Predict(t.Context(), s.options.Triage.Explain,
			scoring.Batch{Lines: strings.NewReader(n), Out: &line})
		if err != nil {
			t.Fatal(err)
		}
		got := s.ask("POST /v1/predictions", n, nil)
		if counts.Scored == 0 {
			s.problem(n, got, http.StatusUnprocessableEntity)
			continue
		}
		if got.status != http.StatusOK || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("%+v", got)
		}
		same(t, "prediction", scoredAt.ReplaceAllString(line.String(), ""), scoredAt.ReplaceAllString(got.body, ""))
	}
	// The next generation is used once it is there.
	before := s.ask("POST /v1/predictions", note, nil)
	s.ask("POST /v1/rollback", reason, nil)
	s.load()
	if after := s.ask("POST /v1/predictions", note, nil); after.status != 200 ||
		scoredAt.ReplaceAllString(after.body, "") == scoredAt.ReplaceAllString(before.body, "") {
		t.Errorf("the former generation answers: %+v", after)
	}
}

func TestPredictRefuses(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	replaced := func(old, by string) string { return strings.Replace(note, old, by, 1) }
	for name, c := range map[string]struct {
		body   string
		status int
		code   string
	}{
		"not JSON":         {"x" + secret, 400, "not_json"},
		"cut":              {note[:50], 400, "not_json"},
		"two notes":        {note + note, 400, "not_json"},
		"deep":             {strings.Repeat("[", 100000), 400, "not_json"},
		"mark":             {"\ufeff" + note, 400, "not_json"},
		"an array":         {"[]", 422, "wrong_type"},
		"age in words":     {replaced(`"text"`, `"age":"`+secret+`","text"`), 422, "wrong_type"},
		"no text":          {`{"visit_id":"` + secret + `"}`, 422, "missing_field"},
		"blank text":       {replaced("hip pain "+secret, " "), 422, "empty_text"},
		"Latin-1":          {replaced("hip", "\xff"), 400, "invalid_utf8"},
		"version 2":        {replaced(`"1"`, `"2"`), 422, "unknown_schema_version"},
		"long text":        {replaced("hip", strings.Repeat("h", 65<<10)), 413, "too_large"},
		"very long body":   {replaced("hip", strings.Repeat("h", 600<<10)), 413, "too_large"},
		"a long complaint": {replaced("Chest", strings.Repeat("h", 5000)), 413, "too_large"},
	} {
		same(t, name, c.code, s.problem(name, s.ask("POST /v1/predictions", c.body, nil), c.status))
	}
	for _, kind := range []string{
		"text/html", "application/xml", "multipart/form-data", "application/x-www-form-urlencoded", ";",
	} {
		same(t, kind, "wrong_media_type", s.problem(kind,
			s.ask("POST /v1/predictions", note, with(nil, "Content-Type", kind)), http.StatusUnsupportedMediaType))
	}
	s.problem("empty", s.ask("POST /v1/predictions", "", with(nil, "Content-Type", "application/json")),
		http.StatusBadRequest)
	if got := s.ask("POST /v1/predictions", `{"visit_id":"a"}`, nil); !strings.Contains(got.body, `"field":"text"`) {
		t.Errorf("the problem does not name the field: %s", got.body)
	}
}

// FuzzBody: no body gives a 5xx, or an answer that quotes it.
func FuzzBody(f *testing.F) {
	s := newSite(f, nil)
	for _, body := range []string{
		note, reason, "", "null", "{}", `{"reason":1}`,
		`{"reason":"` + secret + `","to":"` + secret + `"}`, note[:40], strings.Repeat("[", 1000),
	} {
		f.Add("/v1/predictions", body)
		f.Add("/v1/rollback", body)
		f.Add("/v1/generations/"+secret+"/promote", body)
	}
	f.Fuzz(func(t *testing.T, path, body string) { checkAnswer(t, s.api, http.MethodPost, path, body) })
}

// FuzzPath: no path gives a 5xx that is not meant.
func FuzzPath(f *testing.F) {
	s := newSite(f, nil)
	for _, path := range []string{
		"/", "/v1/models/%2e%2e/topics", "/v1/topics/search?q=%ff", "/v1/bed-demand?at=x",
		"//", "/v1/models/_other/topics?terms=3", "/v1/predictions?a=%",
	} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) { checkAnswer(t, s.api, http.MethodGet, path, "") })
}

func checkAnswer(t *testing.T, api *httpapi.API, method, path, body string) {
	t.Helper()
	got, ok := direct(t, api, method, path, body)
	if ok && got.status >= 500 && got.status != http.StatusNotImplemented {
		t.Errorf("%s %q %q: %+v", method, path, body, got)
	}
	if ok && got.status >= 400 && (got.header.Get("Content-Type") != "application/problem+json" ||
		strings.Contains(got.body, secret)) {
		t.Errorf("%s %q %q: %+v", method, path, body, got)
	}
}

// TestRandomBytes turns bytes of a good note, over a real connection.
func TestRandomBytes(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	random := rand.New(rand.NewPCG(1, 2))
	refused := 0
	for i := range 300 {
		b := []byte(note)
		for range 1 + random.IntN(10) {
			b[random.IntN(len(b))] = byte(random.IntN(256))
		}
		got := s.ask("POST /v1/predictions", string(b), nil)
		if got.status >= 500 {
			t.Fatalf("%d: %q: %+v", i, b, got)
		}
		if got.status >= 400 {
			refused++
			s.problem(fmt.Sprintf("%q", b), got, got.status)
		}
	}
	if refused < 100 {
		t.Errorf("%d of 300 refused", refused)
	}
}
