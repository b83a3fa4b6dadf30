package notes

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/train"
)

// Row is one labelled note.
type Row = train.Row

// Table is the rows of one or more files, in their order.
type Table struct {
	Rows []Row
	// Empty counts the rows that were left out because their text is empty: nothing could score them.
	Empty int
	// Ends holds for each file how many rows it and those before it have.
	Ends []int
	// Labels counts the rows by the value of their label, a number in its shortest spelling. All values but the positive
	// one mean that the patient was not admitted.
	Labels map[string]int
	// Classes are the names of the outcomes, the reference first, and Admission tells which of them count as admitted; nil
	// where Columns.Classes is.
	Classes   []string
	Admission []bool
}

// Error is bad input at a place.
type Error struct {
	File   string
	Line   int    // from 1; 0 for the file as a whole
	Column string // "" where no single column is at fault
	Err    error
}

func (e *Error) Error() string {
	s := e.File
	if e.Line > 0 {
		s += fmt.Sprintf(", line %d", e.Line)
	}
	if e.Column != "" {
		s += fmt.Sprintf(", column %q", e.Column)
	}
	return s + ": " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// The reasons of an Error.
var (
	ErrNoColumn  = errors.New("no such column")
	ErrNoLabel   = errors.New("no label")
	ErrNotNumber = errors.New("not a number")
	ErrNotTime   = errors.New("not a time (want 2006-01-02 or RFC 3339)")
	ErrNoRows    = errors.New("no rows")
	ErrOneClass  = errors.New("only one class among the labels")
	ErrNotClass  = errors.New("the label is none of the classes")
	// ErrManyClasses is a column that hardly holds outcomes.
	ErrManyClasses = fmt.Errorf("more than %d different labels: name the classes, or another column", maxClasses)
	// ErrRareClass is a class that nothing can be learnt of.
	ErrRareClass = errors.New("too few visits of a class")
	// ErrLabelAsFeature is the outcome given as what it is to be predicted from.
	ErrLabelAsFeature = errors.New("the label cannot be an auxiliary column, the complaint or the text")
)

// maxLine bounds a line of JSON: a note's text is at most 64 KiB, six bytes each if escaped.
const maxLine = 8 << 20

// Read reads files in their order: JSON lines where the name ends in .jsonl or .ndjson, else CSV with a
// header; each may end in .gz. Invalid UTF-8 is dropped. Columns that are not named are ignored. Rows of an
// empty text are counted and left out; a file without rows is an error, and so is a table of one class only. With
// Columns.Classes a label that is none of them is an error, and so is a class of fewer than ten visits.
func Read(paths []string, columns Columns) (*Table, error) {
	t := &Table{}
	whole := func(err error) error {
		return &Error{File: strings.Join(paths, ", "), Column: columns.labelName(), Err: err}
	}
	if err := columns.CheckClasses(); err != nil {
		return nil, whole(err)
	}
	if columns.Classes != nil && !columns.auto() {
		t.Classes = columns.Classes
	}
	text, label, _, _, _ := columns.roles()
	isLabel := func(a Aux) bool { return a.Column == label.name }
	if text.name == label.name || columns.Complaint == label.name || slices.ContainsFunc(columns.Aux, isLabel) {
		return nil, whole(ErrLabelAsFeature)
	}
	for _, path := range paths {
		before := len(t.Rows) + t.Empty
		if err := t.readFile(path, &columns); err != nil {
			return nil, err
		}
		if len(t.Rows)+t.Empty == before {
			return nil, &Error{File: path, Err: ErrNoRows}
		}
		t.Ends = append(t.Ends, len(t.Rows))
	}
	if columns.Classes != nil {
		if err := t.settleClasses(&columns); err != nil {
			return nil, whole(err)
		}
		return t, nil
	}
	first := slices.IndexFunc(t.Rows, func(r Row) bool { return r.Positive })
	if first < 0 || !slices.ContainsFunc(t.Rows, func(r Row) bool { return !r.Positive }) {
		return nil, whole(fmt.Errorf("%w (positive is %q)", ErrOneClass, columns.positive()))
	}
	return t, nil
}

func (c *Columns) labelName() string {
	_, label, _, _, _ := c.roles()
	return label.name
}

func (c *Columns) positive() string {
	if c.Positive == "" {
		return DefaultPositive
	}
	return c.Positive
}

func (t *Table) readFile(path string, columns *Columns) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening notes: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	var r io.Reader = f
	name := strings.ToLower(path)
	if plain, zipped := strings.CutSuffix(name, ".gz"); zipped {
		name = plain
		z, err := gzip.NewReader(f)
		if err != nil {
			return &Error{File: path, Err: err}
		}
		r = z
	}
	b := bufio.NewReaderSize(r, 1<<16)
	if mark, _ := b.Peek(3); string(mark) == "\ufeff" {
		_, _ = b.Discard(3)
	}
	if strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".ndjson") {
		return t.readJSON(path, b, columns)
	}
	return t.readCSV(path, b, columns)
}

