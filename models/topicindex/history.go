package topicindex

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/query"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/textproc"
)

const sameTopic = 0.5 // the least similarity of topics of two versions that are taken for one

// Step is how one version of a model knows a topic.
type Step struct {
	Result
	// Similarity is the cosine of the weights of the heaviest words, of this step and of the topic whose history it is.
	Similarity float64 `json:"similarity"`
}

// History returns how a topic moved over the versions of its model that were served, and its own, oldest first. Numbers
// of topics may change between versions, so topics are matched by their words: a step is the most similar topic of a
// version by its ten heaviest words with weights and signs, if their similarity is 0.5 or more. The error wraps
// ErrQuery if there is no such topic.
func (x *Index) History(ctx context.Context, ref Ref) ([]Step, error) {
	return read(ctx, x, func(s *snapshot) ([]Step, error) { return s.history(ctx, &ref) })
}

func (s *snapshot) history(ctx context.Context, ref *Ref) ([]Step, error) {
	number, err := s.facts.find(ref)
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

// First says since when a model knows a word.
type First struct {
	Model string `json:"model"`
	// Vocabulary is the first version that has the word. It knew the word, which need not be among a topic's heaviest.
	Vocabulary FirstVersion `json:"vocabulary"`
	// Topic is from the first version that has the word among the heaviest of a topic: the topic in which it weighs
	// most, by either sign and first of all in the status of the query; nil if there is none.
	Topic *FirstTopic `json:"topic"`
}

// FirstVersion is the first version that has a word.
type FirstVersion struct {
	Version   string    `json:"version"`
	CreatedAt time.Time `json:"created_at"`
}

// FirstTopic is the first topic that has a word.
type FirstTopic struct {
	FirstVersion
	Topic int    `json:"topic"`
	Label string `json:"label"`
}

// FirstSeen returns since when each model knows a word, the earliest first. Of several words, all must occur together.
func (x *Index) FirstSeen(ctx context.Context, word string) ([]First, error) {
	return read(ctx, x, func(s *snapshot) ([]First, error) { return s.firstSeen(ctx, word) })
}

func (s *snapshot) firstSeen(ctx context.Context, word string) ([]First, error) {
	all := []First{}
	// A version's name begins with its time.
	oldest := search.ParseSortOrderStrings([]string{fieldVersion, "_id"})
	terms := s.terms(word)
	if terms == nil {
		return all, nil
	}
	vocabulary, topics := allOf(fieldVocabulary, terms), allOf(fieldWords, terms)
	for _, model := range s.facts.values[modelFacet] {
		of := term(fieldModel, model)
		version, err := s.first(ctx, append(vocabulary, of), oldest)
		if err != nil {
			return nil, err
		}
		if version == nil {
			continue
		}
		f := First{Model: model, Vocabulary: FirstVersion{version.Origin.Version, version.Origin.CreatedAt}}
		topic, err := s.first(ctx, append(topics, of), oldest)
		if err == nil && topic != nil {
			topic, err = s.heaviest(ctx, append(topics, of, term(fieldVersion, topic.Origin.Version)), terms)
		}
		if err != nil {
			return nil, err
		}
		if topic != nil {
			f.Topic = &FirstTopic{
				FirstVersion{topic.Origin.Version, topic.Origin.CreatedAt}, topic.Topic.Topic.Topic, topic.Topic.Label,
			}
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b First) int {
		return cmp.Or(a.Vocabulary.CreatedAt.Compare(b.Vocabulary.CreatedAt), cmp.Compare(a.Model, b.Model))
	})
	return all, nil
}

func (s *snapshot) terms(text string) (all []string) {
	for _, token := range s.tokens(cut(text)) {
		if len(all) < maxClauses && len(token.Terms) > 0 {
			all = append(all, token.Status.Term(token.Terms[0]))
		}
	}
	return all
}

// allOf returns queries for terms, all of which must match in a field.
func allOf(field string, terms []string) []query.Query {
	return lists.Map(terms, func(t string) query.Query { return term(field, t) })
}

// heaviest returns the topic in which terms weigh most, of those that match all queries; nil if none does.
func (s *snapshot) heaviest(ctx context.Context, all []query.Query, terms []string) (*source, error) {
	// The items of a questionnaire have these terms only in their texts: the score decides.
	topics, err := s.sources(ctx, bleve.NewConjunctionQuery(all...), s.byScore())
	if err != nil || len(topics) == 0 {
		return nil, err
	}
	slices.SortStableFunc(topics, func(a, b source) int {
		inA, inB := weightIn(a.Topic, terms), weightIn(b.Topic, terms)
		return cmp.Or(cmp.Compare(inB.terms, inA.terms), cmp.Compare(inB.own, inA.own),
			cmp.Compare(inB.other, inA.other))
	})
	return &topics[0], nil
}

type weight struct {
	terms      int     // that it has in their own statuses
	own, other float64 // sums of |weight|, in their own and in other statuses
}

func weightIn(t *Topic, terms []string) (sum weight) {
	for i := range t.Terms {
		has, w := t.Terms[i].Term, math.Abs(t.Terms[i].Weight)
		if slices.Contains(terms, has) {
			sum.terms, sum.own = sum.terms+1, sum.own+w
			continue
		}
		if _, text := textproc.StatusOf(has); slices.Contains(terms, text) {
			sum.other += w
		}
	}
	return sum
}
