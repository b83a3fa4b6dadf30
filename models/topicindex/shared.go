package topicindex

import (
	"encoding/json"
	"slices"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/models"
)

// sameness is what makes topics of a generation one: models of complaints may have those of all complaints.
type sameness struct {
	Generation  string
	Status      models.VersionStatus
	Method      string
	Topic       int
	Coefficient float64
	Classes     []classifier.ClassCoefficient
	Words       []string
	Weights     []float64
}

// share notes which topics are the same. That of the model of all complaints stands for the others, else the first.
func share(topics []found) error {
	same := map[string][]*found{}
	for i := range topics {
		f := &topics[i]
		if f.origin.Generation == "" {
			continue
		}
		s := sameness{
			Generation: f.origin.Generation, Status: f.origin.Status, Method: f.origin.Method,
			Topic: f.topic.Topic.Topic, Coefficient: f.topic.Coefficient, Classes: f.topic.Coefficients,
		}
		for _, t := range f.topic.Terms {
			s.Words, s.Weights = append(s.Words, t.Term), append(s.Weights, t.Weight)
		}
		key, err := json.Marshal(s)
		if err != nil {
			return err
		}
		same[string(key)] = append(same[string(key)], f)
	}
	for _, group := range same {
		stands := max(slices.IndexFunc(group, func(f *found) bool { return f.origin.Model == bundle.Other }), 0)
		for i, f := range group {
			if i != stands {
				f.shared = true
				group[stands].also = append(group[stands].also, f.origin.Model)
			}
		}
		slices.Sort(group[stands].also)
	}
	return nil
}
