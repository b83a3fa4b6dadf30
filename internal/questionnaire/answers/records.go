package answers

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

	"github.com/wardcast/wardcast/internal/questionnaire"
)

const byteOrderMark = "\ufeff"

// Records reads the records of a file of separated values, the header first.
type Records struct {
	*csv.Reader
	header []string
}

// File reads the records of a file, and hashes the file on the way.
type File struct {
	*Records
	file io.Closer
	raw  io.Reader // the file as it is stored, which hash sees as it is read
	hash hash.Hash
}

// Open opens a file of separated values, and unzips it if its name ends in .gz.
func Open(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		if at, ok := errors.AsType[*fs.PathError](err); ok {
			err = at.Err
		}
		return nil, &questionnaire.Error{Err: err}
	}
	r := &File{file: f, hash: sha256.New()}
	r.raw = io.TeeReader(f, r.hash)
	in := r.raw
	name, zipped := strings.CutSuffix(strings.ToLower(path), ".gz")
	if zipped {
		if in, err = gzip.NewReader(r.raw); err != nil {
			return nil, errors.Join(&questionnaire.Error{Err: err}, f.Close())
		}
	}
	if r.Records, err = newRecords(in, filepath.Ext(name)); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Close closes the file, which was only read.
func (r *File) Close() { _ = r.file.Close() }

// Sum returns the SHA-256 of the file as hexadecimal digits.
func (r *File) Sum() (string, error) {
	if _, err := io.Copy(io.Discard, r.raw); err != nil {
		return "", &questionnaire.Error{Err: err}
	}
	return hex.EncodeToString(r.hash.Sum(nil)), nil
}

// newRecords returns the records after a byte order mark. A header with zeros, as in UTF-16 and in files of spreadsheets, is an
// error, and so are lines that end in a carriage return alone.
func newRecords(in io.Reader, ext string) (*Records, error) {
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
		return nil, &questionnaire.Error{Line: 1, Err: questionnaire.ErrEncoding}
	case !ends && bytes.IndexByte(bytes.TrimSuffix(head, []byte{'\r'}), '\r') >= 0:
		return nil, &questionnaire.Error{Line: 1, Err: questionnaire.ErrLineEnds}
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
	return &Records{Reader: r}, nil
}

// Read returns the next record, which the call after overwrites, or io.EOF. A cell in any column that is not UTF-8 is an error:
// a file in Latin-1 would merge levels and names that differ only in such letters.
func (r *Records) Read() ([]string, error) {
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
			e := &questionnaire.Error{Line: line, Err: questionnaire.ErrEncoding}
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
		return &questionnaire.Error{Line: p.Line, Err: p.Err}
	}
	return &questionnaire.Error{Err: err}
}

// clean returns a trimmed copy of a cell.
func clean(cell string) string { return strings.Clone(strings.TrimSpace(cell)) }

// InFile names the file in an error about a place in it.
func InFile(path string, err *error) {
	if at, ok := errors.AsType[*questionnaire.Error](*err); ok {
		at.File = path
	}
}
