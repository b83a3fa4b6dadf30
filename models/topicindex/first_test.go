package topicindex

import (
	"slices"
	"testing"

	"github.com/wardcast/wardcast/classifier/bundle"
)

func TestFirstSeen(t *testing.T) {
	t.Parallel()
	second, third := breath, breath
	second.day, third.day = 1, 2
	second.notes = append(slices.Clone(notes), "covid test")
	third.notes = second.notes
	third.topics = append(slices.Clone(breath.topics), map[string]float64{"covid": .9})
	third.beta = []float64{1, 1, 1, 1}
	x, _ := filled(t, []planted{breath, falls}, []planted{second}, []planted{third})
	got, err := x.FirstSeen(t.Context(), "covid")
	if err != nil || len(got) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	f := got[0]
	if f.Model != bundle.Other || !f.Vocabulary.CreatedAt.Equal(day0.AddDate(0, 0, 1)) || f.Topic == nil ||
		!f.Topic.CreatedAt.Equal(day0.AddDate(0, 0, 2)) || f.Topic.Topic != 4 {
		t.Errorf("covid: %+v, topic %+v", f, f.Topic)
	}
	got, err = x.FirstSeen(t.Context(), "short of breath")
	if err != nil || len(got) != 2 || got[0].Model != bundle.Other || got[1].Model != "fall" ||
		!got[0].Vocabulary.CreatedAt.Equal(day0) {
		t.Errorf("dyspnea: %+v, %v", got, err)
	}
	for _, word := range []string{"zebra", "", "the", "\xff"} {
		if got, err := x.FirstSeen(t.Context(), word); err != nil || len(got) != 0 {
			t.Errorf("%q: %+v, %v", word, got, err)
		}
	}
}

// The topic returned is the one in which the word weighs most, affirmed before denied, of the first version that
// has it in a topic.
func TestFirstSeenNamesTheHeaviestTopic(t *testing.T) {
	t.Parallel()
	later := planted{
		model: bundle.Other, day: 1, notes: notes, topics: []map[string]float64{{"dyspnea": 1}, {"chest_pain": 1}},
	}
	x, _ := filled(t, []planted{{model: bundle.Other, notes: notes, topics: []map[string]float64{
		{"not:chest_pain": .9, "dyspnea": .1, "cough": .2},
		{"chest_pain": .2, "cough": .9, "dyspnea": -.3},
		{"dyspnea": -.8, "cough": .3},
		{"chest_pain": .3},
	}}}, []planted{later})
	for word, want := range map[string]int{
		"sob": 3, "chest pain": 4, "denies chest pain": 1, "cough": 2, "sob with cough": 2,
	} {
		got, err := x.FirstSeen(t.Context(), word)
		if err != nil || len(got) != 1 || got[0].Topic == nil {
			t.Fatalf("%q: %+v, %v", word, got, err)
		}
		if f := got[0].Topic; f.Topic != want || !f.CreatedAt.Equal(day0) {
			t.Errorf("%q is reported for topic %d of %v, want %d", word, f.Topic, f.CreatedAt, want)
		}
	}
}
