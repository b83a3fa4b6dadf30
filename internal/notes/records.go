package notes

import (
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/table"
)

// records is the rows of a file whose columns have roles.
type records struct {
	Columns // all named
	in      *table.Reader
	row     table.Row
	wanted  []string // columns that some row of a growing table must bring
}

// newRecords returns the rows of a table that must have the text, the label if there are labels, and the columns that
// are named. A table that grows must have the latter in some row.
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
			return nil, in.NoColumn(name)
		}
	}
	return r, nil
}

// next reads the next row; behind the last it returns io.EOF, or an error for a column that no row had.
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

// cell returns a cell of the row as it stands, "" if there is no such column.
func (r *records) cell(column string) string {
	if i := r.in.Index(column); i >= 0 && i < len(r.row.Cells) {
		return r.row.Cells[i]
	}
	return ""
}

// value returns a cell without spaces around it, "" for each spelling of a missing value.
func (r *records) value(column string) string {
	s := strings.TrimSpace(r.cell(column))
	switch strings.ToLower(s) {
	case "na", "n/a", "nan", "null", ".":
		return ""
	}
	return s
}

// number returns a cell's number, unset for a missing value.
func (r *records) number(column string) (msg.Optional, error) {
	s := r.value(column)
	if s == "" {
		return msg.Optional{}, nil
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return msg.Optional{}, r.fail(column, ErrNotNumber)
	}
	return msg.Some(v), nil
}
