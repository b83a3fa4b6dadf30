package notes

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/table"
)

// Reader reads notes without labels, for scoring, in any format of package table. It is not safe for concurrent use.
type Reader struct {
	rows   *records
	fields []field
	known  int // columns of the header that fields knows
}

// field is a field of a note and the column that it is read from.
type field struct{ name, column string }

// Open opens a file of notes; the caller must close it. The columns mean what they mean to Read, but that there is no
// label. A field of the note without an auxiliary column of its own is read from the column of its name, else from one
// that differs from it in capitals alone. Errors are *table.Error.
func Open(path string, columns Columns) (*Reader, error) {
	in, err := table.Open(path, table.Options{})
	if err != nil {
		return nil, err
	}
	rows, err := newRecords(in, &columns, false)
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return &Reader{rows: rows}, nil
}

// Close releases the file.
func (r *Reader) Close() error { return r.rows.in.Close() }

// Next reads the next note into n and returns its line. It returns io.EOF behind the last note. A *table.Error with a
// Line concerns that row alone, and Next goes on behind it; n then holds at most the visit. Any other error is final. A
// note without a column of visits has its line as visit, one without a schema version has msg.SchemaVersion. The
// lengths of texts and required fields are not checked.
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
	if v := rows.value("schema_version"); v != "" {
		n.SchemaVersion = v
	}
	for _, f := range r.fields {
		if word := n.Word(f.name); word != nil {
			*word = rows.value(f.column)
		} else if *n.Number(f.name), err = rows.number(f.column); err != nil {
			return 0, err
		}
	}
	return rows.row.Line, nil
}

// rfc3339 returns a time in the form of messages, and anything else as it is, which the scorer names in a warning.
func rfc3339(s string) string {
	if t, err := ParseTime(s); err == nil {
		return t.Format(time.RFC3339Nano)
	}
	return s
}

// find finds the column of each field in the header, words first.
func (r *Reader) find() {
	r.known, r.fields = len(r.rows.in.Header), nil
	for _, name := range append(msg.WordNames(), msg.NumberNames()...) {
		if column := r.column(name); column != "" {
			r.fields = append(r.fields, field{name, column})
		}
	}
}

// Lacks reports whether no column of the rows read so far holds this field of a note.
func (r *Reader) Lacks(name string) bool { return r.column(name) == "" }

// column returns the column of a field, "" if there is none.
func (r *Reader) column(name string) string {
	for _, a := range r.rows.Aux {
		if a.Name == name {
			return a.Column
		}
	}
	if r.rows.in.Index(name) >= 0 {
		return name
	}
	for _, column := range r.rows.in.Header {
		if strings.EqualFold(column, name) {
			return column
		}
	}
	return ""
}
