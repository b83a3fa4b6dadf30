package notes

import (
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/internal/wording"
)

// Reader reads unlabelled notes for scoring, in any format of package table. It is not safe for concurrent use.
type Reader struct {
	rows   *records
	more   []string // names of fields that the site records beside
	fields []field
	known  int               // number of header columns when fields was set
	folded map[string]string // the first of these for each name in lower case
}

type field struct{ name, column string }

// Open opens a file of notes; the caller must close it. The columns are those of Read, without the label. A field that
// has no auxiliary column is read from the column with its name, or else from one that differs only in case. More are
// names of msg.Note.Fields to read; other names in it are ignored. Errors are *table.Error.
func Open(path string, columns Columns, more ...string) (*Reader, error) {
	in, err := table.Open(path, table.Options{Warn: columns.Warn})
	if err != nil {
		return nil, err
	}
	rows, err := newRecords(in, &columns, false)
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	more = slices.DeleteFunc(slices.Clone(more), func(name string) bool { return !msg.SiteField(name) })
	r := &Reader{rows: rows, more: more, folded: map[string]string{}}
	r.find()
	return r, nil
}

// Close releases the file.
func (r *Reader) Close() error { return r.rows.in.Close() }

// Next reads the next note into n and returns its line, or io.EOF after the last note. After a *table.Error with a Line
// it can be called again for the next row; n then holds at most the visit. Any other error is final. Without a column
// of visits, the visit is the line; without a schema version, it is msg.SchemaVersion. Next checks neither the lengths
// of texts nor required fields.
func (r *Reader) Next(n *msg.Note) (line int, err error) {
	*n = msg.Note{SchemaVersion: msg.SchemaVersion}
	rows := r.rows
	if err := rows.next(); err != nil {
		return 0, err
	}
	if len(rows.in.Header) != r.known {
		r.find()
	}
	n.VisitID, n.Text, n.Complaint, n.ArrivedAt = rows.cell(rows.ID), rows.cell(rows.Text),
		strings.TrimSpace(rows.cell(rows.Complaint)), rfc3339(rows.value(rows.Time))
	if rows.in.Index(rows.ID) < 0 {
		n.VisitID = strconv.Itoa(rows.row.Line)
	}
	if v := rows.value(versionColumn); v != "" {
		n.SchemaVersion = v
	}
	for _, f := range r.fields {
		if word, number := n.Word(f.name), n.Number(f.name); word != nil {
			*word = rows.value(f.column)
		} else if number == nil {
			n.Fields.Set(f.name, msg.ParseValue(rows.value(f.column)))
		} else if *number, err = rows.number(f.column); err != nil {
			return 0, err
		}
	}
	return rows.row.Line, nil
}

// rfc3339 returns a time in the format of messages, and anything else unchanged: the scorer warns about it.
func rfc3339(s string) string {
	if t, err := ParseTime(s); err == nil {
		return t.Format(time.RFC3339Nano)
	}
	return s
}

// find finds the column of each field in the header, text fields first.
func (r *Reader) find() {
	for _, column := range r.rows.in.Header[r.known:] {
		if folded := strings.ToLower(column); r.folded[folded] == "" {
			r.folded[folded] = column
		}
	}
	r.known, r.fields = len(r.rows.in.Header), nil
	for _, name := range slices.Concat(msg.WordNames(), msg.NumberNames(), r.more) {
		if column := r.column(name); column != "" {
			r.fields = append(r.fields, field{name, column})
		}
	}
	r.rows.use(lists.Map(r.fields, func(f field) string { return f.column })...)
}

// Lacks reports whether the rows read so far have no column for this field of a note.
func (r *Reader) Lacks(name string) bool { return r.column(name) == "" }

// column returns the column of a field, or "".
func (r *Reader) column(name string) string {
	for _, a := range r.rows.Aux {
		if a.Name == name {
			return a.Column
		}
	}
	for _, written := range []string{name, fieldsPrefix + name} {
		if r.rows.in.Index(written) >= 0 {
			return written
		}
		if column, ok := r.folded[strings.ToLower(written)]; ok {
			return column
		}
	}
	return ""
}

// versionColumn is the optional column of the schema's version.
const versionColumn = "schema_version"

// fieldsPrefix begins the columns of msg.Note.Fields in tables made of messages.
const fieldsPrefix = msg.FieldsField + "."

// fieldValue returns the value of a cell of an auxiliary column: a text where a note has one.
func fieldValue(name, cell string) msg.Value {
	if cell != "" && new(msg.Note).Word(name) != nil {
		return msg.Text(cell)
	}
	return msg.ParseValue(cell)
}

// records reads the rows of a file by the roles of its columns.
type records struct {
	Columns // all named
	in      *table.Reader
	row     table.Row
	wanted  []string // columns that a growing table must have in some row
}

// newRecords returns the rows of a table. It must have the text, the label if labels is set, and the columns that are
// named; a growing table must have the named ones in some row.
func newRecords(in *table.Reader, columns *Columns, labels bool) (*records, error) {
	r := &records{Columns: columns.named(), in: in}
	required := []string{r.Text, r.Label}
	if !labels {
		required = required[:1]
	}
	always := len(required)
	required = append(required, columns.Complaint, columns.Time, columns.ID, columns.Patient)
	for _, a := range columns.Aux {
		required = append(required, a.Column)
	}
	for i, name := range required {
		switch {
		case name == "" || in.Index(name) >= 0:
		case in.Grows() && i >= always:
			r.wanted = append(r.wanted, name)
		default:
			return nil, in.NoColumn(name, slices.Concat(required, msg.NumberNames(), msg.WordNames()))
		}
	}
	return r, nil
}

// use says that only the columns of the roles and these are read.
func (r *records) use(columns ...string) {
	columns = append(columns, r.Text, r.Label, r.Complaint, r.Time, r.ID, r.Patient, siteColumn, versionColumn)
	for _, a := range r.Aux {
		columns = append(columns, a.Column)
	}
	r.in.Use(columns...)
}

// next reads the next row. After the last one it returns io.EOF, or an error for a column that no row had.
func (r *records) next() (err error) {
	if r.row, err = r.in.Next(); errors.Is(err, io.EOF) {
		for _, name := range r.wanted {
			if r.in.Index(name) < 0 {
				return &table.Error{File: r.in.File, Column: name, Err: table.ErrNoColumn}
			}
		}
	}
	return err
}

func (r *records) fail(column string, err error) error {
	return &table.Error{File: r.in.File, Line: r.row.Line, Column: column, Err: err}
}

// cell returns an unchanged cell of the row, or "" if there is no such column.
func (r *records) cell(column string) string {
	if i := r.in.Index(column); i >= 0 && i < len(r.row.Cells) {
		return r.row.Cells[i]
	}
	return ""
}

// value returns a cell without surrounding spaces, or "" for any spelling of a missing value.
func (r *records) value(column string) string {
	s := strings.TrimSpace(r.cell(column))
	switch strings.ToLower(s) {
	case "na", "n/a", "nan", "null", ".":
		return ""
	}
	return s
}

// number returns the number in a cell, unset for a missing value.
func (r *records) number(column string) (msg.Optional, error) {
	s := r.value(column)
	if s == "" {
		return msg.Optional{}, nil
	}
	v, err := wording.Number(s)
	if err != nil {
		return msg.Optional{}, r.fail(column, err)
	}
	return msg.Some(v), nil
}
