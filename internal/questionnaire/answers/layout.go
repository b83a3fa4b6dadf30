package answers

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/table"
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

// expression returns the regular expression of a pattern, in which * stands for any characters and ? for one.
func expression(pattern string) *regexp.Regexp {
	quoted := regexp.QuoteMeta(strings.ToValidUTF8(pattern, "\ufffd"))
	return regexp.MustCompile("(?s)^" + strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(quoted) + "$")
}

// pick marks which of the names the patterns take, or take out again. It returns an error for a pattern without effect: one
// that matches no name and does not take out any column of the file. So a column may become a label and stay in the patterns.
func pick(taken []bool, patterns, names, columns []string) error {
	for _, pattern := range patterns {
		p, out := strings.CutPrefix(strings.TrimSpace(pattern), "!")
		matches := expression(p).MatchString
		found := out && slices.ContainsFunc(columns, matches)
		for i, name := range names {
			if matches(name) {
				taken[i], found = !out, true
			}
		}
		if !found {
			return fmt.Errorf("%w %q", questionnaire.ErrNoItem, pattern)
		}
	}
	return nil
}

// layout says what the columns of a file hold.
type layout struct {
	*questionnaire.Missing
	id        int  // none without a column
	visits    bool // several rows for one participant; the time is the last of the confounds
	items     []questionnaire.Item
	itemAt    []int
	confounds []questionnaire.Confound
	at        []int // of the confounds
	labels    []questionnaire.Label
	labelAt   []int
	omit      bool // participants who lack a confound
}

const none = -1

// defaultID returns DefaultID if it is there, else the only column that differs from it in capitals, else "".
func (s *source) defaultID() (string, error) {
	if s.Index(DefaultID) >= 0 {
		return DefaultID, nil
	}
	alike := slices.DeleteFunc(slices.Clone(s.Header), func(name string) bool { return !strings.EqualFold(name, DefaultID) })
	switch len(alike) {
	case 0:
		return "", nil
	case 1:
		return alike[0], nil
	}
	return "", inColumn(alike[1], table.ErrColumnTwice)
}

// roles finds the columns that are not items.
func (s *source) roles(c *Columns) (*layout, error) {
	l := &layout{
		Missing: questionnaire.NewMissing(c.Missing), id: none, visits: c.Visits != nil, confounds: slices.Clone(c.Confounds),
		labels: c.Labels, omit: c.OmitIncomplete,
	}
	if l.visits {
		l.confounds = append(l.confounds, questionnaire.Confound{Name: c.Visits.Time, Kind: questionnaire.Numeric})
	}
	id, err := c.ID, error(nil)
	if id == "" {
		if id, err = s.defaultID(); err != nil {
			return nil, err
		}
	}
	switch {
	case id != "":
		if l.id, err = s.find(id); err != nil {
			return nil, err
		}
	case l.visits:
		return nil, inColumn(DefaultID, table.ErrNoColumn)
	}
	for _, confound := range l.confounds {
		at, err := s.find(confound.Name)
		if err == nil && (at == l.id || slices.Contains(l.at, at)) {
			err = inColumn(confound.Name, questionnaire.ErrTwoRoles)
		}
		if err != nil {
			return nil, err
		}
		l.at = append(l.at, at)
	}
	for _, label := range c.Labels {
		at, err := s.find(label.Name) // may be a confound too, and a label with several positive values
		if err != nil {
			return nil, err
		}
		l.labelAt = append(l.labelAt, at)
	}
	return l, nil
}

// layout finds the columns of a file. Given items are taken as they are; nil means those that the columns describe.
func (c *Columns) layout(s *source, items []questionnaire.Item) (*layout, error) {
	l, err := s.roles(c)
	if err == nil && items == nil {
		items, err = c.items(s, slices.Concat([]int{l.id}, l.at, l.labelAt))
	}
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		at, err := s.find(item.Name)
		if err != nil {
			return nil, err
		}
		l.items, l.itemAt = append(l.items, item), append(l.itemAt, at)
	}
	return l, nil
}

