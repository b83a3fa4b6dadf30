package textproc

import (
	"errors"
	"fmt"
	"slices"
)

// Errors that Fit and New wrap.
var (
	// ErrSettings means that a setting is out of its range or has a value that this version does not know.
	ErrSettings = errors.New("invalid text settings")
	// ErrEmptyVocabulary means that no term is left, or that none was given.
	ErrEmptyVocabulary = errors.New("empty vocabulary")
	// ErrVocabulary means that a vocabulary and its idf cannot come from Fit.
	ErrVocabulary = errors.New("invalid vocabulary")
)

// Tokenizer identifies the scanner, folding, numbers, senses and statuses, which settings cannot describe. A vectorizer
// with a different tokenizer or stemmer is refused, because its rows would differ.
const Tokenizer = "wardcast-3"

// Weighting names the value of a term in a row.
type Weighting string

// The weightings. Binary is 1 for every term of the note; IDF, SublinearTF and Norm do not apply to it.
const (
	TFIDF  Weighting = "tf-idf"
	Binary Weighting = "binary"
)

// IDF names an inverse document frequency by its formula. N is the number of distinct patients that Fit saw, df
// the number of those that have the term.
type IDF string

// The inverse document frequencies.
const (
	PlainIDF   IDF = "ln(N/df)" // 0 for a term of every patient
	PlusOneIDF IDF = "ln(N/df)+1"
	SmoothIDF  IDF = "ln((1+N)/(1+df))+1" // as if one more patient had every term
)

// Norm names the length that a tf-idf row is divided by.
type Norm string

// The norms.
const (
	NoNorm Norm = "none"
	L2Norm Norm = "l2" // rows have Euclidean length 1, or 0 if they have no known term
)

// longestPhrase bounds Settings.NGrams: longer phrases of a triage note do not repeat.
const longestPhrase = 3

// Settings say how text becomes rows. They are saved with a model and, with the vocabulary and idf, define the rows
// completely. Start from DefaultSettings; the zero value is refused.
//
// The value of term j in a note that has it c > 0 times is
//
//	tf(c)·idf(j),  tf(c) = c  or  1 + ln(c) if SublinearTF
//
// divided by the row's Norm.
type Settings struct {
	Weighting   Weighting `json:"weighting"`
	IDF         IDF       `json:"idf"`
	SublinearTF bool      `json:"sublinear_tf"`
	Norm        Norm      `json:"norm"`
	MinDF       int       `json:"min_df"` // least number of distinct patients with the term, ≥ 1
	// the same for a term that can be no name: of concepts, measurements and common English words; 0 is MinDF
	MinCommon int     `json:"min_common,omitempty"`
	MaxDF     float64 `json:"max_df"` // greatest share of distinct patients with the term, in (0,1]
	// keep this many terms of highest DF, ties in alphabetical order; 0 keeps all
	MaxTerms int `json:"max_terms"`
	NGrams   int `json:"n_grams"` // longest phrase in terms, 1 to 3
	// denied, possible, past and another person's findings become separate terms
	Status  bool `json:"status"`
	Numbers bool `json:"numbers"` // measurements become terms
	Age     bool `json:"age"`     // age and sex become terms
	// an auxiliary column holds the age, or the sex, which then is no term: see Transformer.Patient
	AgeColumn bool      `json:"age_column,omitempty"`
	SexColumn bool      `json:"sex_column,omitempty"`
	Spelling  bool      `json:"spelling"`   // misspelled words of the concepts are corrected
	Concepts  *Concepts `json:"concepts"`   // nil is the built-in table
	StopWords []string  `json:"stop_words"` // nil is the built-in list
	// KeepStopWords makes stop words terms too. They have no status and should not be used for topics: see Topical.
	KeepStopWords bool   `json:"keep_stop_words"`
	Tokenizer     string `json:"tokenizer"` // must be Tokenizer
	Stemmer       string `json:"stemmer"`   // must be Stemmer
}

// DefaultSettings returns smooth tf-idf of single words, sublinear and of Euclidean length 1, with the built-in
// concepts and stop words, statuses, numbers, ages and spelling, and terms of at least five patients.
func DefaultSettings() Settings {
	return Settings{
		Weighting:   TFIDF,
		IDF:         SmoothIDF,
		SublinearTF: true,
		Norm:        L2Norm,
		MinDF:       5,
		MaxDF:       1,
		NGrams:      1,
		Status:      true,
		Numbers:     true,
		Age:         true,
		Spelling:    true,
		Tokenizer:   Tokenizer,
		Stemmer:     Stemmer,
	}
}

// validate returns an error that wraps ErrSettings and names the field.
func (s *Settings) validate() error {
	var problem string
	switch {
	case s.Weighting != TFIDF && s.Weighting != Binary:
		problem = fmt.Sprintf("unknown weighting %q", s.Weighting)
	case s.IDF != PlainIDF && s.IDF != PlusOneIDF && s.IDF != SmoothIDF:
		problem = fmt.Sprintf("unknown idf %q", s.IDF)
	case s.Norm != NoNorm && s.Norm != L2Norm:
		problem = fmt.Sprintf("unknown norm %q", s.Norm)
	case s.MinDF < 1:
		problem = fmt.Sprintf("min_df %d is less than 1", s.MinDF)
	case s.MinCommon < 0 || s.MinCommon > s.MinDF:
		problem = fmt.Sprintf("min_common %d is not in 0 to min_df %d", s.MinCommon, s.MinDF)
	case !(s.MaxDF > 0 && s.MaxDF <= 1):
		problem = fmt.Sprintf("max_df %v is not in (0,1]", s.MaxDF)
	case s.MaxTerms < 0:
		problem = fmt.Sprintf("max_terms %d is negative", s.MaxTerms)
	case s.NGrams < 1 || s.NGrams > longestPhrase:
		problem = fmt.Sprintf("n_grams %d is not in 1 to %d", s.NGrams, longestPhrase)
	case s.Tokenizer != Tokenizer:
		problem = fmt.Sprintf("tokenizer is %q, this version has %q", s.Tokenizer, Tokenizer)
	case s.Stemmer != Stemmer:
		problem = fmt.Sprintf("stemmer is %q, this version has %q", s.Stemmer, Stemmer)
	default:
		return nil
	}
	return fmt.Errorf("%w: %s", ErrSettings, problem)
}

// clone returns s with its own table and list, the built-in ones if s has none.
func (s Settings) clone() Settings {
	if s.Concepts == nil {
		s.Concepts = Builtin()
	}
	if s.StopWords == nil {
		s.StopWords = listed("stopwords.txt")
	} else {
		s.StopWords = slices.Clone(s.StopWords)
	}
	return s
}
