package textproc

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/wardcast/wardcast/solver/matrix"
)

// maxSurfaces is the most surface forms that a term keeps.
const maxSurfaces = 3

// Document is a note to learn the vocabulary from.
type Document struct {
	Patient string // notes of one patient count once in every frequency; "" is a patient of its own
	Text    string
}

// tally counts distinct patients, whose notes are read one patient after the other.
type tally struct {
	patients int
	last     int // the patient counted last
	surfaces map[string]*tally
}

func (c *tally) count(patient int) {
	if c.patients == 0 || c.last != patient {
		c.patients++
		c.last = patient
	}
}

// Fit learns vocabulary and idf from docs and returns the vectorizer with the rows of docs, n×p. Columns are in the
// order of the bytes of their terms. Neither the order of docs nor anything random has influence.
//
// It returns an error that wraps ErrSettings, or ErrEmptyVocabulary if MinDF and MaxDF leave no term. The cost is that
// of reading docs twice; memory grows with the distinct terms.
func Fit(docs []Document, s Settings) (*Vectorizer, *matrix.CSR, error) {
	draft, err := newVectorizer(s)
	if err != nil {
		return nil, nil, err
	}
	tallies, patients := countPatients(docs, draft)
	vocabulary := choose(tallies, patients, s)
	if len(vocabulary) == 0 {
		return nil, nil, fmt.Errorf("%w: of %d terms in %d notes of %d patients none is in at least %d patients "+
			"and in at most a share of %v of them",
			ErrEmptyVocabulary, len(tallies), len(docs), patients, s.MinDF, s.MaxDF)
	}
	idf := make([]float64, len(vocabulary))
	for j, t := range vocabulary {
		idf[j] = s.IDF.value(patients, t.DF)
	}
	v, err := New(draft.settings, vocabulary, idf)
	if err != nil {
		return nil, nil, err
	}
	texts := make([]string, len(docs))
	for i, d := range docs {
		texts[i] = d.Text
	}
	return v, v.Transform(texts), nil
}

// countPatients returns, for every term of docs and each of its surface forms, the number of distinct patients that have
// it, and the number of patients.
func countPatients(docs []Document, v *Vectorizer) (map[string]*tally, int) {
	order, patient, patients := byPatient(docs)
	tallies := make(map[string]*tally)
	t := v.Transformer()
	t.bound = math.MaxInt
	s := &v.settings
	for _, i := range order {
		t.analyze(docs[i].Text)
		count := func(from, to int32) {
			c := tallies[string(t.key)]
			if c == nil {
				c = &tally{surfaces: make(map[string]*tally)}
				tallies[string(t.key)] = c
			}
			c.count(patient[i])
			form := t.surfaceText(from, to)
			if c.surfaces[form] == nil {
				c.surfaces[form] = &tally{}
			}
			c.surfaces[form].count(patient[i])
		}
		for k := range t.mentions {
			m := &t.mentions[k]
			for _, x := range m.terms {
				t.key = append(append(t.key[:0], prefixes[t.prefixOf(m)]...), x.text...)
				count(int32(k), int32(k))
			}
		}
		if s.NGrams > 1 {
			t.phrases(count)
		}
	}
	return tallies, patients
}

// byPatient numbers the patients of docs and returns the documents in the order of their patients, the patient of each, and how many there
// are.
func byPatient(docs []Document) (order, patient []int, patients int) {
	number := make(map[string]int, len(docs))
	patient = make([]int, len(docs))
	order = make([]int, len(docs))
	for i, d := range docs {
		n, seen := number[d.Patient]
		if !seen || d.Patient == "" {
			n = patients
			number[d.Patient] = n
			patients++
		}
		patient[i], order[i] = n, i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(patient[a], patient[b]) })

	return order, patient, patients
}

// choose returns the vocabulary by MinDF, MaxDF and MaxTerms.
func choose(tallies map[string]*tally, patients int, s Settings) []Term {
	var vocabulary []Term
	for text, c := range tallies {
		if c.patients >= s.MinDF && float64(c.patients) <= s.MaxDF*float64(patients) {
			vocabulary = append(vocabulary, Term{Text: text, DF: c.patients})
		}
	}
	byText := func(a, b Term) int { return cmp.Compare(a.Text, b.Text) }
	if s.MaxTerms > 0 && len(vocabulary) > s.MaxTerms {
		slices.SortFunc(vocabulary, func(a, b Term) int { return cmp.Or(cmp.Compare(b.DF, a.DF), byText(a, b)) })
		vocabulary = vocabulary[:s.MaxTerms]
	}
	slices.SortFunc(vocabulary, byText)
	for j := range vocabulary {
		vocabulary[j].Surface = commonest(vocabulary[j].Text, tallies[vocabulary[j].Text].surfaces, s.MinDF)
	}
	return vocabulary
}

// commonest returns the surface forms of most patients, at least minDF, ties by the alphabet; or the term itself if there
// is none.
func commonest(text string, surfaces map[string]*tally, minDF int) []string {
	forms := slices.SortedFunc(maps.Keys(surfaces), func(a, b string) int {
		return cmp.Or(cmp.Compare(surfaces[b].patients, surfaces[a].patients), cmp.Compare(a, b))
	})
	n := 0
	for n < len(forms) && n < maxSurfaces && surfaces[forms[n]].patients >= minDF {
		n++
	}
	if n == 0 {
		return []string{text}
	}
	return slices.Clone(forms[:n])
}

// surfaceText returns the folded words of mentions [from,to], with one space where the note has any.
func (t *Transformer) surfaceText(from, to int32) string {
	var text []byte
	for i := t.mentions[from].first; i < t.mentions[to].last; i++ {
		l := &t.lex[i]
		if len(text) > 0 && !l.glued {
			text = append(text, ' ')
		}
		for _, c := range []byte(t.text[l.start:l.end]) {
			text = append(text, cmp.Or(lower[c], c))
		}
	}
	return string(text)
}

// value returns the idf of a term of df among n patients.
func (f IDF) value(n, df int) float64 {
	switch f {
	case PlainIDF:
		return math.Log(float64(n) / float64(df))
	case PlusOneIDF:
		return math.Log(float64(n)/float64(df)) + 1
	default: // SmoothIDF
		return math.Log((1+float64(n))/(1+float64(df))) + 1
	}
}
