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
	"strings"
)

const byteOrderMark = "\ufeff"

// records are those of a file of separated values.
type records struct {
	*csv.Reader
	file io.Closer
	raw  io.Reader // the file as it is stored, which hash sees as it is read
	hash hash.Hash
}

// openTable opens a file of separated values, unzipped where it is zipped.
func openTable(path string) (*records, error) {
	f, err := os.Open(path)
	if err != nil {
		if at, ok := errors.AsType[*fs.PathError](err); ok {
			err = at.Err
		}
		return nil, &Error{Err: err}
	}
	r := &records{file: f, hash: sha256.New()}
	r.raw = io.TeeReader(f, r.hash)
	in := r.raw
	name, zipped := strings.CutSuffix(strings.ToLower(path), ".gz")
	if zipped {
		if in, err = gzip.NewReader(r.raw); err != nil {
			return nil, errors.Join(&Error{Err: err}, f.Close())
		}
	}
	if r.Reader, err = newRecords(in, filepath.Ext(name)); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// close closes the file, which was only read.
func (r *records) close() { _ = r.file.Close() }

// sum returns the SHA-256 of the file as hexadecimal digits.
func (r *records) sum() (string, error) {
	if _, err := io.Copy(io.Discard, r.raw); err != nil {
		return "", &Error{Err: err}
	}
	return hex.EncodeToString(r.hash.Sum(nil)), nil
}

// newRecords returns the records after a byte order mark. A header with zeros, as UTF-16 has and files of spreadsheets, is an
// error.
func newRecords(in io.Reader, ext string) (*csv.Reader, error) {
	const longHeader = 1 << 16
	b := bufio.NewReaderSize(in, longHeader)
	if start, _ := b.Peek(len(byteOrderMark)); string(start) == byteOrderMark {
		_, _ = b.Discard(len(byteOrderMark))
	}
	records := csv.NewReader(b)
	records.ReuseRecord = true
	head, _ := b.Peek(longHeader)
	head, _, _ = bytes.Cut(head, []byte{'\n'})
	if bytes.IndexByte(head, 0) >= 0 {
		return nil, &Error{Line: 1, Err: ErrEncoding}
	}
	switch {
	case ext == ".tsv" || ext == ".tab":
		records.Comma = '\t'
	case bytes.ContainsRune(head, ','):
	case bytes.ContainsRune(head, '\t'):
		records.Comma = '\t'
	case bytes.ContainsRune(head, ';'):
		records.Comma = ';'
	}
	return records, nil
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
