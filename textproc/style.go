package textproc

import (
	"slices"
	"strings"
	"sync"

	"github.com/wardcast/wardcast/internal/lists"
)

// standing is what an explanation makes of a word or a concept.
type standing uint8

const (
	nameable standing = iota // a finding, measure, mechanism, drug, place or function of the patient
	apart                    // the same, and joins no other: er
	last                     // the same, and joins what stands before: typhoid vaccine
	place                    // of the body
	bare                     // no finding, unless it touches one: witnessed
	light                    // a verb that says nothing without what it touches: given apap; style alone
	beside                   // a side, degree or particle, which counts for what it touches, and is style alone
	linking                  // may stand inside a phrase: of, on
	unnamed                  // none of them
)

// style is the words and concepts that are no finding.
type style struct {
	words, stems, concepts map[string]standing
}

var styles = sync.OnceValue(func() *style {
	s := &style{map[string]standing{}, map[string]standing{}, map[string]standing{}}
	kinds := map[string]struct {
		of map[string]standing
		is standing
	}{
		"apart": {s.words, apart}, "last": {s.words, last}, "place": {s.words, place}, "bare": {s.stems, bare}, "light": {s.words, light}, "beside": {s.words, beside},
		"link":  {s.words, linking},
		"other": {s.words, unnamed}, "verb": {s.stems, unnamed}, "concept": {s.concepts, unnamed},
	}
	builtinLines("style.tsv", 2, func(fields []string) error {
		kind := kinds[fields[0]]
		for w := range strings.FieldsSeq(fields[1]) {
			if fields[0] == "verb" || fields[0] == "bare" {
				w = stem(w)
			}
			kind.of[w] = kind.is
		}
		return nil
	})
	return s
})

// word returns the standing of a folded word, with its stem, that no concept holds.
func (s *style) word(raw, stem string) standing {
	if is := s.words[raw]; is != nameable {
		return is
	}
	return s.stems[stem]
}

// standing returns what an explanation makes of a mention.
func (t *Transformer) standing(m *mention) standing {
	switch {
	case m.measure != nil:
		return nameable
	case m.stop:
		return unnamed
	case m.entry == nil:
		w := t.lex[m.first].word
		if w.standing == nameable && len(w.raw) > len("only") && strings.HasSuffix(w.raw, "ly") { // slowly
			return bare
		}
		return w.standing
	}
	terms := m.terms[:len(m.terms)-m.parts]
	if slices.ContainsFunc(terms, func(x *term) bool { return x.standing == nameable }) || len(terms) == 0 {
		if m.entry.Kind == "anatomy" {
			return place
		}
		return nameable
	}
	return terms[0].standing
}

// Style reports for each column whether explanations name it: words that are no finding, and phrases of such words, are
// style. A side or direction counts as style, since only the finding beside it is one.
func (v *Vectorizer) Style() []bool {
	isStyle := func(t Term) bool {
		_, text := StatusOf(t.Text)
		if v.names[text] {
			return v.terms[text].standing >= light
		}
		return v.stops[text] || styles().word(append(t.Surface, text)[0], text) >= light
	}
	return lists.Map(v.vocabulary, func(t Term) bool {
		return !slices.ContainsFunc(strings.Fields(t.Text), func(w string) bool {
			j, found := v.columns[w]
			return !found || !isStyle(v.vocabulary[j])
		})
	})
}
