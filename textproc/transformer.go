package textproc

import (
	"math"
	"slices"
	"unicode/utf8"
)

const (
	// maxWord is the greatest length of a word in bytes, after folding. A longer run of letters is noise. The longest
	// word of common medical dictionaries has 45 letters.
	maxWord = 64
	// cacheBytes bounds the words that a Transformer caches: those of the vectorizer, misspellings and rare forms. The
	// latter take some 350 bytes each.
	cacheBytes = 4 << 20
	// keptLexemes bounds the note whose scratch memory is kept for the next one. That takes some 250 bytes for a
	// lexeme.
	keptLexemes = 8192
)

// Row is a note over the vocabulary. Its slices are valid until the transformer's next call.
type Row struct {
	Columns []int32   // ascending
	Values  []float64 // of these columns
	Tokens  int       // parts of the note with a meaning: concepts, measurements, words other than stop words
	Known   int       // the number of them in the vocabulary
}

// Token is a part of a note with its terms.
type Token struct {
	Start, End int      // bytes of the note that it came from
	Terms      []string // without the prefix of the status: a concept and its parts, a measurement, the stem of a word
	Status     Status
	Known      bool // the vocabulary has one of the terms with that status
}

// Transformer turns notes into rows for one goroutine. It holds scratch memory and a cache of words, at most 4 MiB and
// 2 MiB between notes; neither changes a row.
type Transformer struct {
	v     *Vectorizer
	cache map[string]*word
	held  int // bytes of cache
	bound int // of held

	note     string
	text     string // that was scanned: the note, or folder.text
	lex      []lexeme
	mentions []mention
	events   []event
	arena    []*term // terms of measurements
	taken    int     // the number of them in mentions
	scope    scope   // at the place being read; a field, so that no row allocates one
	clause   int32
	young    bool    // a child's age stands in the note
	status   bool    // some mention may not be affirmed
	aged     bool    // an age of the patient stands in the note
	years    float64 // see Patient
	sex      string
	plus     bool // a plus sign between spaces stands in the note
	at       bool // an @ that touches the word before it stands in the note
	closing  bool // a sign stands after its mention in the note
	list     listState

	raw    []byte // the folded word being scanned, in buffer
	buffer [maxWord]byte
	folded bool // the scanned text is folder.text
	folder folder

	hits        []hit
	groups      []group   // of mentions
	shares      []float64 // of mentions
	counts      []int32   // of the row's columns
	pieceSums   []float64 // of the mentions, by the last PieceSum; empty before it
	spelled     []*word   // of a mention
	phraseTerms []phraseTerm
	keys        []uint64 // hits by column: the column above, the position in hits below
	columns     []int32  // of the row
	values      []float64
	key         []byte
}

// hit is an occurrence of a column in a note.
type hit struct {
	column   int32
	from, to int32 // mentions that it came from
	at       int32 // position in the row
}

// phraseTerm is a term that pairs are made of.
type phraseTerm struct {
	term    *term
	mention int32
}

// Transformer returns a new transformer of v.
func (v *Vectorizer) Transformer() *Transformer {
	return &Transformer{v: v, cache: map[string]*word{}, bound: cacheBytes}
}

// Reader returns a transformer without a vocabulary, for Tokens alone. It returns an error that wraps ErrSettings.
func Reader(s Settings) (*Transformer, error) {
	v, err := newVectorizer(s)
	if err != nil {
		return nil, err
	}
	return v.Transformer(), nil
}

// lookup returns the resolved form of a folded word, nil for an empty one. A full cache is emptied first.
func (t *Transformer) lookup(raw []byte) *word {
	if len(raw) == 0 {
		return nil
	}
	if w := t.cache[string(raw)]; w != nil {
		return w
	}
	w, size := t.v.words[string(raw)], sharedWordBytes
	if w == nil {
		w = t.v.resolve(string(raw))
		size += w.bytes()
	}
	if t.held += size; t.held > t.bound {
		clear(t.cache)
		t.held = size
	}
	t.cache[w.raw] = w
	return w
}

// analyze fills t.mentions in the order of the note.
func (t *Transformer) analyze(text string) {
	if cap(t.lex) > keptLexemes {
		*t = Transformer{v: t.v, cache: t.cache, held: t.held, bound: t.bound}
	}
	t.folded, t.note, t.text, t.pieceSums = false, text, text, t.pieceSums[:0]
	if !t.scan(text) {
		t.folder.run(text)
		t.folded, t.text = true, string(t.folder.text)
		t.scan(t.text)
	}
	t.recognize()
	if t.folded {
		t.unfold()
	}
	t.find()
}

// unfold turns the positions of t.mentions into those of the note. One character of the note may hold several words
// (㏂); it belongs to the first.
func (t *Transformer) unfold() {
	kept, end := t.mentions[:0], 0
	for _, m := range t.mentions {
		start := max(t.folder.start[m.start], end)
		if end = max(end, t.folder.end[m.end-1]); start < end {
			m.start, m.end = int32(start), int32(end)
			kept = append(kept, m)
		}
	}
	t.mentions = kept
}

