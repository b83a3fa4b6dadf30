package answers

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/table"
)

// DefaultID is the column of ids if none is named.
const DefaultID = "id"

// usualIDs are the columns of ids if there is no DefaultID, in this order: the last two are REDCap's and Qualtrics'.
var usualIDs = []string{DefaultID, "participant_id", "record_id", "ResponseId"}

// Columns says what the columns of a file of answers mean.
type Columns struct {
	// Items are patterns of the items' names: * stands for any characters, ? for one. A leading ! excludes items; if
	// all patterns have it, they exclude from the codebook's items. Empty means all items of the codebook.
	Items []string
	// ID names the column of ids. "" means the first of usualIDs that is there, in capitals or not; without such a
	// column, participants are numbered from 1.
	ID string
	// Confounds are known variables that answers may depend on.
	Confounds []questionnaire.Confound
	// OmitIncomplete leaves out participants who lack a confound; otherwise they are an error.
	OmitIncomplete bool
	// Labels are outcomes to predict. They are never items.
	Labels []questionnaire.Label
	// Groups are columns of groups, such as a diagnosis, for the warning about scales that a whole group lacks. They
	// are never items. Labels and categorical confounds count as groups too.
	Groups []string
	// Visits, when not nil, allows several rows for one participant, each at a different time.
	Visits *questionnaire.Visits
	// Missing are codes of missing entries, in addition to an empty cell, NA, NaN and a dot.
	Missing []string
	// Range is that of items without one in the codebook; nil is the least and the largest answer to each.
	Range *questionnaire.Range
	// FromLow counts answers from the low end of their range: 1 to 5 as 0 to 4. Required if a range begins below 0.
	FromLow bool
	// Reversed are patterns of items to score in reverse, in addition to those of the codebook.
	Reversed []string
	// Codebook describes items by their names. Descriptions of columns that are not items are ignored.
	Codebook []questionnaire.Item
	// Warn is that of table.Options.
	Warn func(message string, facts ...any)
}

// OnlyExclude reports whether all patterns of items exclude. True without patterns.
func (c *Columns) OnlyExclude() bool {
	return !slices.ContainsFunc(c.Items,
		func(pattern string) bool { return !strings.HasPrefix(strings.TrimSpace(pattern), "!") })
}

// expression returns the regular expression of a pattern, in which * stands for any characters and ? for one.
func expression(pattern string) *regexp.Regexp {
	quoted := regexp.QuoteMeta(strings.ToValidUTF8(pattern, "\ufffd"))
	return regexp.MustCompile("(?s)^" + strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(quoted) + "$")
}

// pick marks the names that the patterns select. A pattern that matches no name is an error, unless it excludes a
// column of the file: a column may become a label and still be in the patterns.
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

func excludes(pattern, name string) bool {
	p, out := strings.CutPrefix(strings.TrimSpace(pattern), "!")
	return out && expression(p).MatchString(name)
}

// layout says what the columns of a file hold.
type layout struct {
	*questionnaire.Missing
	id        int                   // none without a column
	visits    *questionnaire.Visits // several rows for one participant; the time is the last of the confounds
	items     []questionnaire.Item
	itemAt    []int
	statusAt  []int // of the items: REDCap's status of the form, none without a column
	confounds []questionnaire.Confound
	at        []int // of the confounds
	labels    []questionnaire.Label
	labelAt   []int
	groupAt   []int  // of Groups, labels and categorical confounds
	foundID   string // the column of ids if it was found by its name
	omit      bool   // participants who lack a confound
}

const none = -1

// defaultID finds the column of ids by its usual names, in other capitals if that is unique; otherwise it is the first
// one of an export of REDCap with events or repeated instruments. "" if not found.
func (s *source) defaultID() (string, error) {
	for _, usual := range usualIDs {
		if s.Index(usual) >= 0 {
			return usual, nil
		}
		matching := slices.DeleteFunc(slices.Clone(s.Header),
			func(name string) bool { return !strings.EqualFold(name, usual) })
		switch len(matching) {
		case 0:
		case 1:
			return matching[0], nil
		default:
			return "", inColumn(matching[1], fmt.Errorf("%w, but for capitals: %q", table.ErrColumnTwice, matching))
		}
	}
	if s.repeats() != "" {
		return s.Header[0], nil
	}
	return "", nil
}

