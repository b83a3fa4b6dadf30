package matrixio

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/matrix"
)

const (
	// bufferSize is the unit of reading, and so the longest line of an .mtx file; the format allows 1,024 bytes.
	bufferSize = 1 << 16
	// maxEmptyDim is the number of rows or columns that a header may claim for a matrix without entries, and
	// maxDimPerEntry the number of further ones for each entry. A row costs 8 bytes whether it has entries or not.
	maxEmptyDim    = 1 << 20
	maxDimPerEntry = 8
)

// ReadMTX reads a MatrixMarket file (Boisvert, Pozo and Remington 1996, "The Matrix Market exchange formats"): matrix,
// coordinate or array; real, integer or pattern (ones); general or symmetric. A coordinate matrix becomes a
// *matrix.CSR, with explicit zeros kept; an array becomes a *mat.Dense.
//
// It returns a *table.Error that wraps ErrFormat for a malformed file: indices out of range, a repeated entry, an
// entry above the diagonal of a symmetric matrix, fewer or more entries than the size line says, more rows or
// columns than 2²⁰ and eight times the entries, no rows or columns; ErrUnsupported for complex, hermitian and
// skew-symmetric ones; linalg.ErrNonFinite for NaN and infinities.
func ReadMTX(r io.Reader) (mat.Matrix, error) {
	m := &mtxReader{in: bufio.NewReaderSize(r, bufferSize)}
	if err := m.readHeader(); err != nil {
		return nil, err
	}
	if err := m.readSize(); err != nil {
		return nil, err
	}
	if m.array {
		return m.readArray()
	}
	return m.readCoordinate()
}

type mtxReader struct {
	in   *bufio.Reader
	line int // number of the last line read, from 1

	array, integer, pattern, symmetric bool
	rows, columns, entries             int
}

// lines yields the fields of every line that is neither blank nor a comment; they are valid until the next one. An
// error is the last that it yields.
func (m *mtxReader) lines(yield func(fields [][]byte, err error) bool) {
	var fields [][]byte
	for {
		line, err := m.in.ReadSlice('\n')
		if len(line) > 0 {
			m.line++
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			err = malformed(m.line, 0, "a line of more than %d bytes", bufferSize)
		case errors.Is(err, io.EOF) && len(line) == 0:
			return
		case errors.Is(err, io.EOF):
			err = nil
		case err != nil:
			err = at(m.line, 0, err)
		}
		fields = slices.AppendSeq(fields[:0], bytes.FieldsSeq(line))
		if err == nil && (len(fields) == 0 || fields[0][0] == '%') {
			continue
		}
		if !yield(fields, err) || err != nil {
			return
		}
	}
}

func (m *mtxReader) readHeader() error {
	banner, err := m.in.ReadSlice('\n')
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return at(0, 0, err)
	}
	m.line = 1
	words := strings.Fields(strings.ToLower(string(banner)))
	if len(words) != 5 || words[0] != "%%matrixmarket" || words[1] != "matrix" {
		return malformed(1, 0, "the first line is not %%%%MatrixMarket matrix FORMAT FIELD SYMMETRY")
	}
	words = words[2:]
	m.array, m.integer, m.pattern, m.symmetric = words[0] == "array", words[1] == "integer", words[1] == "pattern",
		words[2] == "symmetric"
	switch {
	case !slices.Contains([]string{"coordinate", "array"}, words[0]):
		return malformed(1, 3, "the format is neither coordinate nor array")
	case !slices.Contains([]string{"real", "double", "integer", "pattern", "complex"}, words[1]):
		return malformed(1, 4, "the field is neither real, integer nor pattern")
	case !slices.Contains([]string{"general", "symmetric", "skew-symmetric", "hermitian"}, words[2]):
		return malformed(1, 5, "the symmetry is neither general nor symmetric")
	case words[1] == "complex":
		return unsupported(1, "complex entries")
	case words[2] != "general" && !m.symmetric:
		return unsupported(1, "%s", words[2])
	case m.array && m.pattern:
		return malformed(1, 4, "an array cannot be a pattern")
	}
	return nil
}

func (m *mtxReader) readSize() error {
	sizes := []*int{&m.rows, &m.columns, &m.entries}
	if m.array {
		sizes = sizes[:2]
	}
	for fields, err := range m.lines {
		switch {
		case err != nil:
			return err
		case len(fields) != len(sizes):
			return malformed(m.line, 0, "%d fields in the size line, want %d", len(fields), len(sizes))
		}
		for f, size := range sizes {
			var ok bool
			if *size, ok = count(string(fields[f])); !ok {
				return malformed(m.line, f+1, "not a count")
			}
		}
		switch {
		case m.rows == 0 || m.columns == 0:
			return malformed(m.line, 0, "no rows or no columns")
		case m.rows > math.MaxInt32 || m.columns > math.MaxInt32:
			return unsupported(m.line, "%d×%d, more than %d rows or columns", m.rows, m.columns, math.MaxInt32)
		case m.symmetric && m.rows != m.columns:
			return malformed(m.line, 0, "a symmetric matrix of %d×%d", m.rows, m.columns)
		}
		return nil
	}
	return malformed(m.line, 0, "the file ends before the size line")
}