// find fills t.hits with the columns of t.mentions.
func (t *Transformer) find() {
	t.hits = t.hits[:0]
	for i := range t.mentions {
		m := &t.mentions[i]
		for _, x := range m.terms {
			if j := x.columns[t.prefixOf(m)]; j >= 0 {
				t.hits = append(t.hits, hit{column: j, from: int32(i), to: int32(i)})
			}
		}
	}
	if t.v.settings.NGrams > 1 {
		t.phrases(func(from, to int32) {
			if j, found := t.v.columns[string(t.key)]; found {
				t.hits = append(t.hits, hit{column: j, from: from, to: to})
			}
		})
	}
}

// prefixOf returns the status under which a mention is counted.
func (t *Transformer) prefixOf(m *mention) Status {
	if m.plain || !t.v.settings.Status {
		return Affirmed
	}
	return m.status
}

// phrases calls yield with every phrase of two or more terms of a clause, its text in t.key, in the order in which they
// end.
func (t *Transformer) phrases(yield func(from, to int32)) {
	t.phraseTerms = t.phraseTerms[:0]
	for i := range t.mentions {
		if m := &t.mentions[i]; m.measure == nil {
			for _, x := range m.terms[:len(m.terms)-m.parts] {
				t.phraseTerms = append(t.phraseTerms, phraseTerm{x, int32(i)})
			}
		}
	}
	for i := range t.phraseTerms {
		clause := t.mentions[t.phraseTerms[i].mention].clause
		for from := i - 1; from >= 0 && i-from < t.v.settings.NGrams &&
			t.mentions[t.phraseTerms[from].mention].clause == clause; from-- {
			t.key = t.key[:0]
			for _, u := range t.phraseTerms[from : i+1] {
				if len(t.key) > 0 {
					t.key = append(t.key, ' ')
				}
				t.key = append(t.key, prefixes[t.prefixOf(&t.mentions[u.mention])]...)
				t.key = append(t.key, u.term.text...)
			}
			yield(t.phraseTerms[from].mention, t.phraseTerms[i].mention)
		}
	}
}

// Row returns the row of a note. The cost is linear in the text, plus the sorting of its columns; an ASCII note of
// words that are cached allocates nothing.
func (t *Transformer) Row(text string) Row {
	t.analyze(text)
	t.keys = t.keys[:0]
	for i, h := range t.hits {
		t.keys = append(t.keys, uint64(h.column)<<32|uint64(i))
	}
	slices.Sort(t.keys)
	columns, values := t.weigh()
	row := Row{Columns: columns, Values: values}
	for i := range t.mentions {
		if m := &t.mentions[i]; !m.stop {
			row.Tokens++
			if t.inVocabulary(m) {
				row.Known++
			}
		}
	}
	return row
}

func (t *Transformer) inVocabulary(m *mention) bool {
	for _, x := range m.terms {
		if x.columns[t.prefixOf(m)] >= 0 {
			return true
		}
	}
	return false
}

// weigh returns the distinct columns of the sorted hits with their values, and stores its position in each hit.
func (t *Transformer) weigh() ([]int32, []float64) {
	s, idf := &t.v.settings, t.v.idf
	columns, counts, values := t.columns[:0], t.counts[:0], t.values[:0]
	var square float64
	for i := 0; i < len(t.keys); {
		j, first := int32(t.keys[i]>>32), i
		for ; i < len(t.keys) && int32(t.keys[i]>>32) == j; i++ {
			t.hits[uint32(t.keys[i])].at = int32(len(columns))
		}
		value := 1.0
		if s.Weighting == TFIDF {
			value = float64(i - first)
			if s.SublinearTF && value > 1 {
				value = 1 + math.Log(value)
			}
			value *= idf[j]
			square += value * value
		}
		columns, counts, values = append(columns, j), append(counts, int32(i-first)), append(values, value)
	}
	if s.Weighting == TFIDF && s.Norm == L2Norm && square > 0 {
		scale := 1 / math.Sqrt(square)
		for i := range values {
			values[i] *= scale
		}
	}
	t.columns, t.counts, t.values = columns, counts, values
	return columns, values
}

// Tokens returns the parts of a note that have a meaning, known or not, in the order of the note. Their spans do not
// overlap.
func (t *Transformer) Tokens(text string) []Token {
	t.analyze(text)
	tokens := make([]Token, 0, len(t.mentions))
	for i := range t.mentions {
		m := &t.mentions[i]
		token := Token{Start: int(m.start), End: int(m.end), Status: m.status}
		for _, x := range m.terms {
			token.Terms = append(token.Terms, x.text)
		}
		token.Known = t.inVocabulary(m)
		tokens = append(tokens, token)
	}
	return tokens
}

// CodePoints converts ascending byte positions of text to numbers of Unicode code points, in place.
func CodePoints(text string, positions []int) {
	if utf8.RuneCountInString(text) == len(text) {
		return
	}
	at, n := 0, 0
	for i, p := range positions {
		n += utf8.RuneCountInString(text[at:p])
		at, positions[i] = p, n
	}
}
