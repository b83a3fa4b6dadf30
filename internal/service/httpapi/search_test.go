package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/models/topicindex"
)

// topics stands in for an index of topics.
type topics struct {
	query topicindex.Query
	word  string
	ref   topicindex.Ref
	err   error
}

func (t *topics) Search(_ context.Context, q topicindex.Query) (*topicindex.Results, error) {
	t.query = q
	return &topicindex.Results{}, t.err
}

func (t *topics) FirstSeen(_ context.Context, word string) ([]topicindex.First, error) {
	t.word = word
	return []topicindex.First{}, t.err
}

func (t *topics) History(_ context.Context, ref topicindex.Ref) ([]topicindex.Step, error) {
	t.ref = ref
	return []topicindex.Step{}, t.err
}

func TestSearch(t *testing.T) {
	t.Parallel()
	a := &topics{}
	s := newSite(t, func(o *httpapi.Options) { o.Topics = a })
	value[any](s, "search", s.ask(
		"GET /v1/topics/search?q=hip+pain&complaint=Fall&direction=admission&served=true&limit=3&offset=6", "", nil))
	same(t, "query", topicindex.Query{
		Text: "hip pain", Complaint: "Fall", Direction: "admission", Served: true, Limit: 3, Offset: 6,
	}, a.query)
	value[any](s, "search", s.ask("GET /v1/topics/search?q=hip", "", nil))
	same(t, "defaults", topicindex.Query{Text: "hip", Limit: 10}, a.query)
	value[any](s, "like", s.ask("GET /v1/topics/search?like=_other/7", "", nil))
	same(t, "like", topicindex.Query{Like: &topicindex.Ref{Model: "_other", Topic: 7}, Limit: 10}, a.query)
	value[any](s, "first seen", s.ask("GET /v1/topics/first-seen?word=glf", "", nil))
	same(t, "word", "glf", a.word)
	value[any](s, "history", s.ask("GET /v1/topics/history?topic=fall/2026/3", "", nil))
	same(t, "topic", topicindex.Ref{Model: "fall", Version: "2026", Topic: 3}, a.ref)
	for _, bad := range []string{
		"search", "search?q=", "search?q=hip&like=_other/1", "search?like=hip", "search?like=/1", "search?like=a/0",
		"search?q=hip&limit=0", "first-seen", "first-seen?word=+",
		"first-seen?q=hip", "history", "history?topic=hip", "history?topic=" + strings.Repeat("x", 500) + "/1",
	} {
		same(t, "code", "bad_parameter", s.problem(bad, s.ask("GET /v1/topics/"+bad, "", nil), http.StatusBadRequest))
	}
	a.err = fmt.Errorf("%w: no such topic", topicindex.ErrQuery)
	same(t, "code", "bad_parameter", s.problem("unknown topic", s.ask("GET /v1/topics/search?like=a/1", "", nil),
		http.StatusBadRequest))
	a.err = errors.New("the disk is gone")
	same(t, "code", "unavailable", s.problem("no index", s.ask("GET /v1/topics/search?q=hip", "", nil),
		http.StatusServiceUnavailable))
}

// TestSearchIsDescribed holds real answers of an index against the document.
func TestSearchIsDescribed(t *testing.T) {
	t.Parallel()
	o := readOpenAPI(t)
	var index *topicindex.Index
	s := newSite(t, func(o *httpapi.Options) {
		index = topicindex.New(topicindex.Config{Store: o.Triage.Store, Folder: filepath.Join(t.TempDir(), "index")})
		o.Topics = index
	})
	defer func() {
		if err := index.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := index.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"search?q=hipp": `"corrections":[{"word":"hipp","meant":["hip","hips"]}]`, "search?like=" + bundle.Other +
			"/1": `"total":2`,
		"first-seen?word=hips": `"topic":{"version":`, "history?topic=" + bundle.Other + "/1": `"similarity":1`,
	} {
		got := s.ask("GET /v1/topics/"+path, "", nil)
		name, _, _ := strings.Cut(path, "?")
		_, pointer := o.at("paths", "/v1/topics/"+name, "get", "responses", fmt.Sprint(got.status), "content",
			"application/json")
		o.check(path, pointer, []byte(got.body))
		if got.status != http.StatusOK || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d %s, want %s", path, got.status, got.body, want)
		}
	}
}
