package topicindex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/query"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/textproc"
)

// ErrFolder is wrapped if the folder of the index cannot be made.
var ErrFolder = errors.New("making the folder of the topic index")

// ErrQuery is wrapped by the errors about a query.
var ErrQuery = errors.New("invalid query")

const (
	// DefaultLimit is the usual number of results.
	DefaultLimit = 10
	// MaxLimit is the greatest number of results.
	MaxLimit = 100
	// MaxOffset is the greatest number of results to pass over.
	MaxOffset = 10_000

	// maxQuery, in bytes, and maxClauses, in terms, bound what is read of a query; the rest is ignored.
	maxQuery   = 500
	maxClauses = 24
	// maxExpansions is how many words a beginning, or a word with a typing error, may stand for, the commonest first,
	// of at most maxCandidates. maxExpanded is for how many words of a query this is tried.
	maxExpansions = 16
	maxCandidates = 2000
	maxExpanded   = 6
	maxMeant      = 3 // how many words a Correction names
	// A beginning of a word has at least minPrefix letters, a word with a typing error minFuzzy.
	minPrefix = 2
	minFuzzy  = 4

	saidBoost   = 2.0  // of what nurses wrote, beside its terms
	partBoost   = 0.3  // of the parts of a concept, beside it
	prefixBoost = 0.5  // of a word that begins as the query's
	fuzzyBoost  = 0.25 // of a word that is one edit from the query's
)

// Ref names a topic.
type Ref struct {
	Model   string
	Version string // "" for the served version, or the newest if none is served
	Topic   int    // from 1
}

// ParseRef reads MODEL/TOPIC or MODEL/VERSION/TOPIC.
func ParseRef(s string) (Ref, error) {
	parts := strings.Split(s, "/")
	if n := len(parts); n == 2 || n == 3 {
		r := Ref{Model: parts[0]}
		if n == 3 {
			r.Version = parts[1]
		}
		if _, err := fmt.Sscanf(parts[n-1]+"\n", "%d\n", &r.Topic); err == nil && r.Topic > 0 && r.Model != "" {
			return r, nil
		}
	}
	return Ref{}, fmt.Errorf("%w: a topic is named MODEL/TOPIC or MODEL/VERSION/TOPIC", ErrQuery)
}

// Query says what to search for. Every text is safe: it has no syntax.
type Query struct {
	// Text is words as a nurse writes them, "" for all topics. Like replaces it by the words of another topic.
	Text string
	Like *Ref

	// These restrict the results to topics that have the value; "" is no restriction.
	Complaint string
	Model     string
	Version   string
	Direction classifier.Direction
	Method    string
	Served    bool // restricts the results to models that are served
	// ServedFirst puts the topics of served models before the others, each of them best first.
	ServedFirst bool

	Limit  int // results, at most MaxLimit; 0 is DefaultLimit
	Offset int // results to pass over, at most MaxOffset
}

// check returns an error that wraps ErrQuery for values out of range.
func (q *Query) check() error {
	switch {
	case q.Limit < 0 || q.Limit > MaxLimit:
		return fmt.Errorf("%w: limit %d, must be 0 to %d", ErrQuery, q.Limit, MaxLimit)
	case q.Offset < 0 || q.Offset > MaxOffset:
		return fmt.Errorf("%w: offset %d, must be 0 to %d", ErrQuery, q.Offset, MaxOffset)
	}
	return nil
}

// wanted returns the values that all results have, in the order of facetFields.
func (q *Query) wanted() [len(facetFields)]string {
	status := ""
	if q.Served {
		status = string(models.ChampionStatus)
	}
	return [...]string{q.Complaint, q.Model, q.Version, string(q.Direction), q.Method, status}
}

// clauses are the parts of a query of which a result matches at least one, without repeats.
type clauses struct {
	queries []query.Query
	seen    map[string]struct{}
}

func (c *clauses) add(field, word string, boost float64) {
	id := field + " " + word
	if _, repeated := c.seen[id]; repeated || word == "" || len(c.queries) == maxClauses {
		return
	}
	c.seen[id] = struct{}{}
	q := term(field, word)
	q.SetBoost(boost)
	c.queries = append(c.queries, q)
}

// cut returns the beginning of a text, whole characters of at most maxQuery bytes.
func cut(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxQuery)], "") }

