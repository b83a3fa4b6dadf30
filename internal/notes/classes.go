package notes

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/internal/lists"
)

// Limits on the number of classes and on the patients of each class.
const (
	maxClasses  = 100
	minPatients = intake.LeastNamed
)

// AutoClasses stands for all values of the label.
const AutoClasses = "auto"

func (c *Columns) auto() bool { return len(c.Classes) == 1 && c.Classes[0] == AutoClasses }

// CheckClasses returns an error for Classes or Admission that no table can fit.
func (c *Columns) CheckClasses() error {
	if c.Classes == nil || c.auto() {
		return nil
	}
	if err := bundle.CheckClasses(c.Classes); err != nil {
		return err
	}
	for i, name := range c.Classes {
		if other := indexLabel(c.Classes[:i], name); other >= 0 {
			return fmt.Errorf("classes %q and %q are the same number", name, c.Classes[other])
		}
	}
	_, err := c.admission(c.Classes)
	return err
}

// admission reports for each class whether it counts as admitted.
func (c *Columns) admission(classes []string) ([]bool, error) {
	admitted := lists.Make(len(classes), func(i int) bool { return len(c.Admission) == 0 && i > 0 })
	for _, name := range c.Admission {
		i := indexLabel(classes, name)
		if i < 0 {
			return nil, fmt.Errorf("class %q, which counts as admitted, is not one of the classes", name)
		}
		admitted[i] = true
	}
	if !slices.Contains(admitted, false) {
		return nil, errors.New("all classes count as admitted")
	}
	return admitted, nil
}

func indexLabel(all []string, y string) int {
	return slices.IndexFunc(all, func(other string) bool { return sameLabel(other, y) })
}

// settleClasses orders the classes found, sets which rows count as admitted, and rejects rare classes.
func (t *Table) settleClasses(columns *Columns) error {
	if columns.auto() {
		found := t.Classes
		t.Classes = slices.SortedFunc(slices.Values(found), t.commoner)
		for i := range t.Rows {
			t.Rows[i].Class = slices.Index(t.Classes, found[t.Rows[i].Class])
		}
	}
	if len(t.Classes) < 2 {
		return ErrOneClass
	}
	folded := map[string]bool{}
	for _, name := range t.Classes {
		if folded[strings.ToLower(name)] {
			return fmt.Errorf("%w: give all the same spelling", ErrLabelCase)
		}
		folded[strings.ToLower(name)] = true
	}
	var err error
	if t.Admission, err = columns.admission(t.Classes); err != nil {
		return err
	}
	people := intake.Tally{}
	for i := range t.Rows {
		r := &t.Rows[i]
		r.Positive = t.Admission[r.Class]
		people.Add(t.Classes[r.Class], t.person(i))
	}
	for _, name := range t.Classes {
		if n := len(people[name]); n < minPatients {
			name = strconv.Quote(name)
			if columns.auto() {
				name = "a label, which is not shown as it may be a name,"
			}
			return fmt.Errorf("%w: %s has %d and needs %d: leave its rows out and name the other classes, or give "+
				"them the label of another class", ErrRareClass, name, n, minPatients)
		}
	}
	return nil
}

// commoner orders labels by their number of rows, the most common first.
func (t *Table) commoner(a, b string) int {
	return cmp.Or(cmp.Compare(t.Labels[b], t.Labels[a]), cmp.Compare(a, b))
}

// maxLabels and longestLabel limit the labels in a log line and their bytes: a column that exceeds them may hold text
// of patients.
const (
	maxLabels    = 12
	longestLabel = 24
)

// LabelCounts returns each label and its number of rows for a log line, the most common first, without the names of
// rare ones, or only the number of labels.
func (t *Table) LabelCounts() string {
	names := slices.SortedFunc(maps.Keys(t.Labels), t.commoner)
	if len(names) > maxLabels ||
		slices.ContainsFunc(names, func(name string) bool { return len(name) > longestLabel }) {
		return fmt.Sprintf("%d different labels", len(names))
	}
	others, many := 0, t.people.Many()
	names = slices.DeleteFunc(names, func(name string) bool {
		if !many[name] {
			others += t.Labels[name]
		}
		return !many[name]
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%q %d", name, t.Labels[name])
	}
	if others > 0 {
		names = append(names, fmt.Sprint(intake.Others, " ", others))
	}
	return strings.Join(names, ", ")
}
