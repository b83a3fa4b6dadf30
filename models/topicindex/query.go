package topicindex

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2"
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
func cut(text string) string {
	if len(text) <= maxQuery {
		return text
	}
	end := maxQuery
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

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
