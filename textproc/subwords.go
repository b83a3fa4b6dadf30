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
	eachGram(w.raw, func(g string) {
		if j, found := v.gramColumns[g]; found {
			w.grams = append(w.grams, j)
			w.weight = max(w.weight, v.grams[j].IDF)
		}
	})
	w.scale = 1 / math.Sqrt(float64(max(len(w.grams), 1)))
}

// Grams returns the pieces of words that have weights of their own. They must not be changed.
func (v *Vectorizer) Grams() []Gram { return v.grams }

// gramNorm returns 1/‖m‖ over the words of the last note's mentions, 0 if there are none.
func (t *Transformer) gramNorm() float64 {
	var square float64
	for i := range t.mentions {
		for _, l := range t.lexemes(i) {
			if l.word != nil {
				square += l.word.weight * l.word.weight
			}
		}
	}
	if square == 0 {
		return 0
	}
	return 1 / math.Sqrt(square)
}

// lexemes returns those of mention i.
func (t *Transformer) lexemes(i int) []lexeme { return t.lex[t.mentions[i].first:t.mentions[i].last] }

// GramSum returns the inner product of weights, one per gram, with the row of pieces of words of the last note.
func (t *Transformer) GramSum(weights []float64) float64 {
	norm, total := t.gramNorm(), 0.0
	t.gramSums = t.gramSums[:0]
	for i := range t.mentions {
		all := 0.0
		for _, l := range t.lexemes(i) {
			if l.word == nil || len(l.word.grams) == 0 {
				continue
			}
			sum := 0.0
			for _, g := range l.word.grams {
				sum += weights[g]
			}
			all += sum * norm * l.word.weight * l.word.scale
		}
		total += all
		t.gramSums = append(t.gramSums, all)
	}
	return total
}

// WithGrams returns a vectorizer that knows the pieces of the words of docs too, at least MinDF distinct patients with each, and
// their rows, n×G. The row of a note is
//
//	Σ_w m_w·g_w/√|g_w| / √(Σ_w m_w²)
//
// over the words w of its mentions, where g_w counts the pieces of w and m_w is the largest idf among them. Words that only lead
// to what they stand next to, such as "denies" and "c/o", and dropped stop words have no pieces.
func (v *Vectorizer) WithGrams(docs []Document) (*Vectorizer, *matrix.CSR, error) {
	tallies := make(map[string]*tally)
	t := v.Transformer()
	order, patient, patients := byPatient(docs)
	seen := make(map[*word][]*tally)
	for _, i := range order {
		t.analyze(docs[i].Text)
		for k := range t.mentions {
			for _, l := range t.lexemes(k) {
				if l.word == nil || l.kind != letters {
					continue
				}
				own, found := seen[l.word]
				if !found {
					eachGram(l.word.raw, func(g string) {
						if tallies[g] == nil {
							tallies[g] = &tally{}
						}
						own = append(own, tallies[g])
					})
					seen[l.word] = own
				}
				for _, c := range own {
					c.count(patient[i])
				}
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
		for k := range t.mentions {
			for _, l := range t.lexemes(k) {
				if l.word == nil {
					continue
				}
				x := norm * l.word.weight * l.word.scale
				for _, g := range l.word.grams {
					if row[g] == 0 {
						indices = append(indices, g)
					}
					row[g] += x
				}
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
