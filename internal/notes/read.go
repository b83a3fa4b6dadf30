package notes

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/models/train"
)

// Row is one labelled note.
type Row = train.Row

// Table is the rows of one or more files, in their order.
type Table struct {
	Rows   []Row
	Empty  int            // rows left out because they have no text
	Ends   []int          // number of rows up to the end of each file
	Labels map[string]int // rows by label; numbers in their shortest form
	people intake.Tally   // of the labels
	// Classes are the outcomes, the reference first; Admission marks those that count as admitted. Both are nil if
	// Columns.Classes is.
	Classes   []string
	Admission []bool
}

// The reasons of a *table.Error, in addition to those of package table.
var (
	ErrNoLabel   = errors.New("no label")
	ErrNotNumber = wording.ErrNotNumber
	ErrNotTime   = errors.New("not a time: write it as 2006-01-02 or as in RFC 3339")
	ErrOneClass  = errors.New("only one class among the labels")
	// ErrLabelCase is returned for labels that would count as different outcomes.
	ErrLabelCase = errors.New("some labels differ in capitals alone")
	ErrNotClass  = errors.New("the label is not one of the classes")
	// ErrManyClasses is returned for a column that probably does not hold outcomes.
	ErrManyClasses = fmt.Errorf("more than %d different labels: name the classes, or another column", maxClasses)
	// ErrRareClass is returned for a class with too few patients to learn from.
	ErrRareClass = errors.New("too few patients of a class")
	// ErrLabelAsFeature is returned if the outcome would be predicted from itself.
	ErrLabelAsFeature = errors.New("the label cannot be an auxiliary column, the complaint or the text")
)

// Read reads files in order, in any format of package table, and ignores other columns. Rows without text are counted
// and left out. It is an error if a file has no rows or if all labels have one class; with Columns.Classes also if a
// label is not a class, or a class has fewer than ten patients. Errors are *table.Error.
func Read(paths []string, columns Columns) (*Table, error) {
	t := &Table{}
	named := columns.named()
	whole := func(err error) error {
		return &table.Error{File: strings.Join(paths, ", "), Column: named.Label, Err: err}
	}
	if err := columns.CheckClasses(); err != nil {
		return nil, whole(err)
	}
	if columns.Classes != nil && !columns.auto() {
		t.Classes = columns.Classes
	}
	isLabel := func(a Aux) bool { return a.Column == named.Label }
	if named.Text == named.Label || columns.Complaint == named.Label || slices.ContainsFunc(columns.Aux, isLabel) {
		return nil, whole(ErrLabelAsFeature)
	}
	for _, path := range paths {
		in, err := table.Open(path, table.Options{Warn: columns.Warn})
		if err != nil {
			return nil, err
		}
		err = t.read(in, &columns)
		_ = in.Close() // only read
		if err != nil {
			return nil, err
		}
		t.Ends = append(t.Ends, len(t.Rows))
	}
	for label := range t.Labels {
		if columns.Classes == nil && label != named.Positive && strings.EqualFold(label, named.Positive) {
			return nil, whole(fmt.Errorf("%w from %q: give all the same spelling", ErrLabelCase, named.Positive))
		}
	}
	if columns.Classes != nil {
		if err := t.settleClasses(&columns); err != nil {
			return nil, whole(err)
		}
		return t, nil
	}
	has := func(positive bool) bool {
		return slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Positive == positive })
	}
	switch {
	case !has(true):
		return nil, whole(fmt.Errorf("%w: no row has the positive label %q", ErrOneClass, named.Positive))
	case !has(false):
		return nil, whole(fmt.Errorf("%w: all rows have the positive label %q", ErrOneClass, named.Positive))
	}
	return t, nil
}

func (t *Table) read(in *table.Reader, columns *Columns) error {
	r, err := newRecords(in, columns, true)
	if err == nil {
		r.use()
	}
	for err == nil {
		if err = r.next(); err == nil {
			err = t.add(r)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (t *Table) add(r *records) error {
	// Cells share the memory of their line, in which the columns that nobody keeps may be long.
	row := Row{
		Patient: strings.Clone(r.value(r.Patient)), Visit: strings.Clone(r.cell(r.ID)), Text: strings.Clone(r.cell(r.Text)),
	}
	if r.Complaint != r.Label { // otherwise the complaint would reveal the label
		row.Complaint = strings.Clone(strings.TrimSpace(r.cell(r.Complaint)))
	}
	if r.Label != siteColumn {
		row.Site = strings.Clone(r.value(siteColumn))
	}
	y := strings.Clone(r.value(r.Label))
	if y == "" {
		return r.fail(r.Label, ErrNoLabel)
	}
	if r.Classes == nil {
		row.Positive = sameLabel(y, r.Positive)
	} else if row.Class = indexLabel(t.Classes, y); row.Class < 0 && !r.auto() {
		return r.fail(r.Label, ErrNotClass)
	}
	if s := r.value(r.Time); s != "" {
		var err error
		if row.Arrived, err = ParseTime(s); err != nil {
			return r.fail(r.Time, err)
		}
	}
	row.Aux = make([]msg.Value, len(r.Aux))
	for i, a := range r.Aux {
		if a.Kind == bundle.Categorical && new(msg.Note).Number(a.Name) == nil { // notes have numbers, not words, there
			if s := r.value(a.Column); s != "" {
				row.Aux[i] = fieldValue(a.Name, strings.Clone(s))
			}
			continue
		}
		v, err := r.number(a.Column)
		if err != nil {
			return err
		}
		if v.Set {
			row.Aux[i] = msg.Number(v.Value)
		}
	}
	if strings.TrimSpace(row.Text) == "" {
		t.Empty++
		return nil
	}
	if v, err := wording.Number(y); err == nil {
		y = strconv.FormatFloat(v, 'g', -1, 64)
	}
	if row.Class < 0 {
		if len(t.Classes) == maxClasses {
			return r.fail(r.Label, ErrManyClasses)
		}
		if err := bundle.CheckClass(y); err != nil {
			return r.fail(r.Label, err)
		}
		row.Class = len(t.Classes)
		t.Classes = append(t.Classes, y)
	}
	t.Rows = append(t.Rows, row)
	if t.Labels == nil {
		t.Labels, t.people = map[string]int{}, intake.Tally{}
	}
	if t.Labels[y]++; len(t.Labels) <= maxLabels { // LabelCounts names no more, which would take most of the memory
		t.people.Add(y, t.person(len(t.Rows)-1))
	}
	return nil
}

// person returns who a row is about: the patient, else the visit, else somebody of its own.
func (t *Table) person(row int) string {
	return cmp.Or(t.Rows[row].Patient, t.Rows[row].Visit, "row "+strconv.Itoa(row))
}

// sameLabel compares labels as numbers if both are numbers (some programs write 1 as 1.0), otherwise as text.
func sameLabel(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := wording.Number(a)
	y, errY := wording.Number(b)
	return errX == nil && errY == nil && x == y
}

// ParseTime reads a date, or a date with a time; without a zone it is UTC.
func ParseTime(s string) (time.Time, error) {
	for _, layout := range []string{
		time.RFC3339, time.DateOnly, time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04",
	} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, ErrNotTime
}
