package textproc

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/wardcast/wardcast/solver/matrix"
)

// Lengths of the pieces of words, in runes, with a mark before and after the word.
const (
	shortestGram = 3
	longestGram  = 4
	edgeOfWord   = ' '
)

// Gram is a piece of a word: three or four letters, a space where the word begins or ends.
type Gram struct {
	Text string  `json:"gram"`
	IDF  float64 `json:"idf"`
}

// eachGram calls yield with the pieces of a word.
func eachGram(raw string, yield func(string)) {
	text := string(edgeOfWord) + raw + string(edgeOfWord)
	starts := make([]int, 0, len(text)+1)
	for i := range text {
		starts = append(starts, i)
	}
	starts = append(starts, len(text))
	for n := shortestGram; n <= longestGram; n++ {
		for i := 0; i+n < len(starts); i++ {
			yield(text[starts[i]:starts[i+n]])
		}
	}
}

// setGrams gives the vectorizer its pieces of words. It returns an error that wraps ErrVocabulary if one is empty, not UTF-8 or
// there twice, or has an idf that is not positive.
func (v *Vectorizer) setGrams(grams []Gram) error {
	v.grams = slices.Clone(grams)
	v.gramColumns = make(map[string]int32, len(grams))
	for j, g := range grams {
		_, again := v.gramColumns[g.Text]
		if n := utf8.RuneCountInString(g.Text); again || n < shortestGram || n > longestGram || !utf8.ValidString(g.Text) || !(g.IDF > 0) || math.IsInf(g.IDF, 1) {
			return fmt.Errorf("%w: piece of words %d is malformed or appears twice", ErrVocabulary, j)
		}
		v.gramColumns[g.Text] = int32(j)
	}
	for _, w := range v.words.all() {
		v.cut(w)
	}
	return nil
}

// cut gives a word its pieces.
func (v *Vectorizer) cut(w *word) {
	if len(v.grams) == 0 {
		return
	}
	w.grams, w.weight = nil, 0
	if v.drops(w) {
		return
	}
	eachGram(w.raw, func(g string) {
		if j, found := v.gramColumns[g]; found {
			w.grams = append(w.grams, j)
			w.weight = max(w.weight, v.grams[j].IDF)
		}
	})
	w.scale = 1 / math.Sqrt(float64(max(len(w.grams), 1)))
}

// drops reports whether a word is a stop word that is no term.
func (v *Vectorizer) drops(w *word) bool {
	_, stop := v.stops[w.raw]
	return stop && !v.settings.KeepStopWords
}

// Grams returns the pieces of words that have weights of their own. They must not be changed.
func (v *Vectorizer) Grams() []Gram { return v.grams }

// gramNorm returns 1/‖m‖ over the words of the last note, 0 if there are none.
func (t *Transformer) gramNorm() float64 {
	var square float64
	for i := range t.lex {
		if w := t.lex[i].word; w != nil {
			square += w.weight * w.weight
		}
	}
	if square == 0 {
		return 0
	}
	return 1 / math.Sqrt(square)
}

// WithGrams returns a vectorizer that knows the pieces of the words of docs too, at least MinDF distinct patients with each, and
// their rows, n×G. The row of a note is
//
//	Σ_w m_w·g_w/√|g_w| / √(Σ_w m_w²)
//
// over its words w, where g_w counts the pieces of w and m_w is the largest idf among them.
func (v *Vectorizer) WithGrams(docs []Document) (*Vectorizer, *matrix.CSR, error) {
	tallies := make(map[string]*tally)
	t := v.Transformer()
	order, patient, patients := byPatient(docs)
	seen := make(map[*word][]*tally)
	for _, i := range order {
		t.analyze(docs[i].Text)
		for k := range t.lex {
			w := t.lex[k].word
			if w == nil || t.lex[k].kind != letters || v.drops(w) {
				continue
			}
			own, found := seen[w]
			if !found {
				eachGram(w.raw, func(g string) {
					if tallies[g] == nil {
						tallies[g] = &tally{}
					}
					own = append(own, tallies[g])
				})
				seen[w] = own
			}
			for _, c := range own {
				c.count(patient[i])
			}
		}
	}
	var grams []Gram
	for g, c := range tallies {
		if c.patients >= v.settings.MinDF {
			grams = append(grams, Gram{g, SmoothIDF.value(patients, c.patients)})
		}
	}
	slices.SortFunc(grams, func(a, b Gram) int {
		if a.Text < b.Text {
			return -1
		}
		return 1
	})
	out, err := New(v.settings, v.vocabulary, v.idf, grams...)
	if err != nil {
		return nil, nil, err
	}
	texts := make([]string, len(docs))
	for i, d := range docs {
		texts[i] = d.Text
	}
	return out, out.TransformGrams(texts), nil
}

// TransformGrams returns the rows of pieces of words of texts, n×G, on one thread.
func (v *Vectorizer) TransformGrams(texts []string) *matrix.CSR {
	t := v.Transformer()
	indptr := make([]int, 1, len(texts)+1)
	var indices []int32
	var values []float64
	row := make([]float64, len(v.grams))
	for _, text := range texts {
		t.analyze(text)
		norm := t.gramNorm()
		from := len(indices)
		for k := range t.lex {
			w := t.lex[k].word
			if w == nil {
				continue
			}
			x := norm * w.weight * w.scale
			for _, g := range w.grams {
				if row[g] == 0 {
					indices = append(indices, g)
				}
				row[g] += x
			}
		}
		slices.Sort(indices[from:])
		for _, g := range indices[from:] {
			values = append(values, row[g])
			row[g] = 0
		}
		indptr = append(indptr, len(indices))
	}
	x, err := matrix.NewCSR(len(texts), len(v.grams), indptr, indices, values)
	if err != nil {
		panic("textproc: " + err.Error()) // rows are ascending by construction
	}
	return x
}
