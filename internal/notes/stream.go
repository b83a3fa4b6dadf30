package notes

import (
	"errors"
	"strconv"
	"strings"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/table"
)

// Reader reads notes without labels, for scoring, in any format of package table. It is not safe for concurrent use.
type Reader struct {
	rows    *records
	columns Columns
	numbers []field // of the note's numbers
	words   []field
	known   int // columns of the header that numbers and words know
}

// field is a field of a note and the column that it is read from.
type field struct{ name, column string }

// Open opens a file of notes; the caller must close it. The columns mean what they mean to Read, but that there is no label.
// A field of the note without an auxiliary column of its own is read from the column of its name, else from one that differs
// from it in capitals alone. Errors are *table.Error.
func Open(path string, columns Columns) (*Reader, error) {
	text, _, complaint, when, id := columns.roles()
	others := []role{complaint, when, id}
	for _, a := range columns.Aux {
		others = append(others, role{a.Column, true})
	}
	in, err := table.Open(path, table.Options{})
	if err != nil {
		return nil, err
	}
	rows, err := newRecords(in, []role{text}, others)
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return &Reader{rows: rows, columns: columns}, nil
}

// Close releases the file.
func (r *Reader) Close() error { return r.rows.in.Close() }

// Next reads the next note into n and returns its line. It returns io.EOF behind the last note. A *table.Error with a Line
// concerns that row alone, and Next goes on behind it; n then holds at most the visit. Any other error is final. A note
// without a column of visits has its line as visit, one without a schema version has msg.SchemaVersion. The lengths of texts
// and required fields are not checked.
func (r *Reader) Next(n *msg.Note) (line int, err error) {
	*n = msg.Note{SchemaVersion: msg.SchemaVersion}
	if err := r.rows.next(); err != nil {
		return 0, err
	}
	if len(r.rows.in.Header()) != r.known {
		r.find()
	}
	text, _, complaint, when, id := r.columns.roles()
	n.VisitID, n.Text, n.Complaint, n.ArrivedAt = r.rows.cell(id.name), r.rows.cell(text.name), strings.TrimSpace(r.rows.cell(complaint.name)), r.rows.value(when.name)
	if r.rows.in.Index(id.name) < 0 {
		n.VisitID = strconv.Itoa(r.rows.row.Line)
	}
	if v := r.rows.value("schema_version"); v != "" {
		n.SchemaVersion = v
	}
	for _, f := range r.words {
		*n.Word(f.name) = r.rows.value(f.column)
	}
	for _, f := range r.numbers {
		if *n.Number(f.name), err = r.rows.number(f.column); err != nil {
			return 0, err
		}
	}
	return r.rows.row.Line, nil
}

// find finds the column of each field in the header.
func (r *Reader) find() {
	r.known, r.numbers, r.words = len(r.rows.in.Header()), nil, nil
	fields := []string{"sex", "site", "age", "acuity"}
	for _, name := range msg.VitalNames() {
		fields = append(fields, "vitals."+name)
	}
	var none msg.Note
	for _, name := range fields {
		column := r.column(name)
		switch {
		case column == "":
		case none.Word(name) != nil:
			r.words = append(r.words, field{name, column})
		default:
			r.numbers = append(r.numbers, field{name, column})
		}
	}
}

// Lacks reports whether no column of the rows read so far holds this field of a note.
func (r *Reader) Lacks(name string) bool { return r.column(name) == "" }

// column returns the column of a field, "" if there is none.
func (r *Reader) column(name string) string {
	for _, a := range r.columns.Aux {
		if a.Name == name {
			return a.Column
		}
	}
	if r.rows.in.Index(name) >= 0 {
		return name
	}
	for _, column := range r.rows.in.Header() {
		if strings.EqualFold(column, name) {
			return column
		}
	}
	return ""
}
