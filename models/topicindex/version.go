package topicindex

import (
	"cmp"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/models"
)

const (
	indexedTerms = 20 // how many words of each sign a topic is found by
	keptForms    = 3  // bounds the forms of a term that the index keeps, the commonest first
)

// Origin says where a topic comes from.
type Origin struct {
	Model      string `json:"model"`
	Version    string `json:"version"`
	Generation string `json:"generation,omitempty"` // as in models.List
	// "_other" for the model of all complaints, "" for a questionnaire
	Complaint string               `json:"complaint"`
	Method    string               `json:"method"`
	Status    models.VersionStatus `json:"status"`
	CreatedAt time.Time            `json:"created_at"`
}

// Topic is a topic with the length of the column of its weights, Euclidean, which is 1 for orthonormal topics.
type Topic struct {
	classifier.Topic
	Length float64
}

// Version is what the index holds of a version of a model.
type Version struct {
	Origin
	Topics     []Topic
	Vocabulary []string // terms, nil for items of a questionnaire, whose forms are read as a note is
}

// id is the name of the version's document.
func (o *Origin) id() string { return o.Model + "/" + o.Version }

// describe returns what the index holds of a version in a store.
func describe(info *models.VersionInfo, b *bundle.Bundle) (*Version, error) {
	m, err := classifier.Load(b)
	if err != nil {
		return nil, err
	}
	columns, err := classifier.BundleTopics(b)
	if err != nil {
		return nil, err
	}
	v := &Version{Vocabulary: []string{}}
	v.Origin = Origin{
		Model: info.Model, Version: info.Version, Complaint: cmp.Or(b.Manifest.Complaint, bundle.Other),
		Method: b.Manifest.Method,
	}
	v.update(info)
	for t, topic := range m.Topics(indexedTerms) {
		for i := range topic.Terms {
			term := &topic.Terms[i]
			term.Surface = term.Surface[:min(len(term.Surface), keptForms)]
		}
		v.Topics = append(v.Topics, Topic{topic, mat.Norm(columns.ColView(t), 2)})
	}
	for _, t := range b.Vocabulary {
		v.Vocabulary = append(v.Vocabulary, t.Text)
	}
	return v, nil
}

// update sets what may change after a version was made.
func (o *Origin) update(info *models.VersionInfo) {
	o.Generation, o.Status, o.CreatedAt = info.Generation, info.Status, info.CreatedAt
}

// entering leaves in each vocabulary only terms that no earlier version of the model has. Some may already be cut so.
func entering(versions []*Version) {
	known := map[string]map[string]struct{}{}
	for _, v := range slices.SortedStableFunc(slices.Values(versions),
		func(a, b *Version) int { return a.CreatedAt.Compare(b.CreatedAt) }) {
		if known[v.Model] == nil {
			known[v.Model] = map[string]struct{}{}
		}
		fresh := []string{}
		for _, term := range v.Vocabulary {
			if _, has := known[v.Model][term]; !has {
				known[v.Model][term] = struct{}{}
				fresh = append(fresh, term)
			}
		}
		v.Vocabulary = fresh
	}
}
