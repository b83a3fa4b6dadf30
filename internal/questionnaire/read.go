package questionnaire

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/models"
)

// Table is the answers of a file, one row for each participant with answers, in the order of the file.
type Table struct {
	File  string
	IDs   []string
	Lines []int // of each participant in the file
	// Items are those that were taken, in the order of the file, with their ranges.
	Items []Item
	// Answers is n×m, NaN where there is none; reversed items are turned.
	Answers *mat.Dense
	Remarks
	sha256     string // of the file, "" where there is none
	numbered   bool   // IDs are numbers of rows, which tell nobody from another file's
	visitItems []Item // of Columns.Visits, as they stand in the file

	confounds []values          // in the order of Columns.Confounds
	labels    [][]int8          // of each label: 1, 0, or unknown
	others    []map[string]bool // of each label: the values that count as 0
}

// Remarks are what a reader of the results should know of the file.
type Remarks struct {
	// Unanswered and Incomplete are the first lines of participants who have no row: those without any answer, and those
	// without a value of some confound. Visits are lines of the latter kind, of participants who have others.
	Unanswered, Incomplete, Visits []int
	// Dropped are items of visits that are left out because all answers to them are the same, or there are none.
	Dropped  []string
	Inferred *Inferred // nil where no range was
	Merged   []Merged
}

// Merged is a label of more than two values: all but the positive one count as one.
type Merged struct {
	Label
	Values int // other than the positive one
}

// Inferred is the range of items that have none of their own: that of all answers to them.
type Inferred struct {
	Range
	Items int
	Apart *Apart // nil where no answers are
}

// Apart are answers far from all others, as codes of missing entries that nobody named are.
type Apart struct {
	Range
	Answers int
	Line    int // of the first
	Column  string
}

// values is a column of a confound: numbers or levels.
type values struct {
	numbers []float64
	levels  []string
}

const unknown = -1

// Read reads the answers in a CSV file with a header: comma-separated, tab-separated where the name ends in .tsv or .tab,
// or by the only one of comma, tab and semicolon in the header; .gz too. A byte order mark and spaces around cells are
// ignored, and so are columns without a role.
//
// The error is an *Error: a file that cannot be opened or is not in UTF-8, a row of another width than the header, a cell that is no
// finite number, an answer out of its range, an id that is missing or not the participant's own, a confound without value,
// a column that is not there or twice, and a file without answers.
func Read(path string, columns *Columns) (*Table, error) {
	t, err := readTable(path, func(header []string) (*layout, error) { return columns.layout(header) })
	if err != nil {
		return nil, err
	}
	t.infer()
	if err := t.orient(columns.FromLow); err != nil || columns.Visits == nil {
		return t, err
	}
	t.visitItems = slices.Clone(t.Items)
	if t, err = t.widen(columns.Visits); err != nil {
		return nil, err
	}
	t.keepVarying()
	return t, nil
}

// readTable reads the columns that plan finds in the header.
func readTable(path string, plan func(header []string) (*layout, error)) (t *Table, err error) {
	defer func() {
		if at, ok := errors.AsType[*Error](err); ok {
			at.File = path
		}
	}()
	r, err := openTable(path)
	if err != nil {
		return nil, err
	}
	defer r.close()
	if t, err = readRecords(r.records, path, plan); err != nil {
		return nil, err
	}
	t.sha256, err = r.sum()
	return t, err
}