// cell gives the value of a column in the current row; ok is false where the row has no such field.
type cell func(column string) (value string, ok bool)

func (t *Table) readCSV(path string, r io.Reader, columns *Columns) error {
	c := csv.NewReader(r)
	c.ReuseRecord = true
	header, err := c.Read()
	if err == io.EOF {
		return &Error{File: path, Err: ErrNoRows}
	}
	if err != nil {
		return csvError(path, err)
	}
	at := map[string]int{}
	for i, name := range header {
		at[strings.TrimSpace(name)] = i
	}
	text, label, complaint, when, id := columns.roles()
	need := []role{text, label, complaint, when, id}
	for _, a := range columns.Aux {
		need = append(need, role{a.Column, true})
	}
	for _, n := range need {
		if _, ok := at[n.name]; n.required && !ok {
			return &Error{File: path, Line: 1, Column: n.name, Err: ErrNoColumn}
		}
	}
	for {
		record, err := c.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return csvError(path, err)
		}
		line, _ := c.FieldPos(0)
		if err := t.add(path, line, columns, func(column string) (string, bool) {
			if i, ok := at[column]; ok {
				return record[i], true
			}
			return "", false
		}); err != nil {
			return err
		}
	}
}

func csvError(path string, err error) error {
	if p, ok := errors.AsType[*csv.ParseError](err); ok {
		return &Error{File: path, Line: p.Line, Err: p.Err}
	}
	return &Error{File: path, Err: err}
}

func (t *Table) readJSON(path string, r io.Reader, columns *Columns) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 1<<16), maxLine)
	line := 0
	unseen := map[string]bool{} // columns that were named: each must stand in some line
	_, _, complaint, when, id := columns.roles()
	for _, n := range []role{complaint, when, id} {
		if n.required {
			unseen[n.name] = true
		}
	}
	for _, a := range columns.Aux {
		unseen[a.Column] = true
	}
	for s.Scan() {
		line++
		if len(bytes.TrimSpace(s.Bytes())) == 0 {
			continue
		}
		var object map[string]any
		d := json.NewDecoder(bytes.NewReader(bytes.ToValidUTF8(s.Bytes(), nil))) // json would put U+FFFD in its place
		d.UseNumber()
		err := d.Decode(&object)
		if _, behind := d.Token(); err != nil || object == nil || behind != io.EOF {
			return &Error{File: path, Line: line, Err: errors.New("not a JSON object")} // json's own words quote the input
		}
		text, label, _, _, _ := columns.roles()
		for _, n := range []role{text, label} {
			if _, ok := object[n.name]; !ok {
				return &Error{File: path, Line: line, Column: n.name, Err: ErrNoColumn}
			}
		}
		if err := t.add(path, line, columns, func(column string) (string, bool) {
			value, ok := jsonCell(object, column)
			if ok {
				delete(unseen, column)
			}
			return value, ok
		}); err != nil {
			return err
		}
	}
	if err := s.Err(); err != nil {
		return &Error{File: path, Line: line + 1, Err: err}
	}
	if line > 0 && len(unseen) > 0 {
		return &Error{File: path, Column: slices.Min(slices.Collect(maps.Keys(unseen))), Err: ErrNoColumn}
	}
	return nil
}

