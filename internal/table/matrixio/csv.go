package matrixio

import (
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/table"
)

// cells reads a matrix from a table, a row per line. A first line with a field that is neither empty nor a number is a
// header and is left out. Blank lines, spaces around numbers and a byte order mark are ignored.
//
// Rows of unequal width, an empty field, a field that is not a number and a file without rows give an *Error that wraps
// ErrFormat; NaN, infinities and numbers beyond float64 give linalg.ErrNonFinite.
type cells struct {
	gaps bool // fields may be missing
}

func (c cells) options() table.Options { return table.Options{IsHeader: c.isHeader} }

// missing reports whether a field stands for an answer that was not given.
func (c cells) missing(field string) bool {
	return field == "" || c.gaps && (field == "." || strings.EqualFold(field, "NA") || strings.EqualFold(field, "NaN"))
}

// isHeader reports whether a field is neither missing nor a number.
func (c cells) isHeader(fields []string) bool {
	for _, field := range fields {
		field = strings.TrimSpace(field)
		if _, err := strconv.ParseFloat(field, 64); !c.missing(field) && errors.Is(err, strconv.ErrSyntax) {
			return true
		}
	}
	return false
}

// open reads the table in a file.
func (c cells) open(path string) (mat.Matrix, error) {
	rows, err := table.Open(path, c.options())
	if err != nil {
		return nil, tableError(err)
	}
	defer rows.Close() //nolint:errcheck // nothing was written
	return c.read(rows)
}

func (c cells) read(rows *table.Reader) (mat.Matrix, error) {
	width := len(rows.Header())
	var values []float64
	for {
		row, err := rows.Next()
		switch {
		case errors.Is(err, io.EOF):
			return mat.NewDense(len(values)/width, width, values), nil
		case err != nil:
			return nil, tableError(err)
		case len(row.Cells) != width:
			return nil, malformed(row.Line, 0, "%d fields, want %d", len(row.Cells), width)
		}
		for f, field := range row.Cells {
			field = strings.TrimSpace(field)
			v := math.NaN()
			switch {
			case !c.missing(field):
				v, err = number(field, row.Line, f+1)
			case !c.gaps:
				err = malformed(row.Line, f+1, "an empty field")
			}
			if err != nil {
				return nil, err
			}
			values = append(values, v)
		}
	}
}

// LineOf returns the line, from 1, on which a row, from 0, of the matrix in a table stands; 0 for other files and rows.
// It reads the file once more: it is for messages.
func LineOf(path string, row int) int {
	if !isTable(path) {
		return 0
	}
	rows, err := table.Open(path, cells{}.options())
	if err != nil {
		return 0
	}
	defer rows.Close() //nolint:errcheck // nothing was written
	for ; ; row-- {
		next, err := rows.Next()
		if err != nil {
			return 0
		}
		if row == 0 {
			return next.Line
		}
	}
}

// tableError returns the error of a table as one of a matrix. What the file system and decompression say stays.
func tableError(err error) error {
	at, ok := errors.AsType[*table.Error](err)
	switch {
	case !ok:
		return err
	case errors.Is(at, table.ErrNoRows):
		return malformed(0, 0, "no rows of numbers")
	case at.Line == 0:
		return &Error{Err: at.Err}
	case at.Column != "":
		return malformed(at.Line, 0, "column %q: %v", at.Column, at.Err)
	}
	return malformed(at.Line, 0, "%v", at.Err)
}
