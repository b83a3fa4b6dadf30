package matrixio

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/matrix"
)

var (
	// ErrFormat is wrapped by the errors of files that are not in the format their name says.
	ErrFormat = errors.New("malformed matrix")
	// ErrUnsupported is wrapped by the errors of well-formed files of a kind that is not read.
	ErrUnsupported = errors.New("unsupported matrix")
)

// csvExt is the extension of comma-separated values.
const csvExt = ".csv"

// Error says where in a file reading ended.
type Error struct {
	Path   string // "" when the input was a reader
	Line   int    // from 1; 0 in .npy files, and when the place is unknown
	Column int    // the field of the line, from 1; 0 when the whole line is meant
	Err    error
}

// Error returns, for instance, `reading "x.csv": line 3, column 2: malformed matrix: not a number`.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("reading ")
	if e.Path == "" {
		b.WriteString("matrix")
	} else {
		fmt.Fprintf(&b, "%q", e.Path)
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, ": line %d", e.Line)
		if e.Column > 0 {
			fmt.Fprintf(&b, ", column %d", e.Column)
		}
	}
	return b.String() + ": " + e.Err.Error()
}

// Unwrap returns the cause: ErrFormat, ErrUnsupported, linalg.ErrNonFinite or what the file system said.
func (e *Error) Unwrap() error { return e.Err }

// malformed returns an *Error that wraps ErrFormat.
func malformed(line, column int, format string, args ...any) error {
	return &Error{Line: line, Column: column, Err: fmt.Errorf("%w: %s", ErrFormat, fmt.Sprintf(format, args...))}
}

// unsupported returns an *Error that wraps ErrUnsupported.
func unsupported(line int, format string, args ...any) error {
	return &Error{Line: line, Err: fmt.Errorf("%w: %s", ErrUnsupported, fmt.Sprintf(format, args...))}
}

// Read returns the matrix in the named file, by its extension .mtx, .csv or .npy, each optionally followed by
// .gz. A coordinate .mtx gives a *matrix.CSR, everything else a *mat.Dense.
//
// Errors are *Error with the path: see ReadMTX, ReadCSV and ReadNPY.
func Read(path string) (x mat.Matrix, err error) {
	defer func() {
		if at, ok := errors.AsType[*Error](err); ok {
			at.Path = path
		} else if err != nil {
			err = &Error{Path: path, Err: err}
		}
	}()
	input, ext, err := open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, input.Close()) }()

	var dense *mat.Dense
	switch ext {
	case ".mtx":
		return ReadMTX(input)
	case csvExt:
		dense, err = ReadCSV(input)
	case ".npy":
		dense, err = ReadNPY(input)
	default:
		return nil, unsupported(0, "the name ends neither in .mtx, .csv nor .npy, with or without .gz")
	}
	if err != nil {
		return nil, err
	}
	return dense, nil
}

// LineOf returns the line, from 1, on which a row, from 0, of the matrix in a CSV file stands; 0 for other files and rows.
// It reads the file once more: it is for messages.
func LineOf(path string, row int) int {
	input, ext, err := open(path)
	if err != nil {
		return 0
	}
	defer input.Close() //nolint:errcheck // nothing was written
	if ext != csvExt {
		return 0
	}
	return lineOf(input, row)
}

// content is an open file, unzipped where it is zipped.
type content struct {
	io.Reader
	io.Closer
}

// open returns the content of a file and the extension that tells its format.
func open(path string) (*content, string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, "", cause(err)
	}
	name, zipped := strings.CutSuffix(strings.ToLower(filepath.Base(path)), ".gz")
	opened := &content{file, file}
	if zipped {
		if opened.Reader, err = gzip.NewReader(bufio.NewReaderSize(file, bufferSize)); err != nil {
			return nil, "", errors.Join(err, file.Close())
		}
	}
	return opened, filepath.Ext(name), nil
}

// cause drops the path and operation that Error states itself.
func cause(err error) error {
	if at, ok := errors.AsType[*os.PathError](err); ok {
		return at.Err
	}
	return err
}

// Transposed returns Xᵀ: of terms by documents the matrix of documents by terms. A *matrix.CSR is shared, not
// copied; others are copied once.
func Transposed(x mat.Matrix) mat.Matrix {
	if sparse, ok := x.(*matrix.CSR); ok {
		return sparse.Transpose()
	}
	return mat.DenseCopyOf(x.T())
}
