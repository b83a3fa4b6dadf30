package questionnaire

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const byteOrderMark = "\ufeff"

// openTable opens a file of separated values, unzipped where it is zipped.
func openTable(path string) (*csv.Reader, io.Closer, error) {
	f, err := os.Open(path)
	if err != nil {
		if at, ok := errors.AsType[*fs.PathError](err); ok {
			err = at.Err
		}
		return nil, nil, &Error{Err: err}
	}
	name, zipped := strings.CutSuffix(strings.ToLower(path), ".gz")
	var in io.Reader = f
	if zipped {
		if in, err = gzip.NewReader(f); err != nil {
			return nil, nil, errors.Join(&Error{Err: err}, f.Close())
		}
	}
	return newRecords(in, filepath.Ext(name)), f, nil
}

// newRecords returns the records after a byte order mark.
func newRecords(in io.Reader, ext string) *csv.Reader {
	const longHeader = 1 << 16
	b := bufio.NewReaderSize(in, longHeader)
	if start, _ := b.Peek(len(byteOrderMark)); string(start) == byteOrderMark {
		_, _ = b.Discard(len(byteOrderMark))
	}
	records := csv.NewReader(b)
	records.ReuseRecord = true
	head, _ := b.Peek(longHeader)
	head, _, _ = bytes.Cut(head, []byte{'\n'})
	switch {
	case ext == ".tsv" || ext == ".tab":
		records.Comma = '\t'
	case bytes.ContainsRune(head, ','):
	case bytes.ContainsRune(head, '\t'):
		records.Comma = '\t'
	case bytes.ContainsRune(head, ';'):
		records.Comma = ';'
	}
	return records
}

func csvError(err error) error {
	if p, ok := errors.AsType[*csv.ParseError](err); ok {
		return &Error{Line: p.Line, Err: p.Err}
	}
	return &Error{Err: err}
}

// clean returns a copy of a cell that a model can hold as JSON: trimmed, and U+FFFD where it is not UTF-8.
func clean(cell string) string {
	return strings.Clone(strings.ToValidUTF8(strings.TrimSpace(cell), "\uFFFD"))
}
