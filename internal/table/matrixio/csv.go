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

// ReadAnswers reads the matrix in the named file as Read does, but in a table an empty field, NA, NaN or a single dot is a
// missing answer, NaN.
func ReadAnswers(path string) (mat.Matrix, error) {
	if ext, _ := table.Extensions(path); !isTable(ext) {
		return Read(path)
	}
	x, err := cells{gaps: true}.open(path)
	return x, atPath(path, err)
}

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
	x, err := c.read(rows)
	if err != nil {
		return nil, err
	}
	return x, nil
}

func (c cells) read(rows *table.Reader) (*mat.Dense, error) {
	width := len(rows.Header())
	var values []float64
	for {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return mat.NewDense(len(values)/width, width, values), nil
		}
		if err != nil {
			return nil, tableError(err)
		}
		if len(row.Cells) != width {
			return nil, malformed(row.Line, 0, "%d fields, want %d", len(row.Cells), width)
		}
		for f, field := range row.Cells {
			field = strings.TrimSpace(field)
			var v float64
			switch {
			case !c.missing(field):
				v, err = number(field, row.Line, f+1)
			case c.gaps:
				v = math.NaN()
			default:
				err = malformed(row.Line, f+1, "an empty field")
			}
			if err != nil {
				return nil, err
			}
			values = append(values, v)
		}
	}
}

// lineOf returns the line of a row, from 0, of the numbers; 0 if there is no such row.
func lineOf(path string, row int) int {
	rows, err := table.Open(path, cells{}.options())
	if err != nil {
		return 0
	}
	defer rows.Close() //nolint:errcheck // nothing was written
	for {
		next, err := rows.Next()
		if err != nil {
			return 0
		}
		if row == 0 {
			return next.Line
		}
		row--
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
