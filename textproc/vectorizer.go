package textproc

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/wardcast/wardcast/solver/matrix"
)

// Term is a column of the vocabulary.
type Term struct {
	Text    string   `json:"term"`    // stem, "not_" and stem, or several joined by spaces
	Surface []string `json:"surface"` // its commonest forms in the notes, folded, commonest first; at least one
	DF      int      `json:"df"`      // distinct visits that have it
}

// Vectorizer turns notes into rows over a fixed vocabulary. It is immutable and safe for concurrent use.
type Vectorizer struct {
	settings       Settings
	vocabulary     []Term
	idf            []float64
	columns        map[string]int32
	stops          map[string]struct{}
	words          table // of stop words, synonyms and surface forms
	longestSlashed int   // length of the longest synonym with a slash
}

// New returns the vectorizer of a saved model: vocabulary[j] and idf[j] belong to column j. The arguments are copied.
//
// It returns an error that wraps ErrSettings, ErrEmptyVocabulary or ErrVocabulary and names the field or the column if
// the settings do not pass, lengths differ, a term is empty, not UTF-8 or there twice, or an idf is negative or not
// finite. The cost is that of stemming every surface form.
func New(s Settings, vocabulary []Term, idf []float64) (*Vectorizer, error) {
	if len(vocabulary) == 0 {
		return nil, ErrEmptyVocabulary
	}
	if len(idf) != len(vocabulary) {
		return nil, fmt.Errorf("%w: %d terms and %d idf", ErrVocabulary, len(vocabulary), len(idf))
	}
	if len(vocabulary) > math.MaxInt32 {
		return nil, fmt.Errorf("%w: %d terms are more than columns can be numbered", ErrVocabulary, len(vocabulary))
	}
	v, err := newVectorizer(s)
	if err != nil {
		return nil, err
	}
	v.idf = slices.Clone(idf)
	v.vocabulary = make([]Term, len(vocabulary))
	v.columns = make(map[string]int32, len(vocabulary))
	for j, t := range vocabulary {
		switch _, again := v.columns[t.Text]; {
		case t.Text == "" || !utf8.ValidString(t.Text):
			return nil, fmt.Errorf("%w: the term of column %d is empty or not UTF-8", ErrVocabulary, j)
		case again:
			return nil, fmt.Errorf("%w: the term of column %d appears twice", ErrVocabulary, j)
		case t.DF < 0:
			return nil, fmt.Errorf("%w: column %d has a document frequency of %d", ErrVocabulary, j, t.DF)
		case !(idf[j] >= 0) || math.IsInf(idf[j], 1):
			return nil, fmt.Errorf("%w: column %d has an idf of %v", ErrVocabulary, j, idf[j])
		}
		v.columns[t.Text] = int32(j)
		t.Surface = slices.Clone(t.Surface)
		v.vocabulary[j] = t
	}
	v.prepareWords()
	return v, nil
}

// newVectorizer returns a vectorizer without a vocabulary.
func newVectorizer(s Settings) (*Vectorizer, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	v := &Vectorizer{settings: s.clone(), stops: make(map[string]struct{}), words: newTable()}
	table := make(map[string]string, len(v.settings.Synonyms))
	for key, words := range v.settings.Synonyms {
		key, words = foldString(key), foldString(words)
		if err := checkSynonym(key, words); err != nil {
			return nil, fmt.Errorf("%w: synonyms: %w", ErrSettings, err)
		}
		if _, again := table[key]; again {
			return nil, fmt.Errorf("%w: synonyms: %q appears twice in different letter case", ErrSettings, key)
		}
		table[key] = words
		if strings.Contains(key, "/") {
			v.longestSlashed = max(v.longestSlashed, len(key))
		}
	}
	v.settings.Synonyms = table
	for i, stop := range v.settings.StopWords {
		stop = foldString(stop)
		if !isWord(stop) {
			return nil, fmt.Errorf("%w: stop word %q is not a word", ErrSettings, stop)
		}
		v.settings.StopWords[i] = stop
		v.stops[stop] = struct{}{}
	}
	return v, nil
}

// prepareWords resolves the words that notes mostly consist of, so that scoring need not.
func (v *Vectorizer) prepareWords() {
	prepare := func(raw string) {
		var folded [maxWord]byte
		if len(raw) <= maxWord && v.words.lookup(folded[:copy(folded[:], raw)]) == nil {
			v.words.insert(v.resolve(raw))
		}
	}
	for stop := range v.stops {
		prepare(stop)
	}
	for key := range v.settings.Synonyms {
		prepare(key)
	}
	for _, t := range v.vocabulary {
		for _, surface := range t.Surface {
			for raw := range strings.FieldsSeq(surface) {
				prepare(raw)
			}
		}
	}
}

// column returns the column of a term, or -1.
func (v *Vectorizer) column(text string) int32 {
	if j, found := v.columns[text]; found {
		return j
	}
	return -1
}

// Settings returns the settings with the synonyms and stop words that are in force, built-in ones written out, so that a
// later version with other built-in ones gives the same rows. They must not be changed.
func (v *Vectorizer) Settings() Settings { return v.settings }

// Vocabulary returns the terms in column order. It must not be changed.
func (v *Vectorizer) Vocabulary() []Term { return v.vocabulary }

// IDF returns the inverse document frequencies in column order. It must not be changed.
func (v *Vectorizer) IDF() []float64 { return v.idf }

// Transform returns the rows of texts, on one thread.
func (v *Vectorizer) Transform(texts []string) *matrix.CSR {
	t := v.Transformer()
	indptr := make([]int, 1, len(texts)+1)
	var indices []int32
	var values []float64
	for _, text := range texts {
		row := t.Row(text)
		indices = append(indices, row.Columns...)
		values = append(values, row.Values...)
		indptr = append(indptr, len(indices))
	}
	x, err := matrix.NewCSR(len(texts), len(v.vocabulary), indptr, indices, values)
	if err != nil {
		panic("textproc: " + err.Error()) // rows are ascending by construction
	}
	return x
}
