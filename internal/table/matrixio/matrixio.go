package matrixio

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/solver/matrix"
)

var (
	// ErrFormat is wrapped by the errors of files that are not in the format that their name says.
	ErrFormat = errors.New("malformed matrix")
	// ErrUnsupported is wrapped by the errors of well-formed files of a kind that is not read.
	ErrUnsupported = errors.New("unsupported matrix")
)

// The extensions of files, but for a compression.
const (
	csvExt = ".csv"
	mtxExt = ".mtx"
	npyExt = ".npy"
)

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

// Read returns the matrix in the named file: MatrixMarket (.mtx), a NumPy array (.npy), or a table of package table (.csv,
// .tsv, .jsonl, .parquet); all but Parquet may end in .gz or .zst. A coordinate .mtx gives a *matrix.CSR, everything else a
// *mat.Dense.
//
// Errors are *Error with the path. They wrap ErrFormat for a malformed file, ErrUnsupported for a name, a kind of
// matrix or a kind of number that is not read, and linalg.ErrNonFinite for NaN and infinities.
func Read(path string) (x mat.Matrix, err error) {
	defer func() { err = atPath(path, err) }()
	ext, _ := table.Extensions(path)
	if isTable(ext) {
		return cells{}.open(path)
	}
	if ext != mtxExt && ext != npyExt {
		return nil, unsupported(0, "the name ends in none of .mtx, .npy, .csv, .tsv, .jsonl and .parquet, compressed (.gz, .zst) or not")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, cause(err)
	}
	defer file.Close() //nolint:errcheck // nothing was written
	input, err := table.Decompress(file, path)
	if err != nil {
		return nil, err
	}
	defer input.Close()
	if ext == mtxExt {
		return ReadMTX(input)
	}
	dense, err := readNPY(input)
	if err != nil {
		return nil, err
	}
	return dense, nil
}

// atPath returns err, if any, as an *Error of a file.
func atPath(path string, err error) error {
	if at, ok := errors.AsType[*Error](err); ok {
		at.Path = path
	} else if err != nil {
		err = &Error{Path: path, Err: err}
	}
	return err
}

func isTable(ext string) bool {
	return ext == csvExt || ext == ".tsv" || ext == ".jsonl" || ext == ".parquet"
}

// LineOf returns the line, from 1, on which a row, from 0, of the matrix in a table stands; 0 for other files and rows.
// It reads the file once more: it is for messages.
func LineOf(path string, row int) int {
	if ext, _ := table.Extensions(path); !isTable(ext) {
		return 0
	}
	return lineOf(path, row)
}

// cause drops the path and operation that Error states itself.
func cause(err error) error {
	if at, ok := errors.AsType[*os.PathError](err); ok {
		return at.Err
	}
	return err
}

// Transposed returns Xᵀ: from a matrix of documents by terms, the one of terms by documents. A *matrix.CSR is shared, not
// copied; others are copied once.
func Transposed(x mat.Matrix) mat.Matrix {
	if sparse, ok := x.(*matrix.CSR); ok {
		return sparse.Transpose()
	}
	return mat.DenseCopyOf(x.T())
}
