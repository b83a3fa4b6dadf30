package httpapi

import (
	"encoding/csv"
	"net/http"
	"strconv"
	"strings"
)

// CSV is an answer in CSV. A spreadsheet that opens it computes nothing: text that begins as a formula does gets an apostrophe.
type CSV struct{ out *csv.Writer }

// NewCSV begins an answer with these columns.
func NewCSV(w http.ResponseWriter, columns ...string) *CSV {
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	c := &CSV{csv.NewWriter(w)}
	c.Write(columns...)
	return c
}

// Write writes a row.
func (c *CSV) Write(cells ...string) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = plainCell(cell)
	}
	_ = c.out.Write(row) // the client is gone if it fails
}

// Flush ends the answer.
func (c *CSV) Flush() { c.out.Flush() }

// plainCell returns a cell that a spreadsheet takes for text, or for the number that it is.
func plainCell(cell string) string {
	if cell == "" || strings.IndexByte("=+-@\t\r", cell[0]) < 0 {
		return cell
	}
	if _, err := strconv.ParseFloat(cell, 64); err == nil {
		return cell
	}
	return "'" + cell
}
