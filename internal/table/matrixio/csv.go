package matrixio

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"
)

// ReadCSV reads a matrix of comma-separated numbers (RFC 4180), a row per line. A first line with a field that is
// neither empty nor a number is a header and left out. Blank lines, spaces around numbers and a byte order mark
// are ignored.
//
// It returns an *Error that wraps ErrFormat for rows of unequal width, an empty field, a field that is not a number
// and a file without rows; linalg.ErrNonFinite for NaN, infinities and numbers beyond float64.
func ReadCSV(r io.Reader) (*mat.Dense, error) {
	return readCSV(r, func(line, column int) (float64, error) { return 0, malformed(line, column, "an empty field") }, isEmpty)
}

// ReadAnswers returns the dense matrix in the named CSV file, .csv or .csv.gz, in which answers may be missing: it is read
// as by ReadCSV, but that an empty field, NA, NaN or a single dot is NaN. Any other file is read as by Read.
func ReadAnswers(path string) (x mat.Matrix, err error) {
	input, ext, err := open(path)
	if err != nil || ext != csvExt {
		if err == nil {
			err = input.Close()
		}
		if err != nil {
			return nil, &Error{Path: path, Err: err}
		}
		return Read(path)
	}
	defer func() { err = errors.Join(err, input.Close()) }()
	dense, err := readCSV(input, func(int, int) (float64, error) { return math.NaN(), nil }, isMissing)
	if at, ok := errors.AsType[*Error](err); ok {
		at.Path = path
	} else if err != nil {
		err = &Error{Path: path, Err: err}
	}
	return dense, err
}

func isEmpty(field string) bool { return field == "" }

// isMissing reports whether a field stands for an answer that was not given.
func isMissing(field string) bool {
	return field == "" || field == "." || strings.EqualFold(field, "NA") || strings.EqualFold(field, "NaN")
}

// readCSV is ReadCSV with what stands for a number where a field is missing.
func readCSV(r io.Reader, missing func(line, column int) (float64, error), isMissing func(field string) bool) (*mat.Dense, error) {
	records, err := newCSV(r)
	if err != nil {
		return nil, err
	}
	var (
		values []float64
		width  int
	)
	for first := true; ; first = false {
		record, err := records.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, csvError(err)
		}
		line, _ := records.FieldPos(0)
		if first {
			width = len(record)
			if isHeader(record, isMissing) {
				continue
			}
		}
		if len(record) != width {
			return nil, malformed(line, 0, "%d fields, want %d", len(record), width)
		}
		for f, field := range record {
			field = strings.TrimSpace(field)
			var v float64
			if isMissing(field) {
				v, err = missing(line, f+1)
			} else {
				v, err = number(field, line, f+1)
			}
			if err != nil {
				return nil, err
			}
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return nil, malformed(0, 0, "no rows of numbers")
	}
	return mat.NewDense(len(values)/width, width, values), nil
}

// newCSV returns the records after a byte order mark.
func newCSV(r io.Reader) (*csv.Reader, error) {
	in := bufio.NewReaderSize(r, bufferSize)
	const byteOrderMark = "\xef\xbb\xbf"
	if start, _ := in.Peek(len(byteOrderMark)); bytes.Equal(start, []byte(byteOrderMark)) {
		if _, err := in.Discard(len(byteOrderMark)); err != nil {
			return nil, err
		}
	}
	records := csv.NewReader(in)
	records.FieldsPerRecord = -1 // their width is for the caller to check
	records.ReuseRecord = true
	return records, nil
}

// lineOf returns the line of a row, from 0, of the numbers; 0 where there is none.
func lineOf(r io.Reader, row int) int {
	records, err := newCSV(r)
	if err != nil {
		return 0
	}
	for first := true; ; first = false {
		record, err := records.Read()
		if err != nil {
			return 0
		}
		if first && isHeader(record, isEmpty) {
			continue
		}
		if row == 0 {
			line, _ := records.FieldPos(0)
			return line
		}
		row--
	}
}

// isHeader reports whether a field is neither missing nor a number.
func isHeader(record []string, isMissing func(field string) bool) bool {
	for _, field := range record {
		field = strings.TrimSpace(field)
		if _, err := strconv.ParseFloat(field, 64); !isMissing(field) && errors.Is(err, strconv.ErrSyntax) {
			return true
		}
	}
	return false
}

// csvError keeps the line of a parse error; its column counts bytes, not fields.
func csvError(err error) error {
	if at, ok := errors.AsType[*csv.ParseError](err); ok {
		return malformed(at.Line, 0, "%v", at.Err)
	}
	return err
}