// items returns the items that patterns and codebook pick among the columns that are not taken, in the order of the file.
func (c *Columns) items(s *source, taken []int) ([]questionnaire.Item, error) {
	var candidates []string
	for i, name := range s.Header {
		if !slices.Contains(taken, i) && name != "" {
			candidates = append(candidates, name)
		}
	}
	picked := make([]bool, len(candidates))
	if c.OnlyExclude() {
		for _, item := range c.Codebook {
			if at := slices.Index(candidates, item.Name); at >= 0 {
				picked[at] = true
			} else if _, err := s.find(item.Name); err != nil {
				return nil, err
			}
		}
	}
	if err := pick(picked, c.Items, candidates, s.Header); err != nil {
		return nil, err
	}
	var items []questionnaire.Item
	for i, name := range candidates {
		if !picked[i] {
			continue
		}
		item := questionnaire.Item{Name: name}
		if b := slices.IndexFunc(c.Codebook, func(i questionnaire.Item) bool { return i.Name == name }); b >= 0 {
			item = c.Codebook[b]
		}
		if item.Range == nil {
			item.Range = c.Range
		}
		items = append(items, item)
	}
	if len(items) == 0 {
		return nil, fmt.Errorf("%w %q", questionnaire.ErrNoItem, strings.Join(c.Items, ","))
	}
	reversed := make([]bool, len(items))
	if err := pick(reversed, c.Reversed, questionnaire.Names(items), s.Header); err != nil {
		return nil, err
	}
	for j := range items {
		items[j].Reversed = items[j].Reversed || reversed[j]
	}
	return items, nil
}

// codebookItem is the column of a codebook that must be there.
const codebookItem = "item"

// ReadCodebook reads the description of items from a file that package table reads: a row for each item with the columns item
// (its name in the answers), text, subscale, min and max (the range of its answers; both or none) and reverse (1, yes or
// true for an item that is scored from the other end). NA, NaN and a dot are empty cells, except as a name. Other columns are
// ignored, and returned. The error is a *table.Error, also about an ignored column that looks like a missing one: one name
// begins with the other, as reversed does with reverse.
func ReadCodebook(path string) (items []questionnaire.Item, ignored []string, err error) {
	src, err := open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = src.Close() }() // it was only read
	at, ignored, err := codebookColumns(src.Header)
	if err != nil {
		return nil, nil, src.at(src.HeaderLine, err)
	}
	missing := &questionnaire.Missing{}
	for {
		row, err := src.Next()
		if errors.Is(err, io.EOF) {
			return items, ignored, nil
		}
		if err != nil {
			return nil, nil, err
		}
		cells := map[string]string{}
		for name, i := range at {
			if c := clean(row.Cells[i]); name == codebookItem || !missing.Cell(c) {
				cells[name] = c
			}
		}
		item, err := describe(cells)
		if err == nil && slices.Contains(questionnaire.Names(items), item.Name) {
			err = inColumn(codebookItem, fmt.Errorf("item %q is listed twice", item.Name))
		}
		if err != nil {
			return nil, nil, src.at(row.Line, err)
		}
		items = append(items, *item)
	}
}

// codebookColumns finds the columns of a codebook, and names all others.
func codebookColumns(header []string) (at map[string]int, ignored []string, err error) {
	known := []string{codebookItem, "text", "subscale", "min", "max", "reverse"}
	at = map[string]int{}
	for i, name := range header {
		lower := strings.ToLower(name)
		if _, twice := at[lower]; twice {
			return nil, nil, inColumn(name, table.ErrColumnTwice)
		}
		if slices.Contains(known, lower) {
			at[lower] = i
		} else if name != "" {
			ignored = append(ignored, name)
		}
	}
	if _, ok := at[codebookItem]; !ok {
		return nil, nil, inColumn(codebookItem, table.ErrNoColumn)
	}
	const shortest = 3 // letters of a name's beginning that tell it
	for _, name := range ignored {
		lower := strings.ToLower(name)
		for _, k := range known {
			if _, there := at[k]; !there && (strings.HasPrefix(lower, k) || len(lower) >= shortest && strings.HasPrefix(k, lower)) {
				return nil, nil, inColumn(name, fmt.Errorf("not a column of a codebook: is it %q", k))
			}
		}
	}
	return at, ignored, nil
}

func describe(cells map[string]string) (item *questionnaire.Item, err error) {
	item = &questionnaire.Item{Name: cells[codebookItem], Text: cells["text"], Subscale: cells["subscale"]}
	if item.Name == "" {
		return nil, inColumn(codebookItem, errors.New("an item without a name"))
	}
	if low, high := cells["min"], cells["max"]; low != "" || high != "" {
		if item.Range, err = questionnaire.NewRange(low, high); err != nil {
			return nil, inColumn("min", err)
		}
	}
	switch strings.ToLower(cells["reverse"]) {
	case "", "0", "no", "false":
	case "1", "yes", "true":
		item.Reversed = true
	default:
		return nil, inColumn("reverse", errors.New("must be 0, 1, no, yes, false or true"))
	}
	return item, nil
}
