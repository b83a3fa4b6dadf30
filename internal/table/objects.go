package table

import (
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/wardcast/wardcast/internal/jsonscan"
)

// maxFields bounds the names of fields in all rows of JSON lines, each of which has a cell in every row.
const maxFields = 1 << 16

// objects is rows of JSON lines.
type objects struct {
	in    *input
	table *Reader // whose header grows
	line  int
	scan  jsonscan.Scanner
	text  string   // that scan reads
	cells []string // of the row
	row   []int    // the number of the row, from 1, that last had each column
	count int      // of rows
	err   error    // of the row, if it is an object
}

func (o *objects) next() (Row, error) {
	for o.text = ""; o.text == ""; o.line++ {
		o.in.left = maxRow
		line, err := o.in.ReadString('\n')
		if err != nil && (line == "" || !errors.Is(err, io.EOF)) {
			return Row{}, err
		}
		o.text = strings.TrimSpace(line)
	}
	o.count++
	clear(o.cells)
	o.scan, o.err = jsonscan.New(o.text), nil
	if o.scan.Peek() != '{' || !o.object("", 0) || !o.scan.End() {
		return Row{}, o.fail("", ErrNotObject)
	}
	if o.err == nil && o.in.doubtful && !utf8.ValidString(o.text) {
		o.err = o.fail("", ErrEncoding)
		if i := o.in.invalid(o.cells); i >= 0 {
			o.err = o.fail(o.table.header[i], ErrEncoding)
		}
	}
	return Row{o.line, o.cells}, o.err
}

func (o *objects) fail(column string, err error) error {
	return &Error{Line: o.line, Column: strings.ToValidUTF8(column, "\ufffd"), Err: err}
}

// object reads an object that stands depth levels deep; prefix stands before the names of its fields. It returns false for
// what is no JSON.
func (o *objects) object(prefix string, depth int) bool {
	return o.scan.Object(func(name string) (ok bool) {
		if prefix != "" {
			name = prefix + name
		}
		start, cell := o.scan.Offset(), ""
		switch o.scan.Peek() {
		case '{':
			return depth+1 < jsonscan.MaxDepth && o.object(name+".", depth+1)
		case '"':
			cell, ok = o.scan.Quoted()
		case '[', 'n':
			ok = o.scan.Skip(depth + 1)
		default:
			ok = o.scan.Skip(depth + 1)
			cell = strings.TrimLeft(o.text[start:o.scan.Offset()], " \t\r\n")
		}
		o.set(name, cell)
		return ok
	})
}

// set sets a cell of the row.
func (o *objects) set(name, cell string) {
	i := o.table.Index(name)
	switch {
	case i >= 0:
	case len(o.table.header) == maxFields:
		o.err = &Error{Err: ErrManyFields}
		return
	default:
		i = o.table.addColumn(strings.Clone(name))
	}
	for len(o.cells) <= i {
		o.cells, o.row = append(o.cells, ""), append(o.row, 0)
	}
	if o.row[i] == o.count && o.err == nil {
		o.err = o.fail(name, ErrColumnTwice)
	}
	o.cells[i], o.row[i] = cell, o.count
}
