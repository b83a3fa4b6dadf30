// Package factors makes topics of the factors of questionnaires, for the topic index.
package factors

import (
	"cmp"
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/topicindex"
	"github.com/wardcast/wardcast/textproc"
)

const (
	// heaviest is the number of items by which a factor is found, labelItems the number of items in its name.
	heaviest   = 40
	labelItems = 3
)

// Source returns a function that reads the models in output folders of fits. Its error names the unreadable ones.
func Source(folders []string) func(context.Context) ([]*topicindex.Version, error) {
	return func(context.Context) ([]*topicindex.Version, error) {
		var all []*topicindex.Version
		var errs []error
		for _, folder := range folders {
			m, err := model.Load(folder)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			all = append(all, Describe(filepath.Base(folder), m))
		}
		return all, errors.Join(errs...)
	}
}

// Describe returns a model with its factors as topics. The items are the words, in the language of their texts.
func Describe(name string, m *model.Model) *topicindex.Version {
	v := &topicindex.Version{Origin: topicindex.Origin{
		Model: name, Version: bundle.VersionName(m.CreatedAt, m.SHA256), Method: m.Summary.Method,
		Status: models.ChampionStatus, CreatedAt: m.CreatedAt,
	}}
	_, k := m.Loadings().Dims()
	for f := range k {
		column := mat.Col(nil, f, m.Loadings())
		t := topicindex.Topic{Length: mat.Norm(mat.NewVecDense(len(column), column), 2)}
		if t.Length == 0 {
			continue // an empty factor has no words
		}
		t.Topic = classifier.Topic{Topic: f + 1, Direction: classifier.Nowhere, Terms: []classifier.TopicTerm{}}
		for i, loading := range column {
			item := m.Items[i]
			t.Terms = append(t.Terms, classifier.TopicTerm{
				Term: item.Name, Surface: []string{cmp.Or(item.Text, item.Name)}, Status: textproc.Affirmed.String(),
				Weight: loading,
			})
		}
		slices.SortStableFunc(t.Terms,
			func(a, b classifier.TopicTerm) int { return cmp.Compare(math.Abs(b.Weight), math.Abs(a.Weight)) })
		t.Terms = slices.Clip(t.Terms[:min(len(t.Terms), heaviest)])
		t.Label = strings.Join(lists.Map(t.Terms[:min(len(t.Terms), labelItems)],
			func(term classifier.TopicTerm) string { return term.Term }), ", ")
		v.Topics = append(v.Topics, t)
	}
	return v
}
