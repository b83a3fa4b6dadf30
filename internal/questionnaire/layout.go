package questionnaire

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/wardcast/wardcast/models"
)

// layout says what the columns of a file hold.
type layout struct {
	id        int  // -1 for none
	visits    bool // several rows of one participant; the time is the last of the confounds
	items     []Item
	itemAt    []int
	confounds []Confound
	at        []int // of the confounds
	labels    []Label
	labelAt   []int
	missing   []string
	codes     []float64 // those of missing that are numbers
	omit      bool      // participants without a confound
}

const none = -1

// header finds columns by their names.
type header []string

// find returns the place of the column.
func (h header) find(name string) (int, error) {
	at := slices.Index(h, name)
	if at < 0 {
		return none, &Error{Column: name, Err: ErrNoColumn}
	}
	if slices.Contains(h[at+1:], name) {
		return none, &Error{Column: name, Err: ErrColumnTwice}
	}
	return at, nil
}

// defaultID returns the column of ids where none is named: DefaultID, else the only one that differs from it in capitals
// alone, "" where there is none.
func (h header) defaultID() (string, error) {
	found := ""
	for _, name := range h {
		switch {
		case name == DefaultID:
			return name, nil
		case !strings.EqualFold(name, DefaultID):
		case found != "":
			return "", &Error{Column: name, Err: ErrColumnTwice}
		default:
			found = name
		}
	}
	return found, nil
}

// roles finds the columns other than items.
func (h header) roles(c *Columns) (*layout, error) {
	confounds := c.Confounds
	if c.Visits != nil {
		confounds = append(slices.Clone(confounds), Confound{Name: c.Visits.Time, Kind: models.Numeric})
	}
	l := &layout{id: none, visits: c.Visits != nil, confounds: confounds, labels: c.Labels, missing: c.Missing, omit: c.OmitIncomplete}
	id, err := c.ID, error(nil)
	if id == "" {
		if id, err = h.defaultID(); err != nil {
			return nil, err
		}
	}
	if id != "" {
		if l.id, err = h.find(id); err != nil {
			return nil, err
		}
	}
	used := map[int]bool{l.id: true}
	add := func(name string) (int, error) {
		at, err := h.find(name)
		if err == nil && used[at] {
			err = &Error{Column: name, Err: ErrTwoRoles}
		}
		used[at] = true
		return at, err
	}
	if l.visits && l.id == none {
		return nil, &Error{Column: DefaultID, Err: ErrNoColumn}
	}
	for _, confound := range confounds {
		at, err := add(confound.Name)
		if err != nil {
			return nil, err
		}
		l.at = append(l.at, at)
	}
	for _, label := range c.Labels {
		at, err := h.find(label.Name) // may be a confound too, and a label of several values
		if err != nil {
			return nil, err
		}
		l.labelAt = append(l.labelAt, at)
	}
	for _, code := range c.Missing {
		if v, err := number(code); err == nil {
			l.codes = append(l.codes, v)
		}
	}
	return l, nil
}

// layout finds the columns of a table to be learnt from.
func (c *Columns) layout(names []string) (*layout, error) {
	h := header(names)
	l, err := h.roles(c)
	if err != nil {
		return nil, err
	}
	taken := slices.Concat([]int{l.id}, l.at, l.labelAt)
	var candidates []string
	for i, name := range h {
		if !slices.Contains(taken, i) && name != "" {
			candidates = append(candidates, name)
		}
	}
	picked := make([]bool, len(candidates))
	if c.OnlyExclude() {
		for _, item := range c.Codebook {
			if at := slices.Index(candidates, item.Name); at >= 0 {
				picked[at] = true
			} else if _, err := h.find(item.Name); err != nil {
				return nil, err
			}
		}
	}
	if err := pick(picked, c.Items, candidates, h); err != nil {
		return nil, err
	}
	for i, name := range candidates {
		if !picked[i] {
			continue
		}
		at, err := h.find(name)
		if err != nil {
			return nil, err
		}
		item := Item{Name: name}
		if b := slices.IndexFunc(c.Codebook, func(i Item) bool { return i.Name == name }); b >= 0 {
			item = c.Codebook[b]
		}
		if item.Range == nil {
			item.Range = c.Range
		}
		l.items, l.itemAt = append(l.items, item), append(l.itemAt, at)
	}
	if len(l.items) == 0 {
		return nil, &Error{Err: fmt.Errorf("%w %q", ErrNoItem, strings.Join(c.Items, ","))}
	}
	reversed := make([]bool, len(l.items))
	if err := pick(reversed, c.Reversed, namesOf(l.items), h); err != nil {
		return nil, err
	}
	for j := range l.items {
		l.items[j].Reversed = l.items[j].Reversed || reversed[j]
	}
	return l, nil
}

func namesOf(items []Item) []string {
	names := make([]string, len(items))
	for j, item := range items {
		names[j] = item.Name
	}
	return names
}

// empty reports whether a trimmed cell is a missing entry in every table.
func empty(cell string) bool {
	return cell == "" || cell == "." || strings.EqualFold(cell, "NA") || strings.EqualFold(cell, "NaN")
}

// empty reports whether a trimmed cell holds a code of a missing entry.
func (l *layout) empty(cell string) bool { return empty(cell) || slices.Contains(l.missing, cell) }

// value returns the number in a cell, NaN for a missing one.
func (l *layout) value(cell string) (float64, error) {
	cell = strings.TrimSpace(cell)
	if l.empty(cell) {
		return math.NaN(), nil
	}
	v, err := number(cell)
	if err == nil && slices.Contains(l.codes, v) {
		return math.NaN(), nil
	}
	return v, err
}

// answered reports whether a row has any answer.
func (l *layout) answered(record []string) bool {
	return slices.ContainsFunc(l.itemAt, func(at int) bool { v, _ := l.value(record[at]); return !math.IsNaN(v) })
}

// label returns 1 for the positive value, 0 for any other, or unknown.
func (l *layout) label(want Label, cell string) int8 {
	cell = strings.TrimSpace(cell)
	v, err := l.value(cell)
	if err == nil && math.IsNaN(v) {
		return unknown
	}
	positive, errPositive := number(want.Positive)
	if cell == want.Positive || err == nil && errPositive == nil && v == positive {
		return 1
	}
	return 0
}

// spelled returns a cell in the one spelling of its value.
func (l *layout) spelled(cell string) string {
	if v, err := l.value(cell); err == nil {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return clean(cell)
}
