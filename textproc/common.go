package textproc

import (
	"bufio"
	"compress/gzip"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// commonWords holds the words of at least three letters a to z of Debian's wamerican 2020.12.07, but those that it also
// has with a capital, as it has Baker and Burns, and those that have the stem of such a word: bakers, burning.
// wamerican is SCOWL (Kevin Atkinson and others, public domain and permissive licences, see wordlist.aspell.net).
var commonWords = sync.OnceValue(func() map[string]bool {
	file, err := gzip.NewReader(strings.NewReader(builtinFile("common.txt.gz")))
	if err != nil {
		panic("textproc: common words: " + err.Error())
	}
	words := make(map[string]bool)
	for lines := bufio.NewScanner(file); lines.Scan(); {
		words[lines.Text()] = true
	}
	return words
})

// commonStems holds their stems. Only the choice of a vocabulary needs them.
var commonStems = sync.OnceValue(func() map[string]bool {
	stems := make(map[string]bool)
	for w := range commonWords() {
		stems[stem(w)] = true
	}
	return stems
})

// isCommon reports whether a folded word stands in the tables or among the common words, so that it is hardly a name.
func (v *Vectorizer) isCommon(raw string) bool {
	w := v.words[raw]
	return len(raw) == 1 || w != nil && w.listed || commonWords()[raw]
}

// isCommonTerm is isCommon for a term: a concept, a measurement, a stem, or several.
func (v *Vectorizer) isCommonTerm(text string) bool {
	return !slices.ContainsFunc(strings.Fields(text), func(part string) bool {
		_, part = StatusOf(part)
		return !v.stops[part] && !v.names[part] && !strings.Contains(part, ":") && !commonStems()[part]
	})
}

// least returns the number of patients that a term needs.
func (s *Settings) least(common bool) int {
	if common && s.MinCommon > 0 {
		return s.MinCommon
	}
	return s.MinDF
}

// lettersOf returns the words of a surface form.
func lettersOf(form string) []string {
	return strings.FieldsFunc(form, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) })
}

// listed returns the words of a built-in list, one on a line, without comments.
func listed(name string) []string {
	words := slices.Collect(strings.Lines(builtinFile(name)))
	for i, line := range words {
		words[i] = strings.TrimSpace(line)
	}
	return slices.DeleteFunc(words, func(word string) bool { return word == "" || word[0] == '#' })
}
