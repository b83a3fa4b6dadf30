package textproc

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

//go:embed words/synonyms.txt
var synonymsFile string

//go:embed words/stopwords.txt
var stopWordsFile string

func builtinSynonyms() map[string]string {
	table, err := LoadSynonyms(strings.NewReader(synonymsFile))
	if err != nil {
		panic("textproc: built-in synonyms: " + err.Error())
	}
	return table
}

func builtinStopWords() []string {
	var words []string
	for line := range strings.Lines(stopWordsFile) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			words = append(words, line)
		}
	}
	return words
}

// LoadSynonyms reads a table for Settings.Synonyms. A line holds one entry, blank lines and those that begin with
// # are skipped:
//
//	word = words that stand for it
//
// The left side is one word (fx) or words joined by slashes, the last of which may be missing (c/o, n/v/d, w/).
// The right side is one or more words; they pass the stop words and the stemmer like words of a note, but are not
// looked up again. Case does not matter. An error names the line; it is about a malformed entry, a repeated word
// or the reader.
func LoadSynonyms(r io.Reader) (map[string]string, error) {
	table := make(map[string]string)
	lines := bufio.NewScanner(r)
	number := 0
	for lines.Scan() {
		number++
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		word, words, found := strings.Cut(line, "=")
		if !found {
			return nil, fmt.Errorf("reading synonyms: line %d: no = between a word and its meaning", number)
		}
		word, words = foldString(strings.TrimSpace(word)), foldString(strings.TrimSpace(words))
		if err := checkSynonym(word, words); err != nil {
			return nil, fmt.Errorf("reading synonyms: line %d: %w", number, err)
		}
		if _, again := table[word]; again {
			return nil, fmt.Errorf("reading synonyms: line %d: %q stands in the table already", number, word)
		}
		table[word] = words
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading synonyms: line %d: %w", number+1, err)
	}
	return table, nil
}

// checkSynonym returns an error unless the scanner can find the folded word in a note and words is a list of words.
func checkSynonym(word, words string) error {
	parts := strings.Split(word, "/")
	for i, part := range parts {
		if last := i > 0 && i == len(parts)-1; !isWord(part) && !(last && part == "") {
			return fmt.Errorf("%q is neither a word nor words joined by slashes", word)
		}
	}
	if len(word) > maxWord {
		return fmt.Errorf("%q is longer than %d bytes", word, maxWord)
	}
	fields := strings.Fields(words)
	if len(fields) == 0 {
		return fmt.Errorf("nothing stands for %q", word)
	}
	for _, field := range fields {
		if !isWord(field) {
			return fmt.Errorf("%q, which stands for %q, is not a word", field, word)
		}
	}
	return nil
}

// isWord reports whether the scanner takes the folded s for one word.
func isWord(s string) bool {
	if s == "" || len(s) > maxWord || !utf8.ValidString(s) {
		return false
	}
	letter := false // before i stands a letter or mark
	for i, c := range s {
		switch {
		case unicode.IsLetter(c), letter && unicode.IsMark(c):
			letter = true
		case c == '\'' && letter && i+1 < len(s):
			letter = false
		default:
			return false
		}
	}
	return letter
}
