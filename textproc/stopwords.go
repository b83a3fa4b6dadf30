package textproc

import (
	_ "embed"
	"strings"
)

//go:embed concepts/stopwords.txt
var stopWordsFile string

func builtinStopWords() []string {
	var words []string
	for line := range strings.Lines(stopWordsFile) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			words = append(words, line)
		}
	}
	return words
}
