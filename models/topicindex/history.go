package topicindex

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"github.com/wardcast/wardcast/models"
)

const sameTopic = 0.5 // the least similarity of topics of two versions that are taken for one

// Step is how one version of a model knows a topic.
type Step struct {
	Result
	// Similarity is the cosine of the weights of the heaviest words, of this step and of the topic whose history it is.
	Similarity float64 `json:"similarity"`
}

// History returns how a topic moved over the versions of its model that were served, and its own, oldest first. Numbers
// of topics may change between versions, so topics are matched by their words: a step is the topic of the version whose
// ten heaviest words, with their weights and signs, are most alike. A version without one of a similarity of at least
// 0.5 has no step. The error wraps ErrQuery if there is no such topic.
func (x *Index) History(ctx context.Context, ref Ref) ([]Step, error) {
	return read(ctx, x, func(s *snapshot) ([]Step, error) { return s.history(ctx, &ref) })
}

func (s *snapshot) history(ctx context.Context, ref *Ref) ([]Step, error) {
	number, err := s.find(ref)
	if err != nil {
		return nil, err
	}
	self, err := s.source(uint64(number))
	if err != nil {
		return nil, err
	}
	weights, best := weightsOf(self.Topic), map[string]Step{}
	for i := range s.facts.documents {
		d := &s.facts.documents[i]
		status := models.VersionStatus(s.facts.value(d, statusFacet))
		served := status == models.ChampionStatus || status == models.SupersededStatus
		version := s.facts.value(d, versionFacet)
		if !d.topic || s.facts.value(d, modelFacet) != self.Origin.Model || !served && version != self.Origin.Version {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		src, err := s.source(uint64(i))
		if err != nil {
			return nil, err
		}
		if c := cosine(weights, weightsOf(src.Topic)); c >= sameTopic && c > best[version].Similarity {
			best[version] = Step{Result{Origin: src.Origin, Topic: src.Topic.Topic}, c}
		}
	}
	steps := slices.AppendSeq([]Step{}, maps.Values(best))
	slices.SortFunc(steps, func(a, b Step) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Version, b.Version))
	})
	return steps, nil
}

// weightsOf returns the weights of the words of a topic that a result shows, scaled to length 1.
func weightsOf(t *Topic) map[string]float64 {
	weights, squares := make(map[string]float64, shownTerms), 0.0
	for _, term := range t.Terms[:min(len(t.Terms), shownTerms)] {
		weights[term.Term] = term.Weight
		squares += term.Weight * term.Weight
	}
	for term := range weights {
		weights[term] /= math.Sqrt(squares)
	}
	return weights
}

// cosine returns that of two vectors of length 1, to six decimals: the order of the sum is not fixed.
func cosine(a, b map[string]float64) float64 {
	sum := 0.0
	for term, w := range a {
		sum += w * b[term]
	}
	return math.Round(sum*1e6) / 1e6
}
