package answers

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Table is the answers of a file: a row for each participant with answers, in the order of the file.
type Table struct {
	File  string
	IDs   []string
	Lines []int // of each participant in the file
	// Items are the selected items, in the order of the file, with their ranges.
	Items []questionnaire.Item
	// Answers is n×m, with NaN for a missing answer; reversed items are turned.
	Answers *mat.Dense
	Remarks
	// Labels holds a class for each label and participant: 1, 0 or Unknown.
	Labels [][]int8
	// Groups are those of Columns.Groups, labels and categorical confounds; none in a table of visits.
	Groups []Grouping
	// SHA256 is that of the file, "" for a table without a file.
	SHA256 string
	// VisitItems are the items of a table of visits as named in the file.
	VisitItems []questionnaire.Item

	confounds [][]known // of each confound and participant
}

// Grouping is a column of groups.
type Grouping struct {
	Column string
	Values []string // of each participant in one spelling, "" if it is missing
}

type known struct {
	number float64
	level  string
}

// Unknown is the class of a participant whose label is missing.
const Unknown = -1

// ends returns the least and the largest answer to an item among these participants, low > high without answers.
func (t *Table) ends(item int, rows []int) (low, high float64) {
	return linalg.Extremes(lists.Take(mat.Col(nil, item, t.Answers), rows))
}

// All returns the rows of all participants.
func (t *Table) All() []int { return linalg.Indices(len(t.IDs)) }

// Varying returns the items whose answers differ among these participants.
func (t *Table) Varying(rows []int) []int {
	var items []int
	for j := range t.Items {
		if low, high := t.ends(j, rows); low < high {
			items = append(items, j)
		}
	}
	return items
}

// Unlinked returns the first item whose set no chain of participants, who answered items of two sets, links to the set
// of the first item; -1 if there is none.
func (t *Table) Unlinked(set func(questionnaire.Item) string) int {
	sets := lists.Map(t.Items, set)
	reached := map[string]bool{sets[0]: true}
	for before := 0; before < len(reached); {
		before = len(reached)
		for i := range t.IDs {
			given := lists.Where(len(sets), func(j int) bool { return answered(t.Answers.At(i, j)) })
			if slices.ContainsFunc(given, func(j int) bool { return reached[sets[j]] }) {
				for _, j := range given {
					reached[sets[j]] = true
				}
			}
		}
	}
	return slices.IndexFunc(sets, func(name string) bool { return !reached[name] })
}

// Names returns the names of these items.
func (t *Table) Names(items []int) []string { return questionnaire.Names(lists.Take(t.Items, items)) }

// Except returns the items that are not among these.
func (t *Table) Except(items []int) []int {
	return lists.Where(len(t.Items), func(j int) bool { return !slices.Contains(items, j) })
}

// Answering returns those of the participants who answered some of the items.
func (t *Table) Answering(rows, items []int) []int {
	return slices.DeleteFunc(slices.Clone(rows), func(i int) bool {
		return !slices.ContainsFunc(items, func(j int) bool { return answered(t.Answers.At(i, j)) })
	})
}

// AnswersOf returns the answers of these participants to these items.
func (t *Table) AnswersOf(rows, items []int) *mat.Dense {
	return linalg.SelectColumns(linalg.SelectRows(t.Answers, rows), items)
}

// CheckTraining returns an error for a table from which nothing can be learnt; it names items that do not vary.
func (t *Table) CheckTraining() error {
	if len(t.IDs) < 2 {
		return &table.Error{File: t.File, Line: t.Lines[0], Err: questionnaire.ErrOneParticipant}
	}
	constant := t.Except(t.Varying(t.All()))
	if len(constant) == 0 {
		return nil
	}
	err := questionnaire.ErrConstant
	if low, high := t.ends(constant[0], t.All()); low > high {
		if err = questionnaire.ErrNeverAnswered; strings.HasSuffix(t.File, ".parquet") {
			err = fmt.Errorf("%w (lists of Parquet are not answers)", err)
		}
	}
	err = fmt.Errorf("%w. To leave out items that do not vary or have no answers, %s", err, t.WithoutItems(constant))
	return &table.Error{File: t.File, Column: t.Items[constant[0]].Name, Err: err}
}

