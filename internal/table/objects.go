package table

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"
)

// maxFields bounds the names of fields in all rows of JSON lines, each of which has a cell in every row.
const maxFields = 1 << 16

// objects is rows of JSON lines.
type objects struct {
	in    *input
	table *Reader // whose header grows
	line  int
	data  []byte   // of the line
	cells []string // of the row
	row   []int    // the number of the row, from 1, that last had each column
	count int      // of rows
}

func (o *objects) next() (Row, error) {
	for {
		if err := o.read(); err != nil {
			return Row{}, err
		}
		data := bytes.TrimSpace(o.data)
		if len(data) == 0 {
			continue
		}
		o.count++
		if o.in.doubtful && !utf8.Valid(data) {
			return Row{}, o.fail(o.columnAt(data), ErrEncoding)
		}
		clear(o.cells)
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		if t, err := d.Token(); err != nil || t != json.Delim('{') {
			return Row{}, o.fail("", ErrNotObject) // json's own words quote the input
		}
		if err := o.object(d, ""); err != nil {
			return Row{}, err
		}
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return Row{}, o.fail("", ErrNotObject)
		}
		return Row{o.line, o.cells}, nil
	}
}

func (o *objects) fail(column string, err error) error {
	return &Error{Line: o.line, Column: column, Err: err}
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

// columnAt returns the name of the field with the first bytes that are not UTF-8, as far as it can be told.
func (o *objects) columnAt(data []byte) string {
	d := json.NewDecoder(bytes.NewReader(data))
	if _, err := d.Token(); err != nil {
		return ""
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return ""
		}
		if !utf8.Valid(value) {
			column, _ := name.(string)
			return column
		}
	}
	return ""
}

// object reads the fields of an object behind its brace; prefix stands before their names.
func (o *objects) object(d *json.Decoder, prefix string) error {
	for {
		t, err := d.Token()
		if err != nil {
			return o.fail("", ErrNotObject)
		}
		name, ok := t.(string)
		if !ok { // the closing brace
			return nil
		}
		name = prefix + name
		if t, err = d.Token(); err != nil {
			return o.fail("", ErrNotObject)
		}
		cell := ""
		switch t := t.(type) {
		case string:
			cell = t
		case json.Number:
			cell = t.String()
		case bool:
			cell = strconv.FormatBool(t)
		case json.Delim:
			if t == '{' {
				if err := o.object(d, name+"."); err != nil {
					return err
				}
				continue
			}
			if err := skip(d); err != nil {
				return o.fail("", ErrNotObject)
			}
		}
		i := o.table.Index(name)
		if i < 0 {
			if len(o.table.header) == maxFields {
				return &Error{Err: ErrManyFields}
			}
			i = o.table.addColumn(name)
		}
		for len(o.cells) <= i {
			o.cells, o.row = append(o.cells, ""), append(o.row, 0)
		}
		if o.row[i] == o.count {
			return o.fail(name, ErrColumnTwice)
		}
		o.cells[i], o.row[i] = cell, o.count
	}
}

// skip reads to the end of a list.
func skip(d *json.Decoder) error {
	for depth := 1; depth > 0; {
		t, err := d.Token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
	}
	return nil
}
