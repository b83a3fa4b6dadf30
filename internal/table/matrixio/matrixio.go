package matrixio

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/solver/matrix"
)

var (
	// ErrFormat is wrapped by errors about files that are not in the format of their name.
	ErrFormat = errors.New("malformed matrix")
	// ErrUnsupported is wrapped by errors about well-formed files of an unsupported kind.
	ErrUnsupported = errors.New("unsupported matrix")
)

// at returns a *table.Error at a field of a line, both from 1, or 0 if unknown.
func at(line, column int, err error) error {
	e := &table.Error{File: "matrix", Line: line, Err: err} // which Read names
	if line > 0 && column > 0 {
		e.Column = strconv.Itoa(column)
	}
	return e
}

// malformed returns the error of at that wraps ErrFormat.
func malformed(line, column int, format string, args ...any) error {
	return at(line, column, fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, args...)))
}

// unsupported returns the error of at that wraps ErrUnsupported.
func unsupported(line int, format string, args ...any) error {
	return at(line, 0, fmt.Errorf("%w: %s", ErrUnsupported, fmt.Sprintf(format, args...)))
}

// Formats lists the formats of matrices with their endings, for help texts and errors.
func Formats() string { return "MatrixMarket (.mtx), NumPy (.npy), " + table.Formats() }

// Read returns the matrix in the named file: MatrixMarket (.mtx), a NumPy array (.npy), or a table of package table;
// all but Parquet may end in .gz or .zst. A coordinate .mtx gives a *matrix.CSR, everything else a *mat.Dense.
//
// Errors are *table.Error: those of package table, and others that wrap ErrFormat for a malformed file, ErrUnsupported
// for a name, a kind of matrix or a kind of number that is not read, and linalg.ErrNonFinite for NaN and infinities.
func Read(path string) (mat.Matrix, error) { return Options{}.Read(path) }

// Options changes how a table is read.
type Options struct {
	// Gaps makes an empty field, NA, NaN or a single dot a missing answer, NaN.
	Gaps bool
	// Warn is that of table.Options.
	Warn func(message string, facts ...any)
}

// Read is the function Read with these options.
func (o Options) Read(path string) (x mat.Matrix, err error) {
	if x, err = o.openAny(path); err == nil {
		return x, nil
	}
	if at, ok := errors.AsType[*table.Error](err); ok {
		at.File = path
		return nil, at
	}
	return nil, &table.Error{File: path, Err: err}
}

func (o Options) openAny(path string) (mat.Matrix, error) {
	if table.IsName(path) {
		rows, err := table.Open(path, o.table())
		if err != nil {
			return nil, err
		}
		defer rows.Close() //nolint:errcheck // nothing was written
		return o.read(rows)
	}
	ext, _ := table.Extensions(path)
	decode, ok := map[string]func(io.Reader) (mat.Matrix, error){".mtx": ReadMTX, ".npy": readNPY}[ext]
	if !ok {
		return nil, unsupported(0, "the name must say the format: %s", Formats())
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, table.Cause(err) // Error states the path itself
	}
	defer file.Close() //nolint:errcheck // nothing was written
	input, err := table.Decompress(file, path)
	if err != nil {
		return nil, err
	}
	defer input.Close()
	return decode(input)
}

// Transposed returns Xᵀ: terms by documents for a matrix of documents by terms. A *matrix.CSR is shared, not copied;
// others are copied once.
func Transposed(x mat.Matrix) mat.Matrix {
	if sparse, ok := x.(*matrix.CSR); ok {
		return sparse.Transpose()
	}
	return mat.DenseCopyOf(x.T())
}

func (o Options) table() table.Options { return table.Options{IsHeader: o.isHeader, Warn: o.Warn} }

func (o Options) missing(field string) bool {
	return field == "" || o.Gaps && (field == "." || strings.EqualFold(field, "NA") || strings.EqualFold(field, "NaN"))
}

// isHeader reports whether a field is neither missing nor a number, or the fields are the header that pandas gives to
// columns without names: nothing for the index, then 0, 1, 2.
func (o Options) isHeader(fields []string) bool {
	counts := len(fields) > 1 && fields[0] == ""
	for i, field := range fields[1:] {
		counts = counts && field == strconv.Itoa(i)
	}
	return counts || slices.ContainsFunc(fields, func(field string) bool {
		field = strings.TrimSpace(field)
		_, err := wording.Number(field)
		return !o.missing(field) && errors.Is(err, wording.ErrNotNumber)
	})
}

// read reads a matrix from a table, a row per line. A first line with a field that is neither empty nor a number is a
// header and is left out, and so is a column without a name in it. Blank lines, spaces around numbers and a byte order
// mark are ignored.
//
// An empty field and one that is not a number give an error that wraps ErrFormat; NaN, infinities and numbers beyond
// float64 give linalg.ErrNonFinite.
func (o Options) read(rows *table.Reader) (mat.Matrix, error) {
	width := len(rows.Header) // which rows of JSON lines let grow
	columns := rows.Named()
	if len(columns) == 0 {
		return nil, malformed(rows.HeaderLine, 0, "no column has a name")
	}
	var values []float64
	for row, err := range rows.Rows(columns...) {
		switch {
		case err != nil:
			return nil, err
		case len(row.Cells) != width:
			return nil, malformed(row.Line, 0, "%d fields, want %d", len(row.Cells), width)
		}
		for _, f := range columns {
			field := strings.TrimSpace(row.Cells[f])
			v := math.NaN()
			switch {
			case !o.missing(field):
				v, err = number(field, row.Line, f+1)
			case !o.Gaps:
				err = malformed(row.Line, f+1, "an empty field")
			}
			if at, ok := errors.AsType[*table.Error](err); ok {
				at.Column = rows.Header[f]
				return nil, at
			}
			values = append(values, v)
		}
	}
	return mat.NewDense(len(values)/len(columns), len(columns), values), nil
}

// LineOf returns the line, from 1, of a row, from 0, of the matrix in a table; 0 for other files and rows. It reads the
// file again: it is for messages.
func LineOf(path string, row int) int {
	if !table.IsName(path) {
		return 0
	}
	rows, err := table.Open(path, Options{}.table())
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
