package table

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"github.com/wardcast/wardcast/internal/jsonscan"
)

const (
	// maxRow bounds the bytes of a row: some 900,000 numbers of full precision, and far more than a note.
	maxRow = 16 << 20
	// readBuffer is the unit of reading. The header's separator and line end are looked for in the first one.
	readBuffer = 1 << 16
	// maxWindow bounds the memory of a zstd decoder: the limit of zstd itself without --long.
	maxWindow = 128 << 20
	// A file that decompresses to more than freeRatio bytes may decompress to maxRatio times its size. Text is below 20
	// times; gzip of one byte over and over is 1,030 times, zstd far more.
	maxRatio, freeRatio = 200, 32 << 20
	// Such a file may have freeLines lines, and one for each of its bytes: the same short row over and over takes less.
	freeLines = 1 << 20
	// maxColumns bounds the columns of a table, or the names of fields in all rows of JSON lines, each of which has a
	// cell in every row, and maxName the bytes of each name.
	maxColumns, maxName = 100_000, 4096
	// JSON lines that are read ahead have maxCells cells, and maxSparse for each one that is there.
	maxCells, maxSparse = 1 << 24, 64
)

// AppendLine appends the next line of in to dst, with its end but at most so many bytes of it, and passes the rest.
func AppendLine(dst []byte, in *bufio.Reader, most int) ([]byte, error) {
	for {
		part, err := in.ReadSlice('\n')
		part = part[:min(len(part), most)]
		dst, most = append(dst, part...), most-len(part)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return dst, err
		}
	}
}

// Decompress returns the plain bytes of a file of this name: those of r, unless the name ends in .gz or .zst. The
// caller must close it, and r.
func Decompress(r io.Reader, name string) (io.ReadCloser, error) {
	stored := &counted{Reader: r}
	switch _, compression := Extensions(name); compression {
	case ".gz":
		in := bufio.NewReaderSize(stored, readBuffer)
		if _, err := in.Peek(1); errors.Is(err, io.EOF) {
			return io.NopCloser(in), nil // an empty file holds no data, as with zstd
		}
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, cutOff(err)
		}
		return io.NopCloser(&plain{compressed: z, stored: stored}), nil // its Close only repeats the error of Read
	case ".zst":
		z, err := zstd.NewReader(stored, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		in := z.IOReadCloser()
		return struct {
			io.Reader
			io.Closer
		}{&plain{compressed: in, stored: stored}, in}, nil
	}
	return io.NopCloser(r), nil
}

// counted counts the bytes that are read.
type counted struct {
	io.Reader

	n int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n += int64(n)
	return n, err
}

// plain is the decompressed bytes. It returns ErrCutOff if they end too early, and ErrExpands or ErrManyLines if they
// are too many.
type plain struct {
	compressed io.Reader
	stored     *counted
	n, lines   int64
}

func (p *plain) Read(b []byte) (int, error) {
	n, err := p.compressed.Read(b)
	if p.n += int64(n); expands(p.n, p.stored.n) {
		return 0, ErrExpands
	}
	if p.lines += int64(bytes.Count(b[:n], []byte{'\n'})); p.lines > freeLines && p.lines > p.stored.n {
		return 0, ErrManyLines
	}
	return n, cutOff(err)
}

// expands reports whether a file of a size decodes to too many bytes.
func expands(plain, size int64) bool { return plain > freeRatio && plain > maxRatio*size }

func cutOff(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrCutOff
	}
	return err
}

// input is plain text after a byte order mark. The buffer reads from bounded.
type input struct {
	*bufio.Reader
	*bounded
}

// bounded reads text and counts the bytes of a row.
type bounded struct {
	r    io.Reader
	left int // bytes that may be read until the row ends
	// separator is that of cells, 0 for none; cells is how many of them may be read until the row ends.
	separator byte
	cells     int
	// doubtful is set once a chunk was not UTF-8 by itself. A rune across two chunks sets it too, so that cells must
	// then be looked at one by one; as long as it is not set, all are valid.
	doubtful bool
}

func (b *bounded) Read(p []byte) (int, error) {
	switch {
	case b.left <= 0:
		return 0, ErrTooLong
	case b.cells < 0:
		return 0, ErrManyColumns
	}
	n, err := b.r.Read(p)
	b.left -= n
	if b.separator != 0 {
		b.cells -= bytes.Count(p[:n], []byte{b.separator})
	}
	b.doubtful = b.doubtful || !utf8.Valid(p[:n])
	return n, err
}

