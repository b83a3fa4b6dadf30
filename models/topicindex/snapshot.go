package topicindex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/query"
	index "github.com/blevesearch/bleve_index_api"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/textproc"
)

type snapshot struct {
	key   string // of the versions in it
	index bleve.Index
	own   string // folder to remove when it is closed, "" for none
	users sync.WaitGroup

	words map[string]struct{} // terms that topics have
	forms []form              // what nurses wrote for them, in order
	facts *facts
	kept  []atomic.Pointer[source] // by number of the document; nil until somebody asks for it

	reading sync.Mutex // of reader, which takes some microseconds for a query
	reader  *textproc.Transformer
}

// lockTimeout bounds how long an index may wait for the lock of its file, which nobody holds who only reads.
const lockTimeout = "1s"

func openSnapshot(path, key string) (s *snapshot, err error) {
	if err := checkSums(path); err != nil {
		return nil, err
	}
	err = recovered(func() error {
		s, err = readSnapshot(path, key)
		return err
	})
	return s, err
}

// readSnapshot opens a sound index, and reads all that bleve would read in goroutines, where a fault ends the process.
func readSnapshot(path, key string) (_ *snapshot, err error) {
	idx, err := bleve.OpenUsing(path, map[string]any{"read_only": true, "bolt_timeout": lockTimeout})
	if err != nil {
		return nil, fmt.Errorf("opening the index: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, idx.Close())
		}
	}()
	s := &snapshot{key: key, index: idx}
	data, err := idx.GetInternal(textKey)
	var text textproc.Settings
	if err == nil {
		err = json.Unmarshal(data, &text)
	}
	if err != nil {
		return nil, fmt.Errorf("reading what the index says of itself: %w", err)
	}
	if s.reader, err = textproc.Reader(text); err != nil {
		return nil, err
	}
	advanced, err := idx.Advanced()
	if err == nil {
		err = s.readWords(advanced)
	}
	if err == nil {
		s.facts, err = readFacts(advanced)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the index: %w", err)
	}
	s.kept = make([]atomic.Pointer[source], len(s.facts.documents))
	return s, nil
}

// source returns what a document keeps, with the words that are shown. It is unpacked once, and must not change.
func (s *snapshot) source(number uint64) (*source, error) {
	if src := s.kept[number].Load(); src != nil {
		return src, nil
	}
	src, err := s.unpack(number, fieldSource)
	if err == nil {
		s.kept[number].Store(src)
	}
	return src, err
}

// errSource is returned for a document that is not what build wrote.
var errSource = errors.New("a document of the index is damaged")

// unpack returns what these stored fields of a document keep: fieldSource, or fieldRest too.
func (s *snapshot) unpack(number uint64, fields ...string) (*source, error) {
	d, err := s.index.Document(s.facts.documents[number].id)
	if err != nil {
		return nil, fmt.Errorf("reading the index: %w", err)
	}
	if d == nil {
		return nil, fmt.Errorf("%w: number %d", errSource, number)
	}
	src, rest, sound := &source{}, []classifier.TopicTerm(nil), errors.New("it keeps nothing")
	d.VisitFields(func(f index.Field) {
		switch name := f.Name(); {
		case !slices.Contains(fields, name):
		case name == fieldRest:
			err = json.Unmarshal(f.Value(), &rest)
		default:
			sound = json.Unmarshal(f.Value(), src)
		}
	})
	if err := errors.Join(err, sound); err != nil {
		return nil, fmt.Errorf("%w: %w", errSource, err)
	}
	if src.Topic != nil {
		src.Topic.Terms = append(src.Topic.Terms, rest...)
	}
	return src, nil
}

// form is a word of fieldSaid.
type form struct {
	text   string
	topics uint64 // that have it
}

// readWords fills s.words and s.forms, and lets bleve count the words of each field, by which it scores.
func (s *snapshot) readWords(advanced index.Index) (err error) {
	r, err := advanced.Reader()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	s.words = map[string]struct{}{}
	err = errors.Join(
		eachWord(r, fieldWords, func(e *index.DictEntry) { s.words[e.Term] = struct{}{} }),
		eachWord(r, fieldSaid, func(e *index.DictEntry) { s.forms = append(s.forms, form{e.Term, e.Count}) }),
	)
	if counts, ok := r.(index.BM25Reader); ok && err == nil {
		for _, field := range []string{fieldKind, fieldModel, fieldVersion, fieldVocabulary, fieldWords, fieldSaid} {
			_, counted := counts.FieldCardinality(field)
			err = errors.Join(err, counted)
		}
	}
	return err
}

func eachWord(r index.IndexReader, field string, f func(*index.DictEntry)) error {
	d, err := r.FieldDict(field)
	if err != nil {
		return err
	}
	for {
		entry, err := d.Next()
		if err != nil || entry == nil {
			return errors.Join(err, d.Close())
		}
		f(entry)
	}
}

// close waits for the last user and closes the index.
func (s *snapshot) close() error {
	s.users.Wait()
	err := s.index.Close()
	if s.own != "" {
		err = errors.Join(err, os.RemoveAll(s.own))
	}
	return err
}

func (s *snapshot) tokens(text string) []textproc.Token {
	s.reading.Lock()
	defer s.reading.Unlock()
	return s.reader.Tokens(text)
}

func (s *snapshot) versions(ctx context.Context) (map[string]*Version, error) {
	all := map[string]*Version{}
	for _, kind := range []string{kindVersion, kindTopic} {
		sources, err := s.sources(ctx, term(fieldKind, kind), search.SortOrder{&place{facts: s.facts}})
		if err != nil {
			return nil, err
		}
		for _, src := range sources {
			id := src.Origin.id()
			switch {
			case kind == kindVersion:
				all[id] = &Version{Origin: src.Origin, Vocabulary: append([]string{}, src.Vocabulary...)}
			case all[id] != nil && src.Topic != nil:
				all[id].Topics = append(all[id].Topics, *src.Topic)
			}
		}
	}
	return all, nil
}

// sources returns all that the documents that match keep, in an order.
func (s *snapshot) sources(ctx context.Context, q query.Query, order search.SortOrder) ([]source, error) {
	var all []source
	const page = 1000
	for {
		result, err := s.run(ctx, q, order, page, len(all))
		if err != nil {
			return nil, err
		}
		for _, hit := range result.Hits {
			src, err := s.unpack(hit.IndexInternalID.Value(), fieldSource, fieldRest)
			if err != nil {
				return nil, err
			}
			all = append(all, *src)
		}
		if len(result.Hits) < page {
			return all, nil
		}
	}
}

func term(field, word string) *query.TermQuery {
	q := bleve.NewTermQuery(word)
	q.SetField(field)
	return q
}