func readRecords(records *records, path string, plan func(header []string) (*layout, error)) (*Table, error) {
	names, err := records.Read()
	if errors.Is(err, io.EOF) {
		return nil, &Error{Err: ErrNoParticipants}
	}
	if err != nil {
		return nil, err
	}
	names = slices.Clone(names)
	for i := range names {
		names[i] = clean(names[i])
	}
	l, err := plan(names)
	if err != nil {
		if at, ok := errors.AsType[*Error](err); ok {
			at.Line = 1
		}
		return nil, err
	}
	t := &Table{File: path, Items: l.items, confounds: make([]values, len(l.confounds)), labels: make([][]int8, len(l.labels)), others: make([]map[string]bool, len(l.labels))}
	var answers []float64
	var out []leftOut
	lineOf := map[string]int{}
	for rows := 0; ; rows++ {
		record, err := records.Read()
		if errors.Is(err, io.EOF) {
			if rows == 0 {
				return nil, &Error{Err: ErrNoParticipants}
			}
			break
		}
		if err != nil {
			return nil, err
		}
		line, _ := records.FieldPos(0)
		before := len(answers)
		if answers, err = t.add(l, record, answers); err != nil {
			if at, ok := errors.AsType[*Error](err); ok {
				at.Line = line
			}
			return nil, err
		}
		id := strconv.Itoa(rows + 1)
		if t.numbered = l.id == none; !t.numbered {
			id = clean(record[l.id])
			if l.empty(id) {
				return nil, &Error{Line: line, Column: names[l.id], Err: ErrNoID}
			}
			if first, ok := lineOf[id]; ok && !l.visits {
				return nil, &Error{Line: line, Column: names[l.id], Err: fmt.Errorf("%w, %d", ErrSameID, first)}
			}
			lineOf[id] = line
		}
		if len(answers) == before {
			out = append(out, leftOut{id, line, l.answered(record)})
			continue
		}
		t.IDs, t.Lines = append(t.IDs, id), append(t.Lines, line)
	}
	t.tell(out)
	for i, values := range t.others {
		if len(values) > 1 {
			t.Merged = append(t.Merged, Merged{l.labels[i], len(values)})
		}
	}
	if len(t.IDs) == 0 {
		return nil, &Error{Line: slices.Min(slices.Concat(t.Unanswered, t.Incomplete)), Err: ErrNoAnswers}
	}
	t.Answers = mat.NewDense(len(t.IDs), len(t.Items), answers)
	return t, nil
}

// leftOut is a row that is left out.
type leftOut struct {
	id       string
	line     int
	answered bool
}

// tell remarks on the rows that are left out.
func (t *Table) tell(rows []leftOut) {
	const stays = -1
	at := map[string]int{} // in without
	if len(rows) > 0 {
		for _, id := range t.IDs {
			at[id] = stays
		}
	}
	var without []leftOut // participants who have no row
	for _, r := range rows {
		i, seen := at[r.id]
		switch {
		case !seen:
			at[r.id], without = len(without), append(without, r)
		case i != stays:
			without[i].answered = without[i].answered || r.answered
		case r.answered:
			t.Visits = append(t.Visits, r.line)
		}
	}
	for _, r := range without {
		if r.answered {
			t.Incomplete = append(t.Incomplete, r.line)
		} else {
			t.Unanswered = append(t.Unanswered, r.line)
		}
	}
}

// add appends the participant's answers, confounds and labels; nothing for one who is left out.
func (t *Table) add(l *layout, record []string, answers []float64) ([]float64, error) {
	before, answered := len(answers), false
	for j, at := range l.itemAt {
		v, err := l.value(record[at])
		if r := l.items[j].Range; err == nil && r != nil && (v < r.Low || v > r.High) {
			err = fmt.Errorf("%w: %v to %v", ErrOutOfRange, r.Low, r.High)
		}
		if err != nil {
			return nil, &Error{Column: l.items[j].Name, Err: err}
		}
		answers, answered = append(answers, v), answered || !math.IsNaN(v)
	}
	if !answered {
		return answers[:before], nil
	}
	var confounds []values
	for i, at := range l.at {
		c, cell := &l.confounds[i], strings.TrimSpace(record[at])
		fail := func(err error) ([]float64, error) { return nil, &Error{Column: c.Name, Err: err} }
		var v values
		if c.Kind == models.Numeric {
			x, err := l.value(cell)
			switch {
			case err != nil:
				return fail(err)
			case math.IsNaN(x) && l.omit:
				return answers[:before], nil
			case math.IsNaN(x):
				return fail(ErrNoConfound)
			}
			v.numbers = []float64{x}
		} else {
			if l.empty(cell) {
				if l.omit {
					return answers[:before], nil
				}
				return fail(ErrNoConfound)
			}
			v.levels = []string{clean(cell)}
		}
		confounds = append(confounds, v)
	}
	for i, v := range confounds {
		t.confounds[i].numbers = append(t.confounds[i].numbers, v.numbers...)
		t.confounds[i].levels = append(t.confounds[i].levels, v.levels...)
	}
	for i, at := range l.labelAt {
		class := l.label(l.labels[i], record[at])
		t.labels[i] = append(t.labels[i], class)
		if class != 0 {
			continue
		}
		if t.others[i] == nil {
			t.others[i] = map[string]bool{}
		}
		t.others[i][l.spelled(record[at])] = true
	}
	return answers, nil
}

