package textproc

import (
	"iter"
	"math"
	"slices"
)

// cacheWords bounds the words beyond the vectorizer's own that a Transformer remembers: misspellings and rare forms.
// They take some 150 bytes each, 2.5 MB in all, and no more than 5 MB.
const cacheWords = 16384

// Row is a note over the vocabulary. Its slices are valid until the transformer's next call.
type Row struct {
	Columns []int32   // ascending
	Values  []float64 // of these columns
	Tokens  int       // words of the note after stop words, those that stand for several counted as such
	Known   int       // how many of them the vocabulary has
}

// Token is an occurrence of a term in a note.
type Token struct {
	Text       string
	Column     int // -1 if the vocabulary lacks it
	Start, End int // bytes of the note that it came from
}

// Transformer turns notes into rows for one goroutine. It holds scratch memory and a bounded cache of words; neither
// changes a row.
type Transformer struct {
	v     *Vectorizer
	cache table
	bound int // words in cache

	units  []unit
	raw    [maxWord]byte // the folded word being scanned
	clause int
	denier *word
	scope  int // words that the denial still reaches

	folded bool // the scanned text is folder.text
	folder folder

	columns []int32
	values  []float64
	key     []byte
}

// Transformer returns a new transformer of v.
func (v *Vectorizer) Transformer() *Transformer {
	return &Transformer{v: v, cache: newTable(), bound: cacheWords}
}

// lookup returns the resolved form of a folded word. A full cache is emptied first.
func (t *Transformer) lookup(raw []byte) *word {
	if w := t.v.words.lookup(raw); w != nil {
		return w
	}
	if w := t.cache.lookup(raw); w != nil {
		return w
	}
	if t.cache.used >= t.bound {
		t.cache.clear()
	}
	w := t.v.resolve(string(raw))
	t.cache.insert(w)
	return w
}

// Row returns the row of a note. The cost is linear in the text, plus the sorting of its columns; an ASCII note of words
// that are cached allocates nothing.
func (t *Transformer) Row(text string) Row {
	t.analyze(text)
	columns, known := t.columns[:0], 0
	for i := range t.units {
		if j := t.units[i].column(); j >= 0 {
			columns = append(columns, j)
			known++
		}
	}
	if t.v.settings.NGrams > 1 {
		for gram := range t.grams() {
			if j := t.column(gram); len(gram) > 1 && j >= 0 {
				columns = append(columns, j)
			}
		}
	}
	slices.Sort(columns)
	t.columns = columns
	columns, values := t.weigh(columns)
	return Row{Columns: columns, Values: values, Tokens: len(t.units), Known: known}
}

// weigh returns the distinct columns among ascending ones, in place, and their values.
func (t *Transformer) weigh(columns []int32) ([]int32, []float64) {
	s, idf := &t.v.settings, t.v.idf
	values, distinct := t.values[:0], 0
	var square float64
	for i := 0; i < len(columns); {
		j, first := columns[i], i
		for i < len(columns) && columns[i] == j {
			i++
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
		columns[distinct] = j
		distinct++
		values = append(values, value)
	}
	if s.Weighting == TFIDF && s.Norm == L2Norm && square > 0 {
		scale := 1 / math.Sqrt(square)
		for i := range values {
			values[i] *= scale
		}
	}
	t.values = values
	return columns[:distinct], values
}

// Tokens returns the terms of a note, known or not, in the order in which they end in it: those that Row counts, with
// n-grams. Spans never go back; they coincide for the words that one word stands for, and overlap for n-grams.
func (t *Transformer) Tokens(text string) []Token {
	t.analyze(text)
	var tokens []Token
	for gram := range t.grams() {
		start, end := gram[0].start, gram[len(gram)-1].end
		if t.folded {
			start, end = t.folder.start[start], t.folder.end[end-1]
		}
		j := t.column(gram)
		tokens = append(tokens, Token{Text: string(t.key), Column: int(j), Start: start, End: end})
	}
	return tokens
}

// grams yields each unit, followed by the n-grams of its clause that end in it.
func (t *Transformer) grams() iter.Seq[[]unit] {
	return func(yield func([]unit) bool) {
		for i := range t.units {
			for from := i; from >= 0 && i-from < t.v.settings.NGrams && t.units[from].clause == t.units[i].clause; from-- {
				if !yield(t.units[from : i+1]) {
					return
				}
			}
		}
	}
}

// column leaves the text of a gram in t.key and returns its column, or -1.
func (t *Transformer) column(gram []unit) int32 {
	t.key = appendText(t.key[:0], gram)
	if j, found := t.v.columns[string(t.key)]; found {
		return j
	}
	return -1
}

func (u *unit) column() int32 {
	if u.denier != nil {
		return u.columns[1]
	}
	return u.columns[0]
}

// appendText appends the term that a gram is.
func appendText(dst []byte, gram []unit) []byte {
	for i := range gram {
		if i > 0 {
			dst = append(dst, ' ')
		}
		if gram[i].denier != nil {
			dst = append(dst, negatedPrefix...)
		}
		dst = append(dst, gram[i].text...)
	}
	return dst
}

// surface returns how the note words a gram: its words, with the word that denies some before the first of these.
func surface(gram []unit) string {
	if len(gram) == 1 && gram[0].denier == nil {
		return gram[0].word.raw
	}
	var text []byte
	var last *unit
	for i := range gram {
		u := &gram[i]
		if last != nil && last.start == u.start && last.word == u.word {
			continue
		}
		if u.denier != nil && (last == nil || last.denier != u.denier && last.word != u.denier) {
			text = append(append(text, u.denier.raw...), ' ')
		}
		text = append(append(text, u.word.raw...), ' ')
		last = u
	}
	return string(text[:len(text)-1])
}
