package topicindex

import (
	"errors"
	"slices"
	"testing"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/models"
)

// TestServedFirst: topics of versions that are not served stand behind all that are, however well they match.
func TestServedFirst(t *testing.T) {
	t.Parallel()
	x, _ := filled(t, []planted{breath, falls}, []planted{falls})
	all := func(q Query) (statuses []models.VersionStatus, scores []float64) {
		t.Helper()
		r, err := x.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.Results {
			statuses, scores = append(statuses, r.Results[i].Status), append(scores, r.Results[i].Score)
		}
		return statuses, scores
	}
	served := func(s models.VersionStatus) bool { return s == models.ChampionStatus }
	best, byScore := all(Query{Text: "dyspnea laceration hip", Limit: MaxLimit})
	first, _ := all(Query{Text: "dyspnea laceration hip", Limit: MaxLimit, ServedFirst: true})
	slices.Reverse(byScore)
	if !slices.IsSorted(byScore) || len(first) != len(best) {
		t.Errorf("%v, by score %v with %v", first, best, byScore)
	}
	at := slices.IndexFunc(first, func(s models.VersionStatus) bool { return !served(s) })
	if at < 1 || slices.ContainsFunc(first[at:], served) {
		t.Errorf("statuses %v, want the served first and others behind", first)
	}
}

// TestTopic: a topic of any version is there with all words that the index has of it.
func TestTopic(t *testing.T) {
	t.Parallel()
	x, _ := usual(t)
	got, err := x.Topic(t.Context(), Ref{Model: bundle.Other, Topic: 1})
	if err != nil || got.Model != bundle.Other || got.Topic.Topic != 1 || len(got.Terms) == 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := x.Topic(t.Context(), Ref{Model: "nobody", Topic: 1}); !errors.Is(err, ErrQuery) {
		t.Errorf("no such topic: %v", err)
	}
}
