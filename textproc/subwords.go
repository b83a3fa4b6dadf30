package textproc

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/wardcast/wardcast/solver/matrix"
)

// Lengths of the pieces of words, in runes, with a mark before and after the word.
const (
	shortestPiece = 3
	longestPiece  = 4
	edgeOfWord    = ' '
)

// The pieces of all words of a note that the model does not know weigh at most as much as those of one that it knows,
// such that one in partOfWords of them weighs less. The middle one of them bounds names half as well, and predicts no
// better.
const partOfWords = 10

// Piece is a piece of a word: three or four letters, with a space for the beginning or end of the word. In words that
// are possible, past or another person's it begins with "not:"; words that are denied have none.
type Piece struct {
	Text string  `json:"piece"`
	IDF  float64 `json:"idf"`
}

// cutting is the pieces of a word. A word has one cutting for affirmed mentions and one for others, so that a denied
// word never counts as affirmed.
type cutting struct {
	pieces []int32
	idf    []float64 // of the pieces
	square float64   // sum of the squares of idf
}

var piecePrefixes = [2]string{"", prefixes[Negated]}

func eachPiece(raw string, yield func(string)) {
	text := string(edgeOfWord) + raw + string(edgeOfWord)
	starts := make([]int, 0, len(text)+1)
	for i := range text {
		starts = append(starts, i)
	}
	starts = append(starts, len(text))
	for n := shortestPiece; n <= longestPiece; n++ {
		for i := 0; i+n < len(starts); i++ {
			yield(text[starts[i]:starts[i+n]])
		}
	}
}

// setPieces gives the vectorizer its pieces of words. It returns an error that wraps ErrVocabulary if one is empty,
// repeated or not UTF-8, or has an idf that is not positive.
func (v *Vectorizer) setPieces(pieces []Piece) error {
	v.pieces = slices.Clone(pieces)
	v.pieceColumns = make(map[string]int32, len(pieces))
	for j, g := range pieces {
		_, again := v.pieceColumns[g.Text]
		if n := utf8.RuneCountInString(strings.TrimPrefix(g.Text, piecePrefixes[1])); again || n < shortestPiece ||
			n > longestPiece || !utf8.ValidString(g.Text) || !(g.IDF > 0) || math.IsInf(g.IDF, 1) {
			return fmt.Errorf("%w: piece of words %d is malformed or appears twice", ErrVocabulary, j)
		}
		v.pieceColumns[g.Text] = int32(j)
	}
	var squares []float64
	for _, w := range v.words {
		v.cut(w)
		if square := w.cuttings[0].square; square > 0 && w.standing < light {
			squares = append(squares, square)
		}
	}
	if slices.Sort(squares); len(squares) > 0 {
		v.mostUnknown = squares[len(squares)/partOfWords]
	}
	return nil
}

func (v *Vectorizer) cut(w *word) {
	if len(v.pieces) == 0 {
		return
	}
	for kind, prefix := range piecePrefixes {
		p := cutting{}
		eachPiece(w.raw, func(g string) {
			if j, found := v.pieceColumns[prefix+g]; found {
				idf := v.pieces[j].IDF
				p.pieces, p.idf, p.square = append(p.pieces, j), append(p.idf, idf), p.square+idf*idf
			}
		})
		w.cuttings[kind] = p
	}
}

// Pieces returns the pieces of words that have weights of their own. They must not be changed.
func (v *Vectorizer) Pieces() []Piece { return v.pieces }

// words returns the words of the last note's mention i whose pieces count: those of the note, or for a concept those of
// its name, so that a meaning counts the same whatever was typed. A measurement has none, and what is denied neither:
// its pieces come from few notes. They are valid until the next call.
func (t *Transformer) words(i int) []*word {
	m := &t.mentions[i]
	t.spelled = t.spelled[:0]
	switch {
	case m.measure != nil || m.status == Negated:
	case m.entry != nil:
		for _, x := range m.terms[:len(m.terms)-m.parts] {
			t.spelled = append(t.spelled, x.words...)
		}
	default:
		for k := m.first; k < m.last; k++ {
			if w := t.lex[k].word; w != nil && t.lex[k].kind == letters && w.standing < light &&
				!(m.named && !w.shared) {
				t.spelled = append(t.spelled, w)
			}
		}
	}
	return t.spelled
}