// WithoutItems says how to leave these items out, of which it names ten at most.
func (t *Table) WithoutItems(items []int) string {
	names, more := t.Names(items), ""
	if rest := len(names) - mostValues; rest > 0 {
		names, more = names[:mostValues], fmt.Sprintf(" and %d more", rest)
	}
	return fmt.Sprintf("add '!%s'%s to --items", wording.Visible(strings.Join(names, ",!")), more)
}

// Keep keeps the items of these names, and leaves out participants who answered none of them.
func (t *Table) Keep(names []string) error {
	all := questionnaire.Names(t.Items)
	columns := make([]int, len(names))
	for i, name := range names {
		if columns[i] = slices.Index(all, name); columns[i] < 0 {
			return &table.Error{File: t.File, Column: name, Err: table.ErrNoColumn}
		}
	}
	t.Items, t.Answers = lists.Take(t.Items, columns), linalg.SelectColumns(t.Answers, columns)
	var rows []int
	for i, line := range t.Lines {
		if slices.ContainsFunc(t.Answers.RawRowView(i), answered) {
			rows = append(rows, i)
		} else {
			t.Unanswered = append(t.Unanswered, line)
		}
	}
	if len(rows) == 0 {
		return &table.Error{File: t.File, Err: questionnaire.ErrNoAnswers}
	}
	t.Answers, t.IDs, t.Lines = linalg.SelectRows(t.Answers, rows), lists.Take(t.IDs, rows), lists.Take(t.Lines, rows)
	for c := range t.confounds {
		t.confounds[c] = lists.Take(t.confounds[c], rows)
	}
	for l := range t.Labels {
		t.Labels[l] = lists.Take(t.Labels[l], rows)
	}
	for g := range t.Groups {
		t.Groups[g].Values = lists.Take(t.Groups[g].Values, rows)
	}
	return nil
}

func answered(v float64) bool { return !math.IsNaN(v) }

// Infer gives each item without a range that of the answers to it, and records answers far from all others.
func (t *Table) Infer() {
	own := make([][]float64, len(t.Items)) // the sorted answers to the items without a range
	for j := range t.Items {
		if t.Items[j].Range != nil {
			continue
		}
		own[j] = slices.DeleteFunc(mat.Col(nil, j, t.Answers), math.IsNaN)
		slices.Sort(own[j])
		t.Items[j].Range = &questionnaire.Range{}
		if len(own[j]) > 0 {
			*t.Items[j].Range = ends(own[j])
		}
		t.Inferred = append(t.Inferred, t.Items[j].Name)
	}
	common, found := apart(own...)
	for j, item := range t.Items {
		far := common
		if alone, ok := apart(own[j]); ok && conventional(alone) {
			far = alone
		} else if !found || own[j] == nil {
			continue
		}
		t.setApart(&t.Apart, mat.Col(nil, j, t.Answers), item.Name, far)
	}
}

// setApart adds the values of a column that lie far from others to all.
func (t *Table) setApart(all **Apart, values []float64, name string, far questionnaire.Range) {
	for i, line := range t.Lines {
		v := values[i]
		if !far.Holds(v) {
			continue
		}
		if *all == nil {
			*all = &Apart{Range: questionnaire.Range{Low: v, High: v}, Line: line, Column: name}
		}
		a := *all
		if a.Answers++; line < a.Line {
			a.Line, a.Column = line, name
		}
		a.Low, a.High = min(a.Low, v), max(a.High, v)
	}
}

// orient turns the answers to reversed items, and counts from the low end of the range if requested. If an inferred
// range begins below 0, its lowest answer may be a code of missing entries: the error names the first one.
func (t *Table) orient(fromLow bool) error {
	for j, item := range t.Items {
		switch {
		case item.Range.Low >= 0 || fromLow:
		case slices.Contains(t.Inferred, item.Name):
			lowest := slices.Index(mat.Col(nil, j, t.Answers), item.Range.Low)
			return &table.Error{File: t.File, Line: t.Lines[lowest], Column: item.Name, Err: questionnaire.ErrBelow}
		default:
			return &table.Error{File: t.File, Column: item.Name, Err: questionnaire.ErrNegative}
		}
		for i := range t.IDs {
			t.Answers.Set(i, j, item.Orient(t.Answers.At(i, j), fromLow))
		}
	}
	return nil
}