// jsonCell returns the scalar at a name, or at a dotted path of names.
func jsonCell(object map[string]any, column string) (string, bool) {
	v, ok := object[column]
	if !ok {
		if head, rest, dotted := strings.Cut(column, "."); dotted {
			if inner, isObject := object[head].(map[string]any); isObject {
				return jsonCell(inner, rest)
			}
		}
		return "", false
	}
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

func (t *Table) add(path string, line int, columns *Columns, get cell) error {
	text, label, complaint, when, id := columns.roles()
	fail := func(column string, err error) error { return &Error{File: path, Line: line, Column: column, Err: err} }
	clean := func(column string) string {
		s, _ := get(column)
		return strings.ToValidUTF8(s, "")
	}
	row := Row{Visit: clean(id.name), Text: clean(text.name)}
	if complaint.name != label.name { // which would tell it
		row.Complaint = strings.TrimSpace(clean(complaint.name))
	}
	y := strings.TrimSpace(clean(label.name))
	if missing(y) {
		return fail(label.name, ErrNoLabel)
	}
	if columns.Classes == nil {
		row.Positive = sameLabel(y, columns.positive())
	} else if row.Class = indexLabel(t.Classes, y); row.Class < 0 && !columns.auto() {
		return fail(label.name, ErrNotClass)
	}
	if s := strings.TrimSpace(clean(when.name)); !missing(s) {
		var err error
		if row.Arrived, err = ParseTime(s); err != nil {
			return fail(when.name, err)
		}
	}
	row.Aux = make([]msg.Value, len(columns.Aux))
	for i, a := range columns.Aux {
		s := strings.TrimSpace(clean(a.Column))
		switch {
		case missing(s):
		case a.Kind == models.Categorical:
			row.Aux[i] = msg.Text(s)
			if v, err := strconv.ParseFloat(s, 64); err == nil && a.numeric() {
				row.Aux[i] = msg.Number(v)
			}
		default:
			v, err := strconv.ParseFloat(s, 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
				return fail(a.Column, ErrNotNumber)
			}
			row.Aux[i] = msg.Number(v)
		}
	}
	if strings.TrimSpace(row.Text) == "" {
		t.Empty++
		return nil
	}
	if v, err := strconv.ParseFloat(y, 64); err == nil {
		y = strconv.FormatFloat(v, 'g', -1, 64)
	}
	if row.Class < 0 {
		if len(t.Classes) == maxClasses {
			return fail(label.name, ErrManyClasses)
		}
		if err := models.CheckClass(y); err != nil {
			return fail(label.name, err)
		}
		row.Class = len(t.Classes)
		t.Classes = append(t.Classes, y)
	}
	t.Rows = append(t.Rows, row)
	if t.Labels == nil {
		t.Labels = map[string]int{}
	}
	t.Labels[y]++
	return nil
}

// numeric reports whether the note's field of this name is a number, so that its levels are numbers too.
func (a *Aux) numeric() bool {
	return a.Name == "age" || a.Name == "acuity" || strings.HasPrefix(a.Name, "vitals.")
}

// missing reports whether a cell holds no value.
func missing(s string) bool {
	switch strings.ToLower(s) {
	case "", "na", "n/a", "nan", "null", ".":
		return true
	}
	return false
}

// sameLabel compares as text and, where both are numbers, as numbers: a table program writes 1 as 1.0.
func sameLabel(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y
}

// ParseTime reads a date, or a date with a time; without a zone it is UTC.
func ParseTime(s string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly, time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, ErrNotTime
}