// pieceKind is 0 if mention i is affirmed, else 1.
func (t *Transformer) pieceKind(i int) int {
	if t.prefixOf(&t.mentions[i]) == Affirmed {
		return 0
	}
	return 1
}

// pieceNorms returns what the pieces of the last note's words are multiplied by: those of known words by 1/√(Σ idf² +
// u), those of others by √(u/Σ' idf²) of this, where Σ' is over the latter, and u is Σ' idf² but at most mostUnknown.
// So a name that nothing marks as one neither adds much nor takes much from the other words.
func (t *Transformer) pieceNorms() (norms [2]float64) {
	var squares [2]float64
	for i := range t.mentions {
		kind := t.pieceKind(i)
		for _, w := range t.words(i) {
			squares[w.familiarity()] += w.cuttings[kind].square
		}
	}
	unknown := squares[1]
	if squares[0] > 0 {
		unknown = min(unknown, t.v.mostUnknown)
	}
	if square := squares[0] + unknown; square > 0 {
		norms[0] = 1 / math.Sqrt(square)
	}
	if squares[1] > 0 {
		norms[1] = norms[0] * math.Sqrt(unknown/squares[1])
	}
	return norms
}

// familiarity is 0 if the model knows w, else 1.
func (w *word) familiarity() int {
	if w.shared {
		return 0
	}
	return 1
}

// PieceSum returns the inner product of weights, one per piece, with the row of pieces of words of the last note.
func (t *Transformer) PieceSum(weights []float64) float64 {
	norms, total := t.pieceNorms(), 0.0
	t.pieceSums = t.pieceSums[:0]
	for i := range t.mentions {
		all, kind := 0.0, t.pieceKind(i)
		for _, w := range t.words(i) {
			p, sum := &w.cuttings[kind], 0.0
			for k, g := range p.pieces {
				sum += weights[g] * p.idf[k]
			}
			all += sum * norms[w.familiarity()]
		}
		t.pieceSums = append(t.pieceSums, all)
		total += all
	}
	return total
}

// WordUse is a word of a text, folded, and whether it is affirmed (0) or not (1).
type WordUse struct {
	Raw  string `json:"w"`
	Kind int    `json:"k"`
}

// Words is the words of notes that have pieces, each affirmed or not, as columns between notes and pieces. It is
// immutable.
type Words struct {
	columns map[WordUse]int32
	pieces  *matrix.CSR
}

// Uses returns the words in the order of their columns.
func (w *Words) Uses() []WordUse {
	return slices.SortedFunc(maps.Keys(w.columns),
		func(a, b WordUse) int { return cmp.Compare(w.columns[a], w.columns[b]) })
}

// Pieces returns g_w for each word, W×G: see TransformPieces.
func (w *Words) Pieces() *matrix.CSR { return w.pieces }

// LearnPieces returns a vectorizer that also has the pieces of the words of docs, each in at least MinDF distinct
// patients or in common words of at least MinCommon, and the words of docs that have pieces. The product of the rows by
// WordRow, n×W, and Words.Pieces is TransformPieces, in about a tenth of the entries.
func (v *Vectorizer) LearnPieces(docs []Document) (*Vectorizer, *Words, error) {
	return v.CountPieces(docs).LearnPieces(v)
}