// newInput drops a byte order mark, and refuses UTF-16 and binary files.
func newInput(r io.Reader) (*input, error) {
	in := &input{bounded: &bounded{r: r, left: maxRow}}
	in.Reader = bufio.NewReaderSize(in.bounded, readBuffer)
	head, err := in.Peek(readBuffer)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")):
		return nil, &Error{Line: 1, Err: ErrUTF16}
	case bytes.IndexByte(line, 0) >= 0:
		return nil, &Error{Line: 1, Err: ErrBinary}
	case bytes.HasPrefix(head, []byte("\ufeff")):
		_, err = in.Discard(len("\ufeff"))
		return in, err
	}
	return in, nil
}

// invalid returns the first of the cells that is not UTF-8, -1 for none.
func (in *input) invalid(cells []string) int {
	if !in.doubtful {
		return -1
	}
	return slices.IndexFunc(cells, func(cell string) bool { return !utf8.ValidString(cell) })
}

// separated is rows of separated values, the header first.
type separated struct {
	in     *input
	table  *Reader
	csv    *csv.Reader // nil for tabs
	comma  rune
	line   int // of the file, that was read last; with csv, the number of lines before its first
	header []string
	again  []string // lines that are read once more
	looked bool     // for the headers of Qualtrics
	ahead  []result
}

type result struct {
	Row
	err error
}

// readSeparated returns a reader of rows with this separator, 0 for the one that the header shows.
func readSeparated(comma rune) func(*input, *Reader) (rowReader, error) {
	return func(in *input, r *Reader) (rowReader, error) {
		head, _ := in.Peek(readBuffer)
		line, rest, ends := bytes.Cut(head, []byte{'\n'})
		if !ends && bytes.IndexByte(bytes.TrimSuffix(line, []byte{'\r'}), '\r') >= 0 {
			return nil, &Error{Line: 1, Err: ErrLineEnds}
		}
		s := &separated{in: in, table: r}
		if given := excelLine.FindSubmatch(line); ends && given != nil {
			s.comma, _ = utf8.DecodeRune(given[1])
			head, s.line = rest, 1
			if _, err := in.Discard(len(line) + 1); err != nil {
				return nil, err
			}
		}
		if s.comma = cmp.Or(s.comma, comma, separator(head)); s.comma != '\t' {
			s.csv = csv.NewReader(in.Reader)
			s.csv.ReuseRecord, s.csv.Comma, s.csv.FieldsPerRecord = true, s.comma, -1
		}
		in.separator = byte(s.comma)
		return s, nil
	}
}

// excelLine is the line before the header that tells Excel the separator.
var excelLine = regexp.MustCompile(`^(?i:"?sep=)([^"\pL\pN\r\n]|\t)"?[,;\t]*\r?$`)

// separator returns the most frequent of comma, tab and semicolon outside quotes in the first line that is not blank;
// the first of those that are equally frequent. Without any it is |, or a comma by default.
func separator(head []byte) rune {
	const candidates = ",\t;|"
	var count [len(candidates)]int
	quoted := false
	for _, c := range bytes.TrimLeft(head, "\r\n") {
		if c == '"' {
			quoted = !quoted
		}
		if c == '\n' && !quoted {
			break
		}
		if i := strings.IndexByte(candidates, c); i >= 0 && !quoted {
			count[i]++
		}
	}
	return rune(candidates[slices.Index(count[:], cmp.Or(slices.Max(count[:3]), count[3]))])
}

// next returns the next row that is no further header: Qualtrics has two, the second of which it fills with JSON.
func (s *separated) next() (Row, error) {
	if s.header != nil && !s.looked {
		for s.looked = true; len(s.ahead) < 2; {
			row, err := s.row()
			row.Cells = slices.Clone(row.Cells)
			s.ahead = append(s.ahead, result{row, err})
		}
		if second := s.ahead[1]; second.err == nil && !slices.ContainsFunc(second.Cells,
			func(cell string) bool { return cell != "" && !strings.HasPrefix(cell, `{"ImportId":`) }) {
			s.table.count(headersLeftOut, s.ahead[0].Line)
			s.ahead = nil
		}
	}
	if len(s.ahead) > 0 {
		first := s.ahead[0]
		s.ahead = s.ahead[1:]
		return first.Row, first.err
	}
	return s.row()
}

