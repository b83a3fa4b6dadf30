package answers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/table"
)

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
	alike := slices.DeleteFunc(slices.Clone(s.Header()), func(name string) bool { return !strings.EqualFold(name, DefaultID) })
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
	for i, name := range s.Header() {
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
	if err := pick(picked, c.Items, candidates, s.Header()); err != nil {
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
	if err := pick(reversed, c.Reversed, questionnaire.Names(items), s.Header()); err != nil {
		return nil, err
	}
	for j := range items {
		items[j].Reversed = items[j].Reversed || reversed[j]
	}
	return items, nil
}