// textQuery returns what matches topics with some of the words of a text.
func (s *snapshot) textQuery(text string) (query.Query, []Correction) {
	text = cut(text)
	c := &clauses{seen: map[string]struct{}{}}
	c.add(fieldSaid, joined(text), saidBoost)
	var unknown []string
	for _, token := range s.tokens(text) {
		if !s.addToken(c, token) {
			unknown = append(unknown, words(text[token.Start:token.End])...)
		}
	}
	corrections := []Correction{}
	for _, word := range unknown[:min(len(unknown), maxExpanded)] {
		if meant := s.expand(c, word); len(meant) > 0 {
			corrections = append(corrections, Correction{word, meant})
		}
	}
	return anyOf(c.queries), corrections
}

func anyOf(all []query.Query) query.Query {
	if len(all) == 0 {
		return bleve.NewMatchNoneQuery()
	}
	return bleve.NewDisjunctionQuery(all...)
}

// addToken adds the terms of a part of the query, and reports whether a topic has one of them.
func (s *snapshot) addToken(c *clauses, token textproc.Token) bool {
	known := false
	for i, t := range token.Terms {
		boost := 1.0
		if i > 0 {
			boost = partBoost
		}
		// Some findings count as affirmed in every status.
		for _, t := range []string{token.Status.Term(t), t} {
			if _, has := s.words[t]; has {
				c.add(fieldWords, t, boost)
				known = true
				break
			}
		}
	}
	return known
}

// expand adds a clause for the words that begin with a word, or are one edit from it: these it returns.
func (s *snapshot) expand(c *clauses, word string) (meant []string) {
	inner := &clauses{seen: map[string]struct{}{}}
	letters := utf8.RuneCountInString(word)
	if letters >= minPrefix {
		inner.addCommonest(s.formsLike(word, func(string) bool { return true }), prefixBoost)
	}
	if letters >= minFuzzy && len(inner.queries) == 0 {
		_, first := utf8.DecodeRuneInString(word)
		meant = inner.addCommonest(s.formsLike(word[:first], func(text string) bool { return oneEdit(text, word) }),
			fuzzyBoost)
	}
	if len(inner.queries) > 0 && len(c.queries) < maxClauses {
		c.queries = append(c.queries, anyOf(inner.queries))
	}
	return meant[:min(len(meant), maxMeant)]
}

// formsLike returns the first forms with a prefix that a function accepts, at most maxCandidates.
func (s *snapshot) formsLike(prefix string, accept func(string) bool) (all []form) {
	start, _ := slices.BinarySearchFunc(s.forms, prefix, func(f form, p string) int { return cmp.Compare(f.text, p) })
	for _, f := range s.forms[start:] {
		if len(all) == maxCandidates || !strings.HasPrefix(f.text, prefix) {
			break
		}
		if accept(f.text) {
			all = append(all, f)
		}
	}
	return all
}

// oneEdit reports whether a letter changed, added or left out makes one text of the other.
func oneEdit(a, b string) bool {
	x, y := []rune(a), []rune(b)
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	return len(x) <= 1 && len(y) <= 1
}

// addCommonest adds the forms that most topics have, and returns them.
func (c *clauses) addCommonest(all []form, boost float64) (added []string) {
	slices.SortStableFunc(all, func(a, b form) int { return cmp.Compare(b.topics, a.topics) })
	for _, f := range all[:min(len(all), maxExpansions)] {
		c.add(fieldSaid, f.text, boost)
		added = append(added, f.text)
	}
	return added
}

// likeQuery returns what matches topics that share some of the heaviest words of another, with the same sign.
func (s *snapshot) likeQuery(number int) (query.Query, error) {
	src, err := s.source(uint64(number))
	if err != nil {
		return nil, err
	}
	c := &clauses{seen: map[string]struct{}{}}
	for _, t := range src.Topic.Terms[:min(len(src.Topic.Terms), shownTerms)] {
		c.add(fieldWords, signed(&t), math.Abs(t.Weight)/src.Topic.Length)
	}
	return anyOf(c.queries), nil
}

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
		order = append(search.SortOrder{&served{place{facts: s.facts}}}, order...)
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
		src, err := s.unpack(uint64(number), fieldSource, fieldRest)
		if err != nil || src.Topic == nil {
			return nil, cmp.Or(err, errSource)
		}
		return &Result{Origin: src.Origin, Topic: src.Topic.Topic, Also: src.Also}, nil
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
	return search.SortOrder{&search.SortScore{Desc: true}, &place{facts: s.facts}}
}

// run returns so many hits of a query, behind those to pass over.
func (s *snapshot) run(ctx context.Context, q query.Query, order search.SortOrder, limit, offset int,
) (*bleve.SearchResult, error) {
	request := bleve.NewSearchRequestOptions(q, limit, offset, false)
	request.SortByCustom(order)
	found, err := s.index.SearchInContext(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("searching topics: %w", err)
	}
	return found, nil
}
