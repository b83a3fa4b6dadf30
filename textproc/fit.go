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
	return countDocs(draft, docs).learn(draft)
}

// countTerms returns, for every term of texts and each of its surface forms, the number of distinct patients.
func countTerms(v *Vectorizer, texts iter.Seq2[int, string]) map[string]*tally {
	tallies := make(map[string]*tally)
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
	return tallies
}

// ordered is documents in the order of their patients, in shares that goroutines read; no patient is in two shares.
type ordered struct {
	order    []int // of docs
	patient  []int // of each document
	patients int   // how many there are
	shares   [][2]int
}

func inOrder(docs []Document) *ordered {
	number := make(map[string]int, len(docs))
	o := &ordered{order: make([]int, len(docs)), patient: make([]int, len(docs))}
	for i, d := range docs {
		n, seen := number[d.Patient]
		if !seen || d.Patient == "" {
			n = o.patients
			number[d.Patient] = n
			o.patients++
		}
		o.order[i], o.patient[i] = i, n
	}
	slices.SortStableFunc(o.order, func(a, b int) int { return cmp.Compare(o.patient[a], o.patient[b]) })
	for count, from := runtime.GOMAXPROCS(0), 0; len(o.shares) == 0 || from < len(docs); {
		to := min(from+(len(docs)+count-1)/count, len(docs))
		for to < len(docs) && o.patient[o.order[to]] == o.patient[o.order[to-1]] {
			to++
		}
		o.shares = append(o.shares, [2]int{from, to})
		from = to
	}
	return o
}

// gather calls count with the patients and texts of each share of docs, on a goroutine each, and merges the results. It
// returns the number of patients too.
func gather[T any](docs []Document, merge func(all, more T), count func(iter.Seq2[int, string]) T) (T, int) {
	o := inOrder(docs)
	results := make([]T, len(o.shares))
	var wg sync.WaitGroup
	for s, bounds := range o.shares {
		wg.Go(func() {
			results[s] = count(func(yield func(int, string) bool) {
				for _, i := range o.order[bounds[0]:bounds[1]] {
					if !yield(o.patient[i], docs[i].Text) {
						return
					}
				}
			})
		})
	}
	wg.Wait()
	for _, more := range results[1:] {
		merge(results[0], more)
	}
	return results[0], o.patients
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
