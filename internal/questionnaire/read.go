package questionnaire

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
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
	LeftOut

	confounds []values // in the order of Columns.Confounds
	labels    [][]int8 // of each label: 1, 0, or unknown
}

// LeftOut are the lines in the file of participants who have no row: those without any answer, and those without a value
// of some confound.
type LeftOut struct{ Unanswered, Incomplete []int }

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
// The error is an *Error, but for a file that cannot be opened: a row of another width than the header, a cell that is no
// finite number, an answer out of its range, an id that is missing or not the participant's own, a confound without value,
// a column that is not there or twice, and a file without answers.
func Read(path string, columns *Columns) (*Table, error) {
	t, err := readTable(path, func(header []string) (*layout, error) { return columns.layout(header) })
	if err != nil {
		return nil, err
	}
	t.infer()
	return t, t.orient(columns.FromLow)
}

// layout says what the columns of a file hold.
type layout struct {
	id        int // -1 for none
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

// roles finds the columns other than items.
func (h header) roles(c *Columns) (*layout, error) {
	l := &layout{id: none, confounds: c.Confounds, labels: c.Labels, missing: c.Missing, omit: c.OmitIncomplete}
	var err error
	if id := c.ID; id != "" || slices.Contains(h, DefaultID) {
		if id == "" {
			id = DefaultID
		}
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
	for _, confound := range c.Confounds {
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
		if v, err := strconv.ParseFloat(strings.TrimSpace(code), 64); err == nil {
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
	patterns := c.Items
	if len(patterns) == 0 {
		for _, item := range c.Codebook {
			patterns = append(patterns, item.Name)
		}
	}
	picked, err := pick(patterns, candidates)
	if err != nil {
		return nil, &Error{Err: err}
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
		return nil, &Error{Err: fmt.Errorf("%w %q", ErrNoItem, strings.Join(patterns, ","))}
	}
	reversed, err := pick(c.Reversed, namesOf(l.items))
	if err != nil {
		return nil, &Error{Err: err}
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

// readTable reads the columns that plan finds in the header.
func readTable(path string, plan func(header []string) (*layout, error)) (t *Table, err error) {
	defer func() {
		if at, ok := errors.AsType[*Error](err); ok {
			at.File = path
		}
	}()
	records, closer, err := openTable(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = closer.Close() }() // only read
	return readRecords(records, path, plan)
}

func readRecords(records *csv.Reader, path string, plan func(header []string) (*layout, error)) (*Table, error) {
	names, err := records.Read()
	if errors.Is(err, io.EOF) {
		return nil, &Error{Err: ErrNoParticipants}
	}
	if err != nil {
		return nil, csvError(err)
	}
	names = slices.Clone(names)
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	l, err := plan(names)
	if err != nil {
		if at, ok := errors.AsType[*Error](err); ok {
			at.Line = 1
		}
		return nil, err
	}
	t := &Table{File: path, Items: l.items, confounds: make([]values, len(l.confounds)), labels: make([][]int8, len(l.labels))}
	var answers []float64
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
			return nil, csvError(err)
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
		if l.id != none {
			id = strings.Clone(strings.TrimSpace(record[l.id]))
			if l.empty(id) {
				return nil, &Error{Line: line, Column: names[l.id], Err: ErrNoID}
			}
			if first, ok := lineOf[id]; ok {
				return nil, &Error{Line: line, Column: names[l.id], Err: fmt.Errorf("%w, %d", ErrSameID, first)}
			}
			lineOf[id] = line
		}
		if len(answers) == before {
			t.leaveOut(l, record, line)
			continue
		}
		t.IDs, t.Lines = append(t.IDs, id), append(t.Lines, line)
	}
	if len(t.IDs) == 0 {
		return nil, &Error{Line: slices.Min(slices.Concat(t.Unanswered, t.Incomplete)), Err: ErrNoAnswers}
	}
	t.Answers = mat.NewDense(len(t.IDs), len(t.Items), answers)
	return t, nil
}

// leaveOut keeps the line of a participant who is left out, and why.
func (t *Table) leaveOut(l *layout, record []string, line int) {
	if slices.ContainsFunc(l.itemAt, func(at int) bool { v, _ := l.value(record[at]); return !math.IsNaN(v) }) {
		t.Incomplete = append(t.Incomplete, line)
		return
	}
	t.Unanswered = append(t.Unanswered, line)
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
			v.levels = []string{strings.Clone(cell)}
		}
		confounds = append(confounds, v)
	}
	if !answered {
		return answers[:before], nil
	}
	for i, v := range confounds {
		t.confounds[i].numbers = append(t.confounds[i].numbers, v.numbers...)
		t.confounds[i].levels = append(t.confounds[i].levels, v.levels...)
	}
	for i, at := range l.labelAt {
		t.labels[i] = append(t.labels[i], l.label(l.labels[i], record[at]))
	}
	return answers, nil
}

// empty reports whether a trimmed cell holds a code of a missing entry.
func (l *layout) empty(cell string) bool {
	switch len(cell) {
	case 0:
		return true
	case 1:
		if cell == "." {
			return true
		}
	case 2, 3:
		if strings.EqualFold(cell, "NA") || strings.EqualFold(cell, "NaN") {
			return true
		}
	}
	return slices.Contains(l.missing, cell)
}

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

// infer gives items without a range that of all answers to them.
func (t *Table) infer() {
	r := Range{math.Inf(1), math.Inf(-1)}
	for j, item := range t.Items {
		if item.Range == nil {
			for i := range t.IDs {
				if v := t.Answers.At(i, j); !math.IsNaN(v) {
					r = Range{min(r.Low, v), max(r.High, v)}
				}
			}
			t.Items[j].Range = &r
		}
	}
}

// orient turns the answers of reversed items, and counts from the low end of the range where asked to.
func (t *Table) orient(fromLow bool) error {
	for j, item := range t.Items {
		if item.Range.Low < 0 && !fromLow {
			return &Error{File: t.File, Column: item.Name, Err: ErrNegative}
		}
		for i := range t.IDs {
			v := t.Answers.At(i, j)
			if item.Reversed {
				v = item.Range.Low + item.Range.High - v
			}
			if fromLow {
				v -= item.Range.Low
			}
			t.Answers.Set(i, j, v)
		}
	}
	return nil
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

const byteOrderMark = "\ufeff"

// openTable opens a file of separated values, unzipped where it is zipped.
func openTable(path string) (*csv.Reader, io.Closer, error) {
	f, err := os.Open(path)
	if err != nil {
		if at, ok := errors.AsType[*fs.PathError](err); ok {
			err = at.Err
		}
		return nil, nil, &Error{Err: err}
	}
	name, zipped := strings.CutSuffix(strings.ToLower(path), ".gz")
	var in io.Reader = f
	if zipped {
		if in, err = gzip.NewReader(f); err != nil {
			return nil, nil, errors.Join(&Error{Err: err}, f.Close())
		}
	}
	return newRecords(in, filepath.Ext(name)), f, nil
}

// newRecords returns the records after a byte order mark.
func newRecords(in io.Reader, ext string) *csv.Reader {
	const longHeader = 1 << 16
	b := bufio.NewReaderSize(in, longHeader)
	if start, _ := b.Peek(len(byteOrderMark)); string(start) == byteOrderMark {
		_, _ = b.Discard(len(byteOrderMark))
	}
	records := csv.NewReader(b)
	records.ReuseRecord = true
	head, _ := b.Peek(longHeader)
	head, _, _ = bytes.Cut(head, []byte{'\n'})
	switch {
	case ext == ".tsv" || ext == ".tab":
		records.Comma = '\t'
	case bytes.ContainsRune(head, ','):
	case bytes.ContainsRune(head, '\t'):
		records.Comma = '\t'
	case bytes.ContainsRune(head, ';'):
		records.Comma = ';'
	}
	return records
}

func csvError(err error) error {
	if p, ok := errors.AsType[*csv.ParseError](err); ok {
		return &Error{Line: p.Line, Err: p.Err}
	}
	return &Error{Err: err}
}
