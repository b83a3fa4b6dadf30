package textproc

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/wardcast/wardcast/internal/lists"
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

// Fit is Learn and the rows of docs, n×p.
func Fit(docs []Document, s Settings) (*Vectorizer, *matrix.CSR, error) {
	v, err := Learn(docs, s)
	if err != nil {
		return nil, nil, err
	}
	texts := lists.Map(docs, func(d Document) string { return d.Text })
	return v, v.Transform(texts), nil
}

// Learn learns vocabulary and idf from docs. Columns are in the order of the bytes of their terms. The result does not
// depend on the order of docs, and nothing is random.
//
// It returns an error that wraps ErrSettings, or ErrEmptyVocabulary if MinDF and MaxDF leave no term. The cost is that
// of reading docs once, on up to GOMAXPROCS goroutines; memory grows with the distinct terms.
func Learn(docs []Document, s Settings) (*Vectorizer, error) {
	draft, err := newVectorizer(s)
	if err != nil {
		return nil, err
	}
	return gather(docs, draft.countTerms).learn(draft)
}

// countTerms counts, for every term of texts and each of its surface forms, the distinct patients.
func (v *Vectorizer) countTerms(texts iter.Seq2[int, string]) *Counts {
	all := newCounts()
	tallies := all.tallies
	draft := *v
	draft.terms = maps.Clone(v.terms) // a draft adds to them
	t := draft.Transformer()
	t.bound = math.MaxInt
	s := &v.settings
	var form []byte
	for patient, text := range texts {
		t.analyze(text)
		count := func(from, to int32) {
			c := tallies[string(t.key)]
			if c == nil {
				c = &tally{surfaces: make(map[string]*tally)}
				tallies[string(t.key)] = c
			}
			c.count(patient)
			form = t.appendSurface(form[:0], from, to)
			f := c.surfaces[string(form)]
			if f == nil {
				f = &tally{}
				c.surfaces[string(form)] = f
			}
			f.count(patient)
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
	return all
}

// gather returns what count makes of the patients and texts of docs, of which goroutines read a share each, one patient
// after the other; no patient is in two shares.
func gather(docs []Document, count func(iter.Seq2[int, string]) *Counts) *Counts {
	number, patients := make(map[string]int, len(docs)), 0
	order, patient := make([]int, len(docs)), make([]int, len(docs))
	for i, d := range docs {
		n, seen := number[d.Patient]
		if !seen || d.Patient == "" {
			n = patients
			number[d.Patient] = n
			patients++
		}
		order[i], patient[i] = i, n
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(patient[a], patient[b]) })
	shares := runtime.GOMAXPROCS(0)
	results := make([]*Counts, 0, shares)
	var wg sync.WaitGroup
	for from := 0; len(results) == 0 || from < len(docs); {
		to := min(from+(len(docs)+shares-1)/shares, len(docs))
		for to < len(docs) && patient[order[to]] == patient[order[to-1]] {
			to++
		}
		own, result := order[from:to], &Counts{}
		results = append(results, result)
		wg.Go(func() {
			*result = *count(func(yield func(int, string) bool) {
				for _, i := range own {
					if !yield(patient[i], docs[i].Text) {
						return
					}
				}
			})
		})
		from = to
	}
	wg.Wait()
	for _, more := range results[1:] {
		results[0].Add(more)
	}
	results[0].documents, results[0].patients = len(docs), patients
	return results[0]
}

// choose returns the vocabulary by MinDF, MinCommon, MaxDF and MaxTerms.
func (v *Vectorizer) choose(tallies map[string]*tally, patients int) []Term {
	s := &v.settings
	var vocabulary []Term
	for text, c := range tallies {
		if c.patients >= s.least(v.isCommonTerm(text)) && float64(c.patients) <= s.MaxDF*float64(patients) {
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
		vocabulary[j].Surface = v.commonest(vocabulary[j].Text, tallies[vocabulary[j].Text].surfaces)
	}
	return vocabulary
}

// commonest returns the surface forms of most patients, ties by the alphabet, that enough have; or the term itself if
// there is none.
func (v *Vectorizer) commonest(text string, surfaces map[string]*tally) []string {
	forms := slices.SortedFunc(maps.Keys(surfaces), func(a, b string) int {
		return cmp.Or(cmp.Compare(surfaces[b].patients, surfaces[a].patients), cmp.Compare(a, b))
	})
	forms = slices.Clone(forms[:min(len(forms), maxSurfaces)])
	forms = slices.DeleteFunc(forms, func(form string) bool {
		name := slices.ContainsFunc(lettersOf(form), func(raw string) bool { return !v.isCommon(raw) })
		return surfaces[form].patients < v.settings.least(!name)
	})
	if len(forms) == 0 {
		return []string{text}
	}
	return forms
}

// appendSurface appends the folded words of mentions [from,to], with one space where the note has any.
func (t *Transformer) appendSurface(text []byte, from, to int32) []byte {
	for i := t.mentions[from].first; i < t.mentions[to].last; i++ {
		l := &t.lex[i]
		if len(text) > 0 && !l.glued {
			text = append(text, ' ')
		}
		for _, c := range []byte(t.text[l.start:l.end]) {
			text = append(text, cmp.Or(lower[c], c))
		}
	}
	return text
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
