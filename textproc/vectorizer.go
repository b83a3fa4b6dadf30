package textproc

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/solver/matrix"
)

// Term is a column of the vocabulary.
type Term struct {
	// stem, concept or measurement with the prefix of its status, or several joined by spaces
	Text    string   `json:"term"`
	Surface []string `json:"surface"` // its commonest forms in the notes, folded, commonest first; at least one
	DF      int      `json:"df"`      // distinct patients that have it
}

// Vectorizer turns notes into rows over a fixed vocabulary. It is immutable and safe for concurrent use.
type Vectorizer struct {
	settings   Settings
	vocabulary []Term
	idf        []float64
	columns    map[string]int32

	stops    map[string]bool
	words    map[string]*word // of surfaces, stop words and the vocabulary
	marks    [256]*word       // that surfaces have
	letters  [256]*entry      // what a letter with a sign means
	terms    map[string]*term
	typed    [](*term) // of measures, by number
	leftSide []*term
	fracture *entry           // what # means
	joined   map[string]*node // "chestpain"
	not      *node            // of the surfaces that begin with "not"
	speller  speller
	names    map[string]bool // of concepts and measurements

	pieces       []Piece
	pieceColumns map[string]int32
	mostUnknown  float64 // see partOfWords
}

// word is the meaning of a folded word of a note, without its neighbours.
type word struct {
	raw      string
	correct  *word    // the correct spelling, mostly the word itself
	stem     [1]*term // of the word as it stands; nil for a stop word or a single letter
	node     *node    // of the surfaces that begin with it
	class    class
	unit     unit
	stop     bool       // dropped, or kept without a status
	sex      byte       // 'm' or 'f' of a word for the sex next to an age, else 0
	value    float64    // of a number written as a word, else 0
	cuttings [2]cutting // affirmed, and not
	standing standing   // outside of concepts
	listed   bool       // it stands in the tables
	shared   bool       // it stands in the tables or in notes of several patients, so it is not a patient's name
}

// Bytes of a word in a cache: its slot at the lowest load, and, if only the cache has it, the word and its term.
const (
	sharedWordBytes = 64
	wordBytes       = 320
)

// bytes returns an upper bound on the memory of a word.
func (w *word) bytes() int {
	n := wordBytes + 2*len(w.raw) // its stem is not longer
	for _, c := range w.cuttings {
		n += 4*cap(c.pieces) + 8*cap(c.idf)
	}
	return n
}

// term is a concept, a word or a range of a measurement. It has a column for each status that is frequent enough.
type term struct {
	columns [statuses]int32 // by status; -1 if the vocabulary lacks it
	text    string
	child   *term   // of the same measurement of a child
	words   []*word // of the name of a concept, whose pieces count for it
	side    bool

	standing standing // of a concept
}

// New returns the vectorizer of a saved model: vocabulary[j] and idf[j] belong to column j. The arguments are copied.
//
// It returns an error that wraps ErrSettings, ErrEmptyVocabulary or ErrVocabulary and names the field or the column if
// the settings do not pass, lengths differ, a term is empty, repeated or not UTF-8, or an idf is negative or not
// finite. The cost is that of stemming every surface form.
func New(s Settings, vocabulary []Term, idf []float64, pieces ...Piece) (*Vectorizer, error) {
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
	return v, v.setVocabulary(vocabulary, idf, pieces)
}

func (v *Vectorizer) setVocabulary(vocabulary []Term, idf []float64, pieces []Piece) error {
	v.idf = slices.Clone(idf)
	v.vocabulary = make([]Term, len(vocabulary))
	v.columns = make(map[string]int32, len(vocabulary))
	for j, t := range vocabulary {
		switch _, again := v.columns[t.Text]; {
		case t.Text == "" || !utf8.ValidString(t.Text):
			return fmt.Errorf("%w: the term of column %d is empty or not UTF-8", ErrVocabulary, j)
		case again:
			return fmt.Errorf("%w: the term of column %d appears twice", ErrVocabulary, j)
		case t.DF < 0:
			return fmt.Errorf("%w: column %d has a document frequency of %d", ErrVocabulary, j, t.DF)
		case !(idf[j] >= 0) || math.IsInf(idf[j], 1):
			return fmt.Errorf("%w: column %d has an idf of %v", ErrVocabulary, j, idf[j])
		}
		v.columns[t.Text] = int32(j)
		t.Surface = slices.Clone(t.Surface)
		v.vocabulary[j] = t
	}
	for _, t := range v.terms {
		v.setColumns(t)
	}
	for _, t := range v.vocabulary {
		for _, surface := range t.Surface {
			for _, raw := range lettersOf(surface) {
				v.keep(raw)
			}
		}
	}
	return v.setPieces(pieces)
}

func newVectorizer(s Settings) (*Vectorizer, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	v := &Vectorizer{settings: s.clone(), words: map[string]*word{}, terms: make(map[string]*term)}
	for i, stop := range v.settings.StopWords {
		stop = strings.ReplaceAll(foldString(stop), "'", "")
		if !isWord(stop) {
			return nil, fmt.Errorf("%w: stop word %q is not a word", ErrSettings, v.settings.StopWords[i])
		}
		v.settings.StopWords[i] = stop
	}
	v.stops = lists.Set(v.settings.StopWords)
	if err := v.compile(v.settings.Concepts); err != nil {
		return nil, fmt.Errorf("%w: concepts: %w", ErrSettings, err)
	}
	for stop := range v.stops {
		v.keep(stop)
	}
	for _, w := range v.words {
		w.listed = true
	}
	return v, nil
}

