package topicindex

import (
	"cmp"
	"context"
	"fmt"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/query"

	"github.com/wardcast/wardcast/classifier"
)

const (
	shownTerms  = 10  // how many words a result has, the heaviest
	facetValues = 100 // how many values of a facet are counted out, the commonest first
)

// Result is a topic that was found.
type Result struct {
	Origin
	classifier.Topic
	// Also are other models of the generation with the same topic, unless the query names complaint, model or version.
	Also  []string `json:"also,omitempty"`
	Score float64  `json:"score"`
}

// Facet says how many of all results have a value.
type Facet struct {
	Value string `json:"value"`
	Count int    `json:"count"`
}

// Facets are counts by the values of each field, the commonest first.
type Facets struct {
	Complaint []Facet `json:"complaint"`
	Model     []Facet `json:"model"`
	Version   []Facet `json:"version"`
	Direction []Facet `json:"direction"`
	Method    []Facet `json:"method"`
	Status    []Facet `json:"status"`
}

// Results are the topics that were found, best first. They must not be changed.
type Results struct {
	Total   int      `json:"total"` // before Limit and Offset
	Results []Result `json:"results"`
	Facets  Facets   `json:"facets"`
	// Corrections are the words of the query that no topic has, and the like words that were searched in their place.
	Corrections []Correction `json:"corrections"`
}

// Correction is a word that no topic has, and words of topics one typing error from it, the commonest first.
type Correction struct {
	Word  string   `json:"word"`
	Meant []string `json:"meant"`
}

// Search returns the topics that match a query, best first. The error wraps ErrQuery if the query is at fault, and does
// not quote it. Before the first Refresh it waits for that.
func (x *Index) Search(ctx context.Context, q Query) (*Results, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	return read(ctx, x, func(s *snapshot) (*Results, error) { return s.search(ctx, &q) })
}

func (s *snapshot) search(ctx context.Context, q *Query) (*Results, error) {
	what, corrections, except, err := s.query(q)
	if err != nil {
		return nil, err
	}
	count := newCounter(s.facts, q.wanted(), except)
	order := s.byScore()
	if q.ServedFirst {
		order = append(search.SortOrder{served{place{s.facts}}}, order...)
	}
	found, err := s.run(ctx, query.NewCustomFilterQueryWithFilter(what, count.keep, nil, nil), order,
		cmp.Or(q.Limit, DefaultLimit), q.Offset)
	if err != nil {
		return nil, err
	}
	results := &Results{
		Total: int(found.Total), Results: make([]Result, len(found.Hits)), Facets: count.facets(),
		Corrections: corrections,
	}
	for i, hit := range found.Hits {
		src, err := s.source(hit.IndexInternalID.Value())
		if err != nil {
			return nil, err
		}
		results.Results[i] = Result{Origin: src.Origin, Topic: src.Topic.Topic, Also: src.Also, Score: hit.Score}
	}
	return results, nil
}

// Topic returns a topic of any version, with all words that the index has of it. The error wraps ErrQuery if there is
// none.
func (x *Index) Topic(ctx context.Context, ref Ref) (*Result, error) {
	return read(ctx, x, func(s *snapshot) (*Result, error) {
		number, err := s.facts.find(&ref)
		if err != nil {
			return nil, err
		}
		all, err := s.sources(ctx, query.NewDocIDQuery([]string{s.facts.documents[number].id}), s.byScore())
		if err != nil || len(all) != 1 || all[0].Topic == nil {
			return nil, cmp.Or(err, errSource)
		}
		return &Result{Origin: all[0].Origin, Topic: all[0].Topic.Topic, Also: all[0].Also}, nil
	})
}

// query returns what the words of a query match, and the number of the document to leave out, -1 for none.
func (s *snapshot) query(q *Query) (_ query.Query, _ []Correction, except int, _ error) {
	switch {
	case q.Like != nil:
		number, err := s.facts.find(q.Like)
		if err != nil {
			return nil, nil, -1, err
		}
		like, err := s.likeQuery(number)
		return like, []Correction{}, number, err
	case q.Text != "":
		text, corrections := s.textQuery(q.Text)
		return text, corrections, -1, nil
	}
	return bleve.NewMatchAllQuery(), []Correction{}, -1, nil
}

// first returns what the first document keeps that matches all queries, nil if none does.
func (s *snapshot) first(ctx context.Context, all []query.Query, order search.SortOrder) (*source, error) {
	found, err := s.run(ctx, bleve.NewConjunctionQuery(all...), order, 1, 0)
	if err != nil || len(found.Hits) == 0 {
		return nil, err
	}
	return s.source(found.Hits[0].IndexInternalID.Value())
}

// byScore puts the best first, and of equal ones those of served models and the newest.
func (s *snapshot) byScore() search.SortOrder {
	return search.SortOrder{&search.SortScore{Desc: true}, place{s.facts}}
}

// run returns so many hits of a query, behind those to pass over, with their stored fields if they are named.
func (s *snapshot) run(
	ctx context.Context, q query.Query, order search.SortOrder, limit, offset int, fields ...string,
) (*bleve.SearchResult, error) {
	request := bleve.NewSearchRequestOptions(q, limit, offset, false)
	request.Fields = fields
	request.SortByCustom(order)
	found, err := s.index.SearchInContext(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("searching topics: %w", err)
	}
	return found, nil
}
