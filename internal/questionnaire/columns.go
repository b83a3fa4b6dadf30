package questionnaire

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/wardcast/wardcast/models"
)

// Columns says what the columns of a table of answers mean.
type Columns struct {
	// Items are patterns of the names of the items: * stands for any characters, ? for one. A pattern that begins with !
	// takes items out again, those of the codebook where all patterns do. None means the items of the codebook.
	Items []string
	// ID names the column of the participants' ids; "" means DefaultID where there is such a column, else the one that
	// differs from it in capitals alone; without one participants are numbered from 1.
	ID string
	// Confounds are what is known of each participant besides the answers.
	Confounds []Confound
	// OmitIncomplete leaves participants without a value of some confound out; else they are an error.
	OmitIncomplete bool
	// Labels are outcomes for Evaluate. They are never items.
	Labels []Label
	// Visits, when not nil, lets a file have several rows of one participant, each of another time.
	Visits *Visits
	// Missing are codes of a missing entry besides those that every table may use: an empty cell, NA, NaN and a dot.
	Missing []string
	// Range is that of the answers of all items that have none of their own in the codebook. nil is the least and the
	// largest answer to any of them.
	Range *Range
	// FromLow counts answers from the low end of their range: 1 to 5 as 0 to 4. A range that begins below 0 wants it.
	FromLow bool
	// Reversed are patterns of items that are scored from the other end of their range, besides those of the codebook.
	Reversed []string
	// Codebook describes items by their names. What it tells of columns that are no items is ignored.
	Codebook []Item
}

// OnlyExclude reports whether the patterns of items, if any, only take some out.
func (c *Columns) OnlyExclude() bool {
	return !slices.ContainsFunc(c.Items, func(pattern string) bool { return !strings.HasPrefix(strings.TrimSpace(pattern), "!") })
}

// DefaultID is the column of ids where none is named.
const DefaultID = "id"

// Item is a question.
type Item struct {
	Name     string `json:"item"`
	Text     string `json:"text,omitempty"`
	Subscale string `json:"subscale,omitempty"`
	// Range is that of the answers; nil in a codebook that does not tell.
	Range *Range `json:"range"`
	// Reversed items count an answer v as low+high−v.
	Reversed bool `json:"reversed,omitempty"`
}

// Range is that of answers, both ends included.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// ParseRange reads "0:4".
func ParseRange(s string) (*Range, error) {
	low, high, _ := strings.Cut(s, ":")
	r, err := newRange(low, high)
	if err != nil {
		return nil, fmt.Errorf("%w: range %q: %w", ErrOptions, s, err)
	}
	return r, nil
}

func newRange(low, high string) (*Range, error) {
	a, errLow := number(low)
	b, errHigh := number(high)
	if errLow != nil || errHigh != nil || !(a < b) {
		return nil, ErrRange
	}
	return &Range{a, b}, nil
}

// number reads a finite decimal number, without what else is a number in Go: underscores and hexadecimal digits.
func number(s string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	switch {
	case err != nil || strings.ContainsAny(s, "_xX"):
		return 0, ErrNotNumber
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, ErrNotFinite
	}
	return v, nil
}

// Confound is a known variable that answers may depend on. Numeric ones have a range: that of training, unless it is known
// beforehand. Categorical ones have levels, those of training in ascending order.
type Confound struct {
	Name   string         `json:"name"`
	Kind   models.AuxKind `json:"kind"`
	Range  *Range         `json:"range,omitempty"`
	Levels []string       `json:"levels,omitempty"`
}

// ParseConfounds reads "age:numeric", "age:numeric:5:18" with a known range, and "sex:categorical".
func ParseConfounds(list []string) ([]Confound, error) {
	var all []Confound
	for _, s := range list {
		if strings.TrimSpace(s) == "" {
			continue
		}
		parts := strings.Split(s, ":")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		c := Confound{Name: parts[0]}
		if len(parts) > 1 {
			c.Kind = models.AuxKind(parts[1])
		}
		ok := c.Name != "" && (len(parts) == 2 && (c.Kind == models.Numeric || c.Kind == models.Categorical) || len(parts) == 4 && c.Kind == models.Numeric)
		if ok && len(parts) == 4 {
			var err error
			c.Range, err = newRange(parts[2], parts[3])
			ok = err == nil
		}
		if !ok {
			return nil, fmt.Errorf("%w: confound %q: want column:%s, column:%s:low:high or column:%s", ErrOptions, s, models.Numeric, models.Numeric, models.Categorical)
		}
		if slices.ContainsFunc(all, func(o Confound) bool { return o.Name == c.Name }) {
			return nil, fmt.Errorf("%w: confound %q is given twice", ErrOptions, c.Name)
		}
		all = append(all, c)
	}
	return all, nil
}

// Label is a column of outcomes, and the value that counts as positive.
type Label struct {
	Name     string `json:"label"`
	Positive string `json:"positive"`
}

// ParseLabels reads "adhd", whose positive value is 1, and "sex=F".
func ParseLabels(list []string) ([]Label, error) {
	var all []Label
	for _, s := range list {
		name, positive, given := strings.Cut(s, "=")
		l := Label{strings.TrimSpace(name), strings.TrimSpace(positive)}
		if !given {
			l.Positive = "1"
		}
		if l.Name == "" || l.Positive == "" {
			return nil, fmt.Errorf("%w: label %q: want a column, or column=value with the value that counts as positive", ErrOptions, s)
		}
		if slices.Contains(all, l) {
			return nil, fmt.Errorf("%w: label %q is given twice", ErrOptions, s)
		}
		all = append(all, l)
	}
	return all, nil
}

// match reports whether the pattern, with * for any characters and ? for one, matches all of the name.
func match(pattern, name string) bool {
	p, n := []rune(pattern), []rune(name)
	star, from := -1, 0 // the last * and where what it stands for ends
	i, j := 0, 0
	for j < len(n) {
		switch {
		case i < len(p) && p[i] == '*':
			star, from = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == n[j]):
			i++
			j++
		case star >= 0:
			from++
			i, j = star+1, from
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}

// pick marks which of the names the patterns take, or take out. It returns an error for a pattern that is of no use: it
// matches no name, where it takes out not even one of the columns of the file. A column may thus become a label, say, and stay in
// the patterns.
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
			return &Error{Err: fmt.Errorf("%w %q", ErrNoItem, pattern)}
		}
	}
	return nil
}
