package answers

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/wardcast/wardcast/internal/questionnaire"
)

// SheetColumns says which columns of a table about participants are read.
type SheetColumns struct {
	ID      string   // as in Columns
	Numbers []string // such as an age or scores
	Levels  []string // such as a sex
	Missing []string // codes of missing entries besides those of every file
}

// Sheet is a table with one row for each participant.
type Sheet struct {
	File     string
	Rows     []SheetRow
	Numbered bool // there is no column of ids: participants are numbered from 1, as by Read
}

// SheetRow is a participant of a Sheet, with the columns in the order of SheetColumns.
type SheetRow struct {
	ID      string
	Line    int
	Numbers []float64 // NaN if missing
	Levels  []string  // in one spelling of their values, "" if missing
}

// ReadSheet reads a table about participants. The error is a *table.Error: those of package table, a missing column, a
// cell that is no finite number, an id that is missing or comes twice.
func ReadSheet(path string, c SheetColumns) (*Sheet, error) {
	src, err := open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = src.Close() }() // it was only read
	id, _, errID := src.idColumn(c.ID)
	at, err := src.places(slices.Concat(c.Numbers, c.Levels))
	if err = cmp.Or(errID, err); err != nil {
		return nil, src.at(src.HeaderLine, err)
	}
	s, missing, lineOf := &Sheet{File: src.File, Numbered: id == none}, questionnaire.NewMissing(c.Missing),
		map[string]int{}
	for row, err := range src.Rows() {
		if err != nil {
			return nil, err
		}
		r := SheetRow{ID: strconv.Itoa(len(s.Rows) + 1), Line: row.Line}
		if id != none {
			r.ID = clean(row.Cells[id])
			first, again := lineOf[r.ID]
			switch {
			case missing.Cell(r.ID):
				return nil, src.at(row.Line, inColumn(src.Header[id], questionnaire.ErrNoID))
			case again:
				return nil, src.at(row.Line,
					inColumn(src.Header[id], fmt.Errorf("%w, %d", questionnaire.ErrSameID, first)))
			}
			lineOf[r.ID] = row.Line
		}
		for i, name := range c.Numbers {
			v, err := missing.Value(row.Cells[at[i]])
			if err != nil {
				return nil, src.at(row.Line, inColumn(name, err))
			}
			r.Numbers = append(r.Numbers, v)
		}
		for _, i := range at[len(c.Numbers):] {
			r.Levels = append(r.Levels, missing.Spelled(row.Cells[i]))
		}
		s.Rows = append(s.Rows, r)
	}
	return s, nil
}

// ByID returns the rows by their ids.
func (s *Sheet) ByID() map[string]*SheetRow {
	rows := make(map[string]*SheetRow, len(s.Rows))
	for i := range s.Rows {
		rows[s.Rows[i].ID] = &s.Rows[i]
	}
	return rows
}
