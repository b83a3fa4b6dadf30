package textproc

import (
	_ "embed"
	"slices"
	"strings"
)

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