// Learn completes confounds by their values. A number outside a given range is an error, and so is a single value.
func (t *Table) Learn(confounds []questionnaire.Confound) ([]questionnaire.Confound, error) {
	learnt := slices.Clone(confounds)
	for k := range learnt {
		c := &learnt[k]
		numbers, levels := t.Values(k, t.All())
		fail := func(line int, err error) ([]questionnaire.Confound, error) {
			return nil, &table.Error{File: t.File, Line: line, Column: c.Name, Err: err}
		}
		if c.Kind == questionnaire.Categorical {
			slices.Sort(levels)
			if c.Levels = slices.Compact(levels); len(c.Levels) < 2 {
				return fail(0, questionnaire.ErrOneLevel)
			}
			continue
		}
		if c.Range == nil {
			c.Range = &questionnaire.Range{Low: slices.Min(numbers), High: slices.Max(numbers)}
			if c.Range.Low == c.Range.High {
				return fail(0, questionnaire.ErrOneLevel)
			}
		}
		for i, v := range numbers {
			if !c.Range.Holds(v) {
				return fail(t.Lines[i], fmt.Errorf("%w: %v", questionnaire.ErrConfoundRange, c.Range))
			}
		}
		if max(-c.Range.Low, c.Range.High) > questionnaire.MostScale {
			return fail(0, questionnaire.ErrScale)
		}
	}
	return learnt, nil
}

// Values returns the values of the k-th confound for these participants: numbers, or levels if it is a category.
func (t *Table) Values(k int, rows []int) (numbers []float64, levels []string) {
	for _, i := range rows {
		numbers, levels = append(numbers, t.confounds[k][i].number), append(levels, t.confounds[k][i].level)
	}
	return numbers, levels
}

// Beyond counts the participants whose value of a confound lies outside its range.
type Beyond struct {
	Confound     string
	Participants int
	Line         int // of the first
}

// Encode returns the known matrix C, n×c with the columns of questionnaire.Columns, by the confounds as they were
// learnt; nil without confounds. It also returns the values that were clipped. An unknown level is an error.
func (t *Table) Encode(confounds []questionnaire.Confound) (c *mat.Dense, beyond []Beyond, err error) {
	if len(confounds) == 0 {
		return nil, nil, nil
	}
	width := len(questionnaire.Columns(confounds))
	c = mat.NewDense(len(t.IDs), width, nil)
	column := 0
	for k := range confounds {
		confound := &confounds[k]
		cut := Beyond{Confound: confound.Name}
		for i, v := range t.confounds[k] {
			dst := c.RawRowView(i)[column : column+confound.Width()]
			if confound.Kind == questionnaire.Categorical {
				at := slices.Index(confound.Levels, v.level)
				if at < 0 {
					return nil, nil, &table.Error{
						File: t.File, Line: t.Lines[i], Column: confound.Name, Err: questionnaire.ErrNewLevel,
					}
				}
				dst[at] = 1
			} else if confound.EncodeTo(dst, v.number) {
				if cut.Participants++; cut.Participants == 1 {
					cut.Line = t.Lines[i]
				}
			}
		}
		if cut.Participants > 0 {
			beyond = append(beyond, cut)
		}
		column += confound.Width()
	}
	for i := range t.IDs {
		c.Set(i, width-1, 1)
	}
	return c, beyond, nil
}