func isWord(s string) bool {
	return s != "" && len(s) <= maxWord &&
		!strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) })
}

// keep resolves a word of the model, so that scoring need not, and returns it.
func (v *Vectorizer) keep(raw string) *word {
	if len(raw) > maxWord {
		return nil
	}
	if w := v.words[raw]; w != nil {
		return w
	}
	w := v.resolve(raw)
	w.shared = true
	v.words[raw] = w
	return w
}

// resolve returns the meaning of a folded word.
func (v *Vectorizer) resolve(raw string) *word {
	w := &word{raw: raw, class: classes[raw], unit: units[raw], sex: sexes[raw], value: numerals[raw]}
	w.correct = w
	s := stem(raw)
	w.standing = styles().word(raw, s)
	w.stop = v.stops[raw]
	if w.stop && v.settings.KeepStopWords {
		w.stem[0] = v.term(raw)
	}
	if !w.stop && utf8.RuneCountInString(raw) > 1 {
		if strings.ContainsFunc(s, unicode.IsLetter) {
			w.stem[0] = v.term(s)
		}
		if n := v.joined[raw]; n != nil {
			w.node = n
		} else if v.settings.Spelling {
			if meant := v.speller.correct(raw); meant != nil {
				w.correct, w.node, w.stem = meant, meant.node, meant.stem
			}
		}
	}
	v.cut(w)
	return w
}

// term returns the term of a text. Terms that the vectorizer was made with are shared; others are new, because the
// vectorizer is immutable.
func (v *Vectorizer) term(text string) *term {
	if t := v.terms[text]; t != nil {
		return t
	}
	t := &term{text: text, side: strings.HasPrefix(text, "side:"), standing: styles().concepts[text]}
	if t.side {
		t.standing = beside
	}
	v.setColumns(t)
	if v.columns == nil {
		v.terms[text] = t
	}
	return t
}

func (v *Vectorizer) setColumns(t *term) {
	for s, prefix := range prefixes {
		t.columns[s] = -1
		if j, found := v.columns[prefix+t.text]; found {
			t.columns[s] = j
		}
	}
}

// Settings returns the settings with the concepts and stop words in use, including built-in ones, so that a later
// version with different built-in ones gives the same rows. They must not be changed.
func (v *Vectorizer) Settings() Settings { return v.settings }

// Vocabulary returns the terms in column order. It must not be changed.
func (v *Vectorizer) Vocabulary() []Term { return v.vocabulary }

// Label returns the text of a column for people: the name of a concept, or the commonest form of a word, and its
// status.
func (v *Vectorizer) Label(column int) string {
	t := &v.vocabulary[column]
	status, text := StatusOf(t.Text)
	if !v.names[text] {
		text = append(t.Surface, text)[0]
	}
	text = strings.TrimPrefix(strings.ReplaceAll(text, "_", " "), "side:")
	return text + Remark(status.String())
}

// Spoken returns words of a note with their status as a remark, unless they say it themselves: "no helmet".
func Spoken(text, status string) string {
	lower := strings.ToLower(text)
	if status == Negated.String() && (slices.ContainsFunc(Builtin().Triggers, func(t Trigger) bool {
		return (t.Effect == "deny" || t.Effect == "denies" || t.Effect == "not") &&
			strings.HasPrefix(lower, t.Surface+" ")
	}) || slices.ContainsFunc(Builtin().Concepts, func(c Concept) bool {
		return strings.HasPrefix(c.Name, prefixes[Negated]) && slices.Contains(c.Surfaces, lower)
	})) {
		return text
	}
	return text + Remark(status)
}

// Remark returns the name of a status as a remark after words, such as " (denied)"; "" for the affirmed one.
func Remark(status string) string {
	return map[string]string{
		Negated.String(): " (denied)", Uncertain.String(): " (possible)", Historical.String(): " (past)",
		OtherPerson.String(): " (another's)",
	}[status]
}

// StatusOf splits the text of a term into its status and the text without the prefix.
func StatusOf(term string) (Status, string) {
	for s := Negated; s < statuses; s++ {
		if text, found := strings.CutPrefix(term, prefixes[s]); found {
			return s, text
		}
	}
	return Affirmed, term
}

// Term returns the text of a term with the prefix of the status: StatusOf(s.Term(text)) is s and text.
func (s Status) Term(text string) string { return prefixes[s] + text }

// Topical reports for each column whether topics should use it: not stop words, phrases, ages and sexes.
func (v *Vectorizer) Topical() []bool {
	return lists.Map(v.vocabulary, func(t Term) bool {
		return !v.stops[t.Text] && !strings.Contains(t.Text, " ") && !strings.HasPrefix(t.Text, age.name+":") &&
			!strings.HasPrefix(t.Text, sex.name+":")
	})
}

// Denied returns which terms are denied findings, or phrases with one, in column order.
func (v *Vectorizer) Denied() []bool {
	return lists.Map(v.vocabulary, func(t Term) bool { return strings.Contains(" "+t.Text, " "+prefixes[Negated]) })
}

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
	return rows(len(v.vocabulary), indptr, indices, values)
}

func rows(p int, indptr []int, indices []int32, values []float64) *matrix.CSR {
	x, err := matrix.NewCSR(len(indptr)-1, p, indptr, indices, values)
	if err != nil {
		panic("textproc: " + err.Error()) // rows are ascending by construction
	}
	return x
}