// infer gives items without a range that of all answers to them.
func (t *Table) infer() {
	var items []int
	var all []float64
	for j, item := range t.Items {
		if item.Range != nil {
			continue
		}
		items = append(items, j)
		for i := range t.IDs {
			if v := t.Answers.At(i, j); !math.IsNaN(v) {
				all = append(all, v)
			}
		}
	}
	if len(items) == 0 {
		return
	}
	t.Inferred = &Inferred{Items: len(items)}
	for _, j := range items {
		t.Items[j].Range = &t.Inferred.Range
	}
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	t.Inferred.Range = Range{all[0], all[len(all)-1]}
	far, ok := apart(all)
	if !ok {
		return
	}
	a := &Apart{Range: far}
	for i, line := range t.Lines {
		for _, j := range items {
			if v := t.Answers.At(i, j); v >= far.Low && v <= far.High {
				if a.Answers == 0 {
					a.Line, a.Column = line, t.Items[j].Name
				}
				a.Answers++
			}
		}
	}
	t.Inferred.Apart = a
}

// apart returns the range of the sorted answers that lie far from all others: the widest gap between two of them parts all
// answers, and it is wider than the narrowest and as wide as either part. The part of fewer answers is apart, of equal ones
// the upper.
func apart(sorted []float64) (far Range, ok bool) {
	narrowest, widest, at := math.Inf(1), 0.0, 0
	for i, v := range sorted[1:] {
		gap := v - sorted[i]
		if gap > widest {
			widest, at = gap, i
		}
		if gap > 0 {
			narrowest = min(narrowest, gap)
		}
	}
	if !(widest > narrowest) {
		return far, false
	}
	low, high := Range{sorted[0], sorted[at]}, Range{sorted[at+1], sorted[len(sorted)-1]}
	far = high
	if at+1 < len(sorted)-at-1 {
		far = low
	}
	return far, widest >= max(low.High-low.Low, high.High-high.Low)
}

// orient turns the answers of reversed items, and counts from the low end of the range where asked to.
func (t *Table) orient(fromLow bool) error {
	for j, item := range t.Items {
		switch {
		case item.Range.Low >= 0 || fromLow:
		case t.Inferred != nil && item.Range == &t.Inferred.Range:
			return t.below()
		default:
			return &Error{File: t.File, Column: item.Name, Err: ErrNegative}
		}
		for i := range t.IDs {
			t.Answers.Set(i, j, item.orient(t.Answers.At(i, j), fromLow))
		}
	}
	return nil
}

// below returns the error of the first of the lowest answers, which set the range and may be a code of missing entries.
func (t *Table) below() error {
	e := &Error{File: t.File, Err: ErrBelow}
	for i, line := range t.Lines {
		for j, item := range t.Items {
			if item.Range == &t.Inferred.Range && t.Answers.At(i, j) == t.Inferred.Low {
				e.Line, e.Column = line, item.Name
				return e
			}
		}
	}
	return e
}

// orient returns an answer as it counts.
func (i *Item) orient(v float64, fromLow bool) float64 {
	if i.Reversed {
		v = i.Range.Low + i.Range.High - v
	}
	if fromLow {
		v -= i.Range.Low
	}
	return v
}

// checkTraining returns an error for a table that nothing can be learnt from.
func (t *Table) checkTraining() error {
	if len(t.IDs) < 2 {
		return &Error{File: t.File, Line: t.Lines[0], Err: ErrOneParticipant}
	}
	for j, item := range t.Items {
		low, high := math.Inf(1), math.Inf(-1)
		for i := range t.IDs {
			if v := t.Answers.At(i, j); !math.IsNaN(v) {
				low, high = min(low, v), max(high, v)
			}
		}
		switch {
		case low > high:
			return &Error{File: t.File, Column: item.Name, Err: ErrNeverAnswered}
		case low == high:
			return &Error{File: t.File, Column: item.Name, Err: ErrConstant}
		}
	}
	return nil
}
