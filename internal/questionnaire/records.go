package questionnaire

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

const byteOrderMark = "\ufeff"

// records are those of a file of separated values, the header first.
type records struct {
	*csv.Reader
	header []string
}

// fileRecords are those of a file that is hashed as it is read.
type fileRecords struct {
	*records
	file io.Closer
	raw  io.Reader // the file as it is stored, which hash sees as it is read
	hash hash.Hash
}

// openTable opens a file of separated values, unzipped where it is zipped.
func openTable(path string) (*fileRecords, error) {
	f, err := os.Open(path)
	if err != nil {
		if at, ok := errors.AsType[*fs.PathError](err); ok {
			err = at.Err
		}
		return nil, &Error{Err: err}
	}
	r := &fileRecords{file: f, hash: sha256.New()}
	r.raw = io.TeeReader(f, r.hash)
	in := r.raw
	name, zipped := strings.CutSuffix(strings.ToLower(path), ".gz")
	if zipped {
		if in, err = gzip.NewReader(r.raw); err != nil {
			return nil, errors.Join(&Error{Err: err}, f.Close())
		}
	}
	if r.records, err = newRecords(in, filepath.Ext(name)); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// close closes the file, which was only read.
func (r *fileRecords) close() { _ = r.file.Close() }

// sum returns the SHA-256 of the file as hexadecimal digits.
func (r *fileRecords) sum() (string, error) {
	if _, err := io.Copy(io.Discard, r.raw); err != nil {
		return "", &Error{Err: err}
	}
	return hex.EncodeToString(r.hash.Sum(nil)), nil
}

// newRecords returns the records after a byte order mark. A header with zeros, as UTF-16 has and files of spreadsheets, is an
// error, and so are lines that end in a carriage return alone.
func newRecords(in io.Reader, ext string) (*records, error) {
	const longHeader = 1 << 16
	b := bufio.NewReaderSize(in, longHeader)
	if start, _ := b.Peek(len(byteOrderMark)); string(start) == byteOrderMark {
		_, _ = b.Discard(len(byteOrderMark))
	}
	r := csv.NewReader(b)
	r.ReuseRecord = true
	head, _ := b.Peek(longHeader)
	head, _, ends := bytes.Cut(head, []byte{'\n'})
	switch {
	case bytes.IndexByte(head, 0) >= 0:
		return nil, &Error{Line: 1, Err: ErrEncoding}
	case !ends && bytes.IndexByte(bytes.TrimSuffix(head, []byte{'\r'}), '\r') >= 0:
		return nil, &Error{Line: 1, Err: ErrLineEnds}
	}
	switch {
	case ext == ".tsv" || ext == ".tab":
		r.Comma = '\t'
	case bytes.ContainsRune(head, ','):
	case bytes.ContainsRune(head, '\t'):
		r.Comma = '\t'
	case bytes.ContainsRune(head, ';'):
		r.Comma = ';'
	}
	return &records{Reader: r}, nil
}

// Read returns the next record, which the one after overwrites, or io.EOF. A cell that is not UTF-8 is an error, whatever its
// column: a file in Latin-1 would merge levels and names that differ in such letters alone.
func (r *records) Read() ([]string, error) {
	record, err := r.Reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, err
	}
	if err != nil {
		return nil, csvError(err)
	}
	if r.header == nil {
		r.header = slices.Clone(record)
	}
	for i, cell := range record {
		if !utf8.ValidString(cell) {
			line, _ := r.FieldPos(i)
			e := &Error{Line: line, Err: ErrEncoding}
			if i < len(r.header) {
				e.Column = strings.TrimSpace(r.header[i])
			}
			return nil, e
		}
	}
	return record, nil
}

func csvError(err error) error {
	if p, ok := errors.AsType[*csv.ParseError](err); ok {
		return &Error{Line: p.Line, Err: p.Err}
	}
	return &Error{Err: err}
}

// clean returns a trimmed copy of a cell.
func clean(cell string) string { return strings.Clone(strings.TrimSpace(cell)) }