func (v *Vectorizer) countPieces(texts iter.Seq2[int, string]) *Counts {
	c := newCounts()
	t := v.Transformer()
	t.bound = math.MaxInt
	type key struct {
		word *word
		kind int
	}
	seen := make(map[key][]*tally)
	for patient, text := range texts {
		t.analyze(text)
		for m := range t.mentions {
			kind := t.pieceKind(m)
			for _, w := range t.words(m) {
				own, found := seen[key{w, kind}]
				if !found {
					common := v.isCommon(w.raw)
					c.words[WordUse{w.raw, kind}] = struct{}{}
					eachPiece(w.raw, func(g string) {
						g = piecePrefixes[kind] + g
						if c.tallies[g] == nil {
							c.tallies[g] = &tally{surfaces: map[string]*tally{}}
						}
						own = append(own, c.tallies[g])
						if !common {
							return
						}
						if c.tallies[g].surfaces[""] == nil {
							c.tallies[g].surfaces[""] = &tally{}
						}
						own = append(own, c.tallies[g].surfaces[""])
					})
					seen[key{w, kind}] = own
				}
				for _, g := range own {
					g.count(patient)
				}
			}
		}
	}
	return c
}

// LayWords numbers those of the words that have pieces, in the order of their bytes, and lays out their pieces.
func (v *Vectorizer) LayWords(all []WordUse) *Words {
	slices.SortFunc(all,
		func(a, b WordUse) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Raw, b.Raw)) })
	out := &Words{columns: make(map[WordUse]int32, len(all))}
	indptr, indices, values := []int{0}, []int32{}, []float64{}
	for _, s := range all {
		w := word{raw: s.Raw}
		v.cut(&w)
		p := w.cuttings[s.Kind]
		if len(p.pieces) == 0 {
			continue
		}
		out.columns[s] = int32(len(indptr) - 1)
		slices.Sort(p.pieces)
		for from := 0; from < len(p.pieces); {
			to := from
			for to < len(p.pieces) && p.pieces[to] == p.pieces[from] {
				to++
			}
			g := p.pieces[from]
			indices, values = append(indices, g), append(values, float64(to-from)*v.pieces[g].IDF)
			from = to
		}
		indptr = append(indptr, len(indices))
	}
	out.pieces = rows(len(v.pieces), indptr, indices, values)
	return out
}

// RowWith calls yield with the columns and values of the row of a note, and behind the terms with those of its words
// unless words is nil.
func (t *Transformer) RowWith(text string, words *Words, yield func(column int, value float64)) {
	row := t.Row(text)
	for e, j := range row.Columns {
		yield(int(j), row.Values[e])
	}
	if words != nil {
		terms := len(t.v.vocabulary)
		t.WordRow(words, func(j int32, v float64) { yield(terms+int(j), v) })
	}
}

// WordRow calls yield with the columns and values of the last note's words, in their order. A word that occurs twice is
// yielded twice.
func (t *Transformer) WordRow(words *Words, yield func(column int32, value float64)) {
	norms := t.pieceNorms()
	for m := range t.mentions {
		kind := t.pieceKind(m)
		for _, w := range t.words(m) {
			if j, found := words.columns[WordUse{w.raw, kind}]; found {
				yield(j, norms[w.familiarity()])
			}
		}
	}
}

// TransformPieces returns the rows of pieces of words of texts, n×G, on one thread. The row of a note is
//
//	Σ_w g_w / √(Σ_w Σ_{g∈w} idf(g)²)
//
// over the words w of its mentions (see words), where g_w holds the idf of each piece of w as often as w has it. It is
// the tf-idf of the pieces, but for the length, which takes pieces that several words share for different ones: so each
// word has a part of the sum of its own. Words that the model does not know are bounded: see pieceNorms.
func (v *Vectorizer) TransformPieces(texts []string) *matrix.CSR {
	t := v.Transformer()
	indptr := make([]int, 1, len(texts)+1)
	var indices []int32
	var values []float64
	row := make([]float64, len(v.pieces))
	for _, text := range texts {
		t.analyze(text)
		norms := t.pieceNorms()
		from := len(indices)
		for m := range t.mentions {
			kind := t.pieceKind(m)
			for _, w := range t.words(m) {
				p := &w.cuttings[kind]
				for k, g := range p.pieces {
					if row[g] == 0 {
						indices = append(indices, g)
					}
					row[g] += norms[w.familiarity()] * p.idf[k]
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
	return rows(len(v.pieces), indptr, indices, values)
}