// row returns the next row that has a cell.
func (s *separated) row() (Row, error) {
	s.in.left, s.in.cells = maxRow, maxColumns
	cells, line, err := s.read()
	filled := func(cell string) bool { return strings.TrimSpace(cell) != "" }
	for err == nil && len(cells) <= maxColumns && !slices.ContainsFunc(cells, filled) {
		s.table.count(blankLeftOut, line)
		s.in.left, s.in.cells = maxRow, maxColumns
		cells, line, err = s.read()
	}
	if err != nil {
		if line > 0 {
			err = &Error{Line: line, Err: err}
		}
		return Row{}, err
	}
	if len(cells) > maxColumns {
		return Row{}, ErrManyColumns
	}
	switch {
	case s.header == nil:
		s.header = append([]string{}, cells...)
	case len(cells) != len(s.header):
		err := fmt.Errorf("%w: %d; the header has %d", ErrCells, len(cells), len(s.header))
		if len(s.header) > 1 && len(cells) == len(s.header)+1 {
			err = fmt.Errorf("%w. For row names, R's write.table needs col.names=NA", err)
		}
		return Row{}, &Error{Line: line, Err: err}
	case s.comma == ';':
		for i, cell := range cells {
			if strings.IndexByte(cell, ',') >= 0 && decimalComma.MatchString(cell) && !thousands.MatchString(cell) {
				cells[i] = strings.Replace(cell, ",", ".", 1)
				s.table.count(commasRead, line)
			} else if strings.IndexByte(cell, '.') >= 0 && s.table.points[i] == 0 && thousands.MatchString(cell) {
				s.table.points[i] = line
			}
		}
	}
	if i := s.in.invalid(cells); i >= 0 {
		return Row{}, &Error{Line: line, Column: strings.TrimSpace(s.header[i]), Err: ErrEncoding}
	}
	return Row{line, cells}, nil
}

// read returns the next cells, and the line where they or what is wrong with them begin; 0 for a fault of the file.
func (s *separated) read() (cells []string, line int, err error) {
	if s.csv == nil {
		return s.tabs()
	}
	cells, err = s.csv.Read()
	if p, ok := errors.AsType[*csv.ParseError](err); ok {
		line, err = p.StartLine+s.line, p.Err
		switch {
		case errors.Is(err, csv.ErrBareQuote):
			err = ErrQuote
		case errors.Is(err, csv.ErrQuote):
			err = ErrOpenQuote
		}
	} else if err == nil {
		line, _ = s.csv.FieldPos(0)
		line += s.line
	}
	return cells, line, err
}

type objects struct {
	in    *input
	table *Reader // whose header grows
	line  int
	scan  jsonscan.Scanner
	text  string   // that scan reads
	cells []string // of the row
	has   []int    // the columns of the row that have a cell
	row   []int    // the number of the row, from 1, that last had each column
	names int      // bytes of the names of all columns
	count int      // of rows
	err   error    // of the row, if it is an object
	large error    // the columns are too many, or their names too long
}

func readObjects(in *input, r *Reader) (rowReader, error) {
	r.index = map[string]int{}
	return &objects{in: in, table: r}, nil
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
	for _, i := range o.has {
		o.cells[i] = ""
	}
	o.has = o.has[:0]
	o.scan, o.err = jsonscan.New(o.text), nil
	if o.scan.Peek() != '{' || !o.object("", 0) || !o.scan.End() {
		return Row{}, cmp.Or(o.large, o.fail("", ErrNotObject))
	}
	if o.err == nil && o.in.doubtful && !utf8.ValidString(o.text) {
		o.err = o.fail("", ErrEncoding)
		if i := o.in.invalid(o.cells); i >= 0 {
			o.err = o.fail(o.table.Header[i], ErrEncoding)
		}
	}
	return Row{o.line, o.cells}, o.err
}

func (o *objects) fail(column string, err error) error {
	return &Error{Line: o.line, Column: column, Err: err}
}

// object reads an object at a depth; prefix precedes the names of its fields. It returns false for invalid JSON.
func (o *objects) object(prefix string, depth int) bool {
	return o.scan.Object(func(name string) (ok bool) {
		if len(prefix)+len(name) > maxName {
			o.large = ErrLongName
			return false
		}
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
		return o.set(name, cell) && ok
	})
}

// set sets a cell of the row. It returns false if the columns become too many.
func (o *objects) set(name, cell string) bool {
	i := o.table.Index(name)
	if i < 0 {
		if o.names += len(name); o.names > maxRow {
			o.large = ErrManyColumns
		} else {
			i, o.large = o.table.addColumn(strings.Clone(name))
		}
		if o.large != nil {
			return false
		}
	}
	for len(o.cells) <= i {
		o.cells, o.row = append(o.cells, ""), append(o.row, 0)
	}
	if o.row[i] == o.count && o.err == nil {
		o.err = o.fail(name, ErrColumnTwice)
	}
	o.cells[i], o.row[i] = cell, o.count
	o.has = append(o.has, i)
	return true
}
