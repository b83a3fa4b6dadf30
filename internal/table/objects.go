package table

import (
	"bufio"
	"bytes"
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
	data  []byte // of the line
	scan  jsonscan.Scanner
	text  string   // that scan reads
	cells []string // of the row
	row   []int    // the number of the row, from 1, that last had each column
	count int      // of rows
	err   error    // of the row, if it is an object
}

func (o *objects) next() (Row, error) {
	for {
		if err := o.read(); err != nil {
			return Row{}, err
		}
		if o.text = string(bytes.TrimSpace(o.data)); o.text != "" {
			break
		}
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

// read reads a line.
func (o *objects) read() error {
	o.in.left = maxRow
	o.data = o.data[:0]
	for {
		part, err := o.in.ReadSlice('\n')
		o.data = append(o.data, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil || errors.Is(err, io.EOF) && len(o.data) > 0:
			o.line++
			return nil
		default:
			return err
		}
	}
}

// object reads an object that stands depth levels deep; prefix stands before the names of its fields. It returns false for
// what is no JSON.
func (o *objects) object(prefix string, depth int) bool {
	return o.scan.Object(func(name string) bool {
		if prefix != "" {
			name = prefix + name
		}
		start := o.scan.Offset()
		switch c := o.scan.Peek(); c {
		case '{':
			return depth+1 < jsonscan.MaxDepth && o.object(name+".", depth+1)
		case '"':
			cell, ok := o.scan.Quoted()
			o.set(name, cell)
			return ok
		case '[', 'n':
			o.set(name, "")
			return o.scan.Skip(depth + 1)
		default:
			ok := o.scan.Skip(depth + 1)
			o.set(name, strings.TrimLeft(o.text[start:o.scan.Offset()], " \t\r\n"))
			return ok
		}
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
