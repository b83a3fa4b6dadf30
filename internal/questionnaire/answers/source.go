package answers

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/internal/table"
)

// source is a file whose columns are all known before its rows are read.
type source struct {
	*table.Reader
	rows []table.Row // read in advance
	err  error       // behind them
	hash hash.Hash
}

// open opens a file. JSON lines may bring columns in any row: those are read in advance.
func open(path string) (*source, error) {
	s := &source{hash: sha256.New()}
	var err error
	if s.Reader, err = table.Open(path, table.Options{Hash: s.hash}); err != nil {
		return nil, err
	}
	for s.Grows() && s.err == nil {
		var row table.Row
		if row, s.err = s.Reader.Next(); s.err == nil {
			s.rows = append(s.rows, table.Row{Line: row.Line, Cells: slices.Clone(row.Cells)})
		}
	}
	return s, nil
}

// Next returns the next row, with a cell for each column.
func (s *source) Next() (table.Row, error) {
	if len(s.rows) == 0 {
		if s.err != nil {
			return table.Row{}, s.err
		}
		return s.Reader.Next()
	}
	row := s.rows[0]
	s.rows = s.rows[1:]
	row.Cells = append(row.Cells, make([]string, len(s.Header())-len(row.Cells))...)
	return row, nil
}

// at names the place in an error.
func (s *source) at(line int, err error) error {
	at, ok := errors.AsType[*table.Error](err)
	if !ok {
		at = &table.Error{Err: err}
	}
	at.File, at.Line = s.File(), line
	return at
}

// inColumn names the column in an error.
func inColumn(column string, err error) error { return &table.Error{Column: column, Err: err} }

// find returns the place of a column.
func (s *source) find(name string) (int, error) {
	at := s.Index(name)
	if at < 0 {
		return none, inColumn(name, table.ErrNoColumn)
	}
	return at, nil
}

// sum returns the SHA-256 of the file in hexadecimal, once all rows are read.
func (s *source) sum() string { return hex.EncodeToString(s.hash.Sum(nil)) }

// clean returns a trimmed copy of a cell.
func clean(cell string) string { return strings.Clone(strings.TrimSpace(cell)) }