// idColumn returns the index of the column of ids, none without one. found is its name if it was not given.
func (s *source) idColumn(given string) (at int, found string, err error) {
	if given == "" {
		if found, err = s.defaultID(); found == "" {
			return none, "", err
		}
	}
	at, err = s.find(cmp.Or(given, found))
	return at, found, err
}

// roles finds the columns that are not items.
func (s *source) roles(c *Columns) (*layout, error) {
	l := &layout{
		Missing: questionnaire.NewMissing(c.Missing), id: none, visits: c.Visits,
		confounds: slices.Clone(c.Confounds), labels: c.Labels, omit: c.OmitIncomplete,
	}
	if l.visits != nil {
		l.confounds = append(l.confounds, questionnaire.Confound{Name: c.Visits.Time, Kind: questionnaire.Numeric})
	}
	var err error
	if l.id, l.foundID, err = s.idColumn(c.ID); err != nil {
		return nil, err
	}
	if l.id == none && l.visits != nil {
		return nil, inColumn(DefaultID, table.ErrNoColumn)
	}
	var categories []int
	for _, confound := range l.confounds {
		at, err := s.find(confound.Name)
		if err == nil && (at == l.id || slices.Contains(l.at, at)) {
			err = inColumn(confound.Name, questionnaire.ErrTwoRoles)
		}
		if err != nil {
			return nil, err
		}
		l.at = append(l.at, at)
		if confound.Kind == questionnaire.Categorical {
			categories = append(categories, at)
		}
	}
	// Labels may be confounds too, and a label with several positive values.
	labels := lists.Map(c.Labels, func(l questionnaire.Label) string { return l.Name })
	if l.labelAt, err = s.places(labels); err != nil {
		return nil, err
	}
	groups, err := s.places(c.Groups)
	l.groupAt = lists.Union(nil, slices.Concat(groups, l.labelAt, categories))
	return l, err
}

// layout finds the columns of a file. nil items means those that the columns describe.
func (c *Columns) layout(s *source, items []questionnaire.Item) (*layout, error) {
	l, err := s.roles(c)
	if err == nil && items == nil {
		items, err = c.items(s, slices.Concat([]int{l.id}, l.at, l.labelAt, l.groupAt))
	}
	if err != nil {
		return nil, err
	}
	if len(items) > questionnaire.MaxItems {
		return nil, s.at(s.HeaderLine, questionnaire.ErrManyItems)
	}
	l.items = slices.Clone(items)
	l.itemAt, err = s.places(questionnaire.Names(items))
	l.statusAt = lists.Map(items, func(item questionnaire.Item) int {
		if item.Status == "" {
			return none
		}
		return s.Index(item.Status)
	})
	return l, err
}

// items returns the items that patterns and codebook select among the columns without another role.
func (c *Columns) items(s *source, taken []int) ([]questionnaire.Item, error) {
	free := slices.DeleteFunc(s.Named(), func(i int) bool { return slices.Contains(taken, i) })
	candidates := lists.Take(s.Header, free)
	picked, known := make([]bool, len(candidates)), s.Header
	if c.OnlyExclude() {
		names := questionnaire.Names(c.Codebook)
		known = slices.Concat(known, names)
		for i, name := range names {
			if at := slices.Index(candidates, name); at >= 0 {
				picked[at] = true
			} else if _, err := s.find(name); err != nil &&
				!slices.ContainsFunc(c.Items, func(pattern string) bool { return excludes(pattern, name) }) {
				if s.Index(c.Codebook[i].Text) >= 0 {
					err = inColumn(name, fmt.Errorf("%w, but its label: export names, not labels", table.ErrNoColumn))
				}
				return nil, err
			}
		}
	}
	if err := pick(picked, c.Items, candidates, known); err != nil {
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