// widen returns the table with one row for each participant, in the order of their first visits, and an item for each
// item and bin, bin by bin: missing if there was no visit, the mean of the answers if there were several. It returns an
// error for a time outside all bins, and for a confound that changes from visit to visit. It records participants with
// several visits in a bin, and bins that no participant links.
func (t *Table) widen(v *questionnaire.Visits) (*Table, error) {
	last := len(t.confounds) - 1 // the time
	m := len(t.Items)
	width := v.Bins() * m
	w := &Table{File: t.File, Remarks: t.Remarks, SHA256: t.SHA256, VisitItems: t.Items, confounds: make([][]known,
		last)}
	for b := range v.Bins() {
		for _, item := range t.Items {
			item.Name, item.Subscale, item.Others = v.ItemName(item.Name, b), v.Time+" "+v.Label(b), nil
			w.Items = append(w.Items, item)
		}
	}
	row := map[string]int{}
	var sums, counts []float64
	var visits [][]float64 // how many of each participant in each bin
	for i, id := range t.IDs {
		fail := func(column string, err error) (*Table, error) {
			return nil, &table.Error{File: t.File, Line: t.Lines[i], Column: column, Err: err}
		}
		b, ok := v.Bin(t.confounds[last][i].number)
		if !ok {
			return fail(v.Time, questionnaire.ErrNoBin)
		}
		r, ok := row[id]
		if !ok {
			r = len(w.IDs)
			row[id] = r
			sums, counts = append(sums, make([]float64, width)...), append(counts, make([]float64, width)...)
			w.IDs, w.Lines, visits = append(w.IDs, id), append(w.Lines, t.Lines[i]),
				append(visits, make([]float64, v.Bins()))
		}
		visits[r][b]++
		for c := range w.confounds {
			if !ok {
				w.confounds[c] = append(w.confounds[c], t.confounds[c][i])
			} else if w.confounds[c][r] != t.confounds[c][i] {
				return fail("", fmt.Errorf("%w on line %d", questionnaire.ErrVaries, w.Lines[r]))
			}
		}
		for j, x := range t.Answers.RawRowView(i) {
			if answered(x) {
				sums[r*width+b*m+j] += x
				counts[r*width+b*m+j]++
			}
		}
	}
	w.Repeated = lists.Count(visits, func(in []float64) bool { return floats.Max(in) > 1 })
	floats.Div(sums, counts) // 0/0 is missing
	w.Answers = mat.NewDense(len(w.IDs), width, sums)
	return w, nil
}

// keepVarying drops the items that do not vary, and items of visits that vary in no bin.
func (t *Table) keepVarying() {
	varying := t.Varying(t.All())
	t.Dropped = append(t.Dropped, t.Names(t.Except(varying))...)
	if len(varying) == 0 {
		return
	}
	var visits []int
	for j := range t.VisitItems {
		if slices.ContainsFunc(varying, func(k int) bool { return k%len(t.VisitItems) == j }) {
			visits = append(visits, j)
		}
	}
	_ = t.Keep(t.Names(varying)) // all of these names exist
	t.VisitItems = lists.Take(t.VisitItems, visits)
}

// checkLabels returns an error for a value of a label that no participant has, or that differs from another one of the
// column by capitals alone.
func (t *Table) checkLabels(c *Columns) error {
	missing := questionnaire.NewMissing(c.Missing)
	for _, l := range c.Labels {
		of := t.Groups[slices.IndexFunc(t.Groups, func(g Grouping) bool { return g.Column == l.Name })]
		for _, value := range []string{l.Positive, l.Negative} {
			spelled := missing.Spelled(value)
			differs := func(v string) bool { return v != spelled && strings.EqualFold(v, spelled) }
			if slices.ContainsFunc(of.Values, differs) {
				err := fmt.Errorf("%q: %w", value, questionnaire.ErrCase)
				return &table.Error{File: t.File, Column: l.Name, Err: err}
			}
			if value == "" || slices.Contains(of.Values, spelled) {
				continue
			}
			err := fmt.Errorf("%w: %q; %s", questionnaire.ErrNoValue, value, of.list())
			if l.String() == l.Name {
				err = fmt.Errorf("%w; --labels %s=VALUE names one", err, l.Name)
			}
			return &table.Error{File: t.File, Column: l.Name, Err: err}
		}
	}
	return nil
}

// mostValues is the largest number of values, or items, that an error names.
const mostValues = 10

// list lists the values that are frequent enough not to identify a person.
func (g *Grouping) list() string {
	counts := map[string]int{}
	for _, v := range g.Values {
		if v != "" {
			counts[v]++
		}
	}
	var named []string
	for _, v := range slices.Sorted(maps.Keys(counts)) {
		if counts[v] >= LeastGroup && len(named) < mostValues {
			named = append(named, strconv.Quote(v))
		}
	}
	switch {
	case len(counts) == 0:
		return "the column is empty"
	case len(named) == 0:
		return fmt.Sprintf("each of its %d values has fewer than %d participants", len(counts), LeastGroup)
	}
	list := "the column has " + strings.Join(named, ", ")
	if more := len(counts) - len(named); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
