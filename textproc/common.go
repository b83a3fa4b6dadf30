package textproc

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// commonFile holds the words of at least three letters a to z of Debian's wamerican 2020.12.07, one on a line, but
// those that it also has with a capital, as it has Baker and Burns, and those that have the stem of such a word:
// bakers, burning. wamerican is SCOWL (Kevin Atkinson and others, public domain and permissive licences, see
// wordlist.aspell.net).
//
//go:embed concepts/common.txt.gz
var commonFile []byte

// commonWords holds the words of commonFile.
var commonWords = sync.OnceValue(func() map[string]bool {
	words := make(map[string]bool)
	file, err := gzip.NewReader(bytes.NewReader(commonFile))
	if err != nil {
		panic("textproc: common words: " + err.Error())
	}
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
	w := v.words.lookup([]byte(raw))
	return len(raw) == 1 || w != nil && w.listed || commonWords()[raw]
}

// isCommonTerm is isCommon for a term: a concept, a measurement, a stem, or several.
func (v *Vectorizer) isCommonTerm(text string) bool {
	return !slices.ContainsFunc(strings.Fields(text), func(part string) bool {
		_, part = StatusOf(part)
		_, stop := v.stops[part]
		return !stop && !v.names[part] && !strings.Contains(part, ":") && !commonStems()[part]
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

//go:embed concepts/stopwords.txt
var stopWordsFile string

func builtinStopWords() []string { return listed(stopWordsFile) }

// listed returns the words of a list, one on a line, without comments.
func listed(file string) []string {
	words := slices.Collect(strings.Lines(file))
	for i, line := range words {
		words[i] = strings.TrimSpace(line)
	}
	return slices.DeleteFunc(words, func(word string) bool { return word == "" || word[0] == '#' })
}