func (m *mtxReader) readCoordinate() (mat.Matrix, error) {
	want := 3
	if m.pattern {
		want = 2
	}
	var e coordinates
	for fields, err := range m.lines {
		switch {
		case err != nil:
			return nil, err
		case len(e.values) == m.entries:
			return nil, malformed(m.line, 0, "more than the %d entries of the size line", m.entries)
		case len(fields) != want:
			return nil, malformed(m.line, 0, "%d fields, want %d", len(fields), want)
		}
		i, ok := count(string(fields[0]))
		if !ok || i < 1 || i > m.rows {
			return nil, malformed(m.line, 1, "not a row from 1 to %d", m.rows)
		}
		j, ok := count(string(fields[1]))
		if !ok || j < 1 || j > m.columns {
			return nil, malformed(m.line, 2, "not a column from 1 to %d", m.columns)
		}
		if m.symmetric && j > i {
			return nil, malformed(m.line, 0, "an entry above the diagonal of a symmetric matrix")
		}
		v := 1.0
		if !m.pattern {
			if v, err = m.value(fields[2], 3); err != nil {
				return nil, err
			}
		}
		e.rows, e.columns = append(e.rows, int32(i-1)), append(e.columns, int32(j-1))
		e.values, e.lines = append(e.values, v), append(e.lines, int32(m.line))
	}
	if len(e.values) < m.entries {
		return nil, malformed(m.line, 0, "the file ends after %d of %d entries", len(e.values), m.entries)
	}
	if limit := max(maxEmptyDim, maxDimPerEntry*len(e.values)); m.rows > limit || m.columns > limit {
		return nil, malformed(0, 0, "%d×%d for %d entries", m.rows, m.columns, len(e.values))
	}
	if m.symmetric {
		e.mirror()
	}
	return e.csr(m.rows, m.columns)
}

// readArray reads values in the order of columns; in a symmetric matrix each column begins at the diagonal.
func (m *mtxReader) readArray() (mat.Matrix, error) {
	want := int64(m.rows) * int64(m.columns)
	if m.symmetric {
		want = (want + int64(m.rows)) / 2
	}
	var values []float64
	for fields, err := range m.lines {
		switch {
		case err != nil:
			return nil, err
		case int64(len(values)) == want:
			return nil, malformed(m.line, 0, "more entries than %d×%d", m.rows, m.columns)
		case len(fields) != 1:
			return nil, malformed(m.line, 0, "%d fields, want 1", len(fields))
		}
		v, err := m.value(fields[0], 1)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	if int64(len(values)) < want {
		return nil, malformed(m.line, 0, "the file ends after %d entries of %d×%d", len(values), m.rows, m.columns)
	}
	if !m.symmetric {
		return mat.DenseCopyOf(mat.NewDense(m.columns, m.rows, values).T()), nil
	}
	x := mat.NewDense(m.rows, m.rows, nil)
	for j := range m.rows {
		for i := j; i < m.rows; i++ {
			x.Set(i, j, values[0])
			x.Set(j, i, values[0])
			values = values[1:]
		}
	}
	return x, nil
}

// value parses a number of the file's field.
func (m *mtxReader) value(field []byte, column int) (float64, error) {
	if !m.integer {
		return number(string(field), m.line, column)
	}
	v, err := strconv.ParseInt(string(field), 10, 64)
	if err != nil {
		return 0, malformed(m.line, column, "not an integer")
	}
	return float64(v), nil
}

func number(field string, line, column int) (float64, error) {
	v, err := wording.Number(field)
	switch {
	case errors.Is(err, wording.ErrNotFinite):
		err = at(line, column, fmt.Errorf("%w: %g", linalg.ErrNonFinite, v))
	case err != nil:
		err = malformed(line, column, "%v", err)
	}
	return v, err
}

// coordinates holds the entries of a sparse matrix in file order, rows and columns from 0.
type coordinates struct {
	rows, columns []int32
	values        []float64
	lines         []int32 // of the file, before mirror
}

// mirror adds the entry (j, i) for every (i, j) off the diagonal.
func (c *coordinates) mirror() {
	for e, i := range c.rows {
		if j := c.columns[e]; i != j {
			c.rows = append(c.rows, j)
			c.columns = append(c.columns, i)
			c.values = append(c.values, c.values[e])
		}
	}
}

// csr returns the n×p matrix of the entries, or an error with the line of the first that is a repeat. It sorts by
// counting, on columns and then on rows, at O(n + p + nnz).
func (c *coordinates) csr(n, p int) (*matrix.CSR, error) {
	next := starts(c.columns, p)
	order := make([]int, len(c.values)) // the entries by column
	for e, j := range c.columns {
		order[next[j]] = e
		next[j]++
	}
	indptr := starts(c.rows, n)
	next = append(next[:0], indptr...)
	indices, values := make([]int32, len(c.values)), make([]float64, len(c.values))
	for _, e := range order {
		i, j := c.rows[e], c.columns[e]
		to := next[i]
		if to > indptr[i] && indices[to-1] == j {
			return nil, malformed(int(c.lines[e]), 0, "row %d, column %d for the second time", i+1, j+1)
		}
		indices[to], values[to] = j, c.values[e]
		next[i]++
	}
	return matrix.NewCSR(n, p, indptr, indices, values)
}

// starts returns where each of n keys begins when the keys are sorted, and their number at the end.
func starts(keys []int32, n int) []int {
	s := make([]int, n+1)
	for _, k := range keys {
		s[k+1]++
	}
	for i := range n {
		s[i+1] += s[i]
	}
	return s
}
