package textproc

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed concepts/style.tsv
var styleFile string

// standing is what an explanation makes of a word or a concept.
type standing uint8

const (
	nameable standing = iota // a finding, measure, mechanism, drug, place or function of the patient
	unnamed                  // none of them
	withNext                 // part of the finding straight after it: upper arm
	withLast                 // part of the finding straight before it: thrown out
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
		"other": {s.words, unnamed}, "verb": {s.stems, unnamed}, "before": {s.words, withNext},
		"behind": {s.words, withLast}, "concept": {s.concepts, unnamed},
	}
	err := lines(strings.NewReader(styleFile), 2, func(fields []string) error {
		kind := kinds[fields[0]]
		for w := range strings.FieldsSeq(fields[1]) {
			if fields[0] == "verb" {
				w = stem(w)
			}
			kind.of[w] = kind.is
		}
		return nil
	})
	if err != nil {
		panic("textproc: words of style: " + err.Error())
	}
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
		return t.lex[m.first].word.standing
	}
	terms := m.terms[:len(m.terms)-m.parts]
	if i := slices.IndexFunc(terms, func(x *term) bool { return x.standing == nameable }); i >= 0 || len(terms) == 0 {
		return nameable
	}
	return terms[0].standing
}

// Style reports for each column whether explanations name it: words that are no finding, and phrases of such words, are
// style. A side or direction counts as style, since only the finding beside it is one.
func (v *Vectorizer) Style() []bool {
	style := make([]bool, len(v.vocabulary))
	isStyle := func(j int) bool {
		_, text := StatusOf(v.vocabulary[j].Text)
		_, stop := v.stops[text]
		if v.names[text] {
			return v.terms[text].standing != nameable
		}
		return stop || styles().word(append(v.vocabulary[j].Surface, text)[0], text) != nameable
	}
	for j := range style {
		words := strings.Fields(v.vocabulary[j].Text)
		style[j] = !slices.ContainsFunc(words, func(w string) bool {
			k, found := v.columns[w]
			return !found || !isStyle(int(k))
		})
	}
	return style
}
