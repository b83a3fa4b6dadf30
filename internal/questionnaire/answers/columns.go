package answers

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/internal/questionnaire"
)

// DefaultID is the column of ids if none is named.
const DefaultID = "id"

// Columns says what the columns of a file of answers mean.
type Columns struct {
	// Items are patterns of the names of the items: * stands for any characters, ? for one. A pattern that begins with !
	// takes items out again; if all patterns do, they take items of the codebook out. Empty means the items of the codebook.
	Items []string
	// ID names the column of the participants' ids. "" means DefaultID if there is such a column, else the one that differs
	// from it only in capitals. Without any, participants are numbered from 1.
	ID string
	// Confounds are known variables that answers may depend on.
	Confounds []questionnaire.Confound
	// OmitIncomplete leaves out participants who lack a confound; otherwise they are an error.
	OmitIncomplete bool
	// Labels are outcomes to predict. They are never items.
	Labels []questionnaire.Label
	// Visits, when not nil, lets a file have several rows for one participant, each at another time.
	Visits *questionnaire.Visits
	// Missing are codes of missing entries besides those of every file: an empty cell, NA, NaN and a dot.
	Missing []string
	// Range holds for the answers to all items that have no range in the codebook. nil is the least and the largest answer
	// to any of them.
	Range *questionnaire.Range
	// FromLow counts answers from the low end of their range: 1 to 5 as 0 to 4. A range that begins below 0 needs it.
	FromLow bool
	// Reversed are patterns of items that are scored from the other end of their range, besides those of the codebook.
	Reversed []string
	// Codebook describes items by their names. Descriptions of columns that are not items are ignored.
	Codebook []questionnaire.Item
}

// OnlyExclude reports whether the patterns of items, if any, only take some out.
func (c *Columns) OnlyExclude() bool {
	return !slices.ContainsFunc(c.Items, func(pattern string) bool { return !strings.HasPrefix(strings.TrimSpace(pattern), "!") })
}

// match reports whether the pattern, with * for any characters and ? for one, matches all of the name.
func match(pattern, name string) bool {
	expression := strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(strings.ToValidUTF8(pattern, "\ufffd")))
	return regexp.MustCompile("(?s)^" + expression + "$").MatchString(name)
}

// pick marks which of the names the patterns take, or take out again. It returns an error for a pattern without effect: one
// that matches no name and does not take out any column of the file. So a column may become a label and stay in the patterns.
func pick(taken []bool, patterns, names, columns []string) error {
	for _, pattern := range patterns {
		p, out := strings.CutPrefix(strings.TrimSpace(pattern), "!")
		found := out && slices.ContainsFunc(columns, func(name string) bool { return match(p, name) })
		for i, name := range names {
			if match(p, name) {
				taken[i], found = !out, true
			}
		}
		if !found {
			return fmt.Errorf("%w %q", questionnaire.ErrNoItem, pattern)
		}
	}
	return nil
}
