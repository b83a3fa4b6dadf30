package table

import (
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/parquet-go/parquet-go"

	"github.com/wardcast/wardcast/internal/lists"
)

// Options changes how a file is read. The zero value reads a file with a header.
type Options struct {
	// IsHeader reports whether the first line of separated values is a header; nil means that it is. Without a header
	// the columns are named 1, 2, 3.
	IsHeader func(first []string) bool
	// Ahead reads JSON lines up to the first bad row when the file is opened, so that Header is complete; each row then
	// has a cell for every column, and Next does not continue after the bad row.
	Ahead bool
	// Hash, if not nil, has received every stored byte of the file when Next returns io.EOF.
	Hash hash.Hash
	// Warn, if not nil, receives what was left out or changed, before Next returns io.EOF: a message for a log, and
	// names and values as in slog.Logger.Warn.
	Warn func(message string, facts ...any)
}

// Row is one row of a table.
type Row struct {
	// Line is where the row begins in the file, from 1; in Parquet it is the number of the row.
	Line int
	// Cells are in the order of Reader.Header and as many. They are valid until the next call of Next; their strings
	// stay valid.
	Cells []string
}

// Error is invalid input at a place. It quotes no cell.
type Error struct {
	File   string
	Line   int    // of the row, or of the header; 0 for the file as a whole
	Column string // "" if no single column is at fault
	Err    error
}

// Error returns, for instance, `answers.csv, line 13, column "q006": not a number`.
func (e *Error) Error() string {
	place := e.File
	if e.Line > 0 {
		place += fmt.Sprintf(", %s %d", formatOf(e.File).unit, e.Line)
	}
	if e.Column != "" {
		place += fmt.Sprintf(", column %q", e.Column)
	}
	return place + ": " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// The reasons of an Error that this package returns. Others come from the file system and from compression.
var (
	ErrNoFile      = fmt.Errorf("%w", syscall.ENOENT)
	ErrNoRows      = errors.New("no rows")
	ErrNoColumn    = errors.New("no such column")
	ErrColumnTwice = errors.New("two columns of this name")
	ErrEncoding    = errors.New("not UTF-8: convert the file, for instance with iconv -f WINDOWS-1252 -t UTF-8")
	ErrUTF16       = errors.New("UTF-16, not UTF-8: convert the file, for instance with iconv -f UTF-16 -t UTF-8")
	ErrBinary      = errors.New("not a text file: save the table as CSV in UTF-8")
	ErrOther       = errors.New("no tables are read from files that end in")
	ErrLineEnds    = errors.New("lines end in carriage returns alone: save the table as CSV in UTF-8")
	ErrPoint       = errors.New("1.234 or 1234? Other cells have decimal commas: write 1234, or points in all of them")
	ErrCells       = errors.New("wrong number of cells")
	ErrQuote       = errors.New("a quotation mark in a cell without quotation marks around it")
	ErrOpenQuote   = errors.New("a cell in quotation marks does not end, or text follows it")
	ErrNotObject   = errors.New("not a JSON object")
	ErrManyColumns = fmt.Errorf("more than %d columns, or separators in one row", maxColumns)
	ErrManyCells   = fmt.Errorf("more than %d cells, and %d for each that is not empty", maxCells, maxSparse)
	ErrLongName    = fmt.Errorf("a name of a column of more than %d bytes", maxName)
	// ErrCutOff wraps io.ErrUnexpectedEOF.
	ErrCutOff = fmt.Errorf("the compressed file is cut off: %w", io.ErrUnexpectedEOF)
	// ErrExpands is returned for small files of immense contents, which somebody made to exhaust the memory.
	ErrExpands = fmt.Errorf("it decompresses to more than %d MiB and %d times its size: decompress it first, or "+
		"write Parquet as CSV, if you trust it", freeRatio>>20, maxRatio)
	ErrManyLines = fmt.Errorf("it decompresses to more than %d lines, and one for each byte: decompress it first if you "+
		"trust it", freeLines)
	ErrTooLong = fmt.Errorf("a row of more than %d MiB", maxRow>>20)
	ErrType    = errors.New("values of a Parquet type that is not read, such as raw bytes or intervals")
	// ErrInt96 is returned since fastparquet takes the microseconds of pandas for nanoseconds.
	ErrInt96   = errors.New("times of fastparquet as INT96, which may be wrong: write them with times=\"int64\"")
	ErrParquet = errors.New("not a readable Parquet file: damaged, encrypted or compressed in an unknown way")
)

// Reader reads a table row by row. It is not safe for concurrent use.
type Reader struct {
	File string // its name
	// Header names the columns, without spaces around them; no two names are the same, but several may be empty. Rows
	// of JSON lines may bring columns that are appended to it.
	Header     []string
	HeaderLine int // that of the first row in JSON lines; 0 in Parquet

	index   map[string]int // of the columns with a name
	format  *fileFormat
	rows    rowReader
	ahead   []Row // read by Open, not yet returned
	behind  error // the error after them, if not nil
	any     bool  // a row was read, or found bad
	warn    func(message string, facts ...any)
	told    [3]event    // by kind
	points  map[int]int // the first line of a number like 1.234, by column
	raw     io.Reader
	closers []func() error
}

type rowReader interface{ next() (Row, error) }

type fileFormat struct {
	name    string
	endings []string // of a file's name; Formats lists the first one
	unit    string   // which Row.Line counts
	grows   bool     // rows name their columns, and there is no header
	// text reads a format of text, and file one that is not.
	text  func(*input, *Reader) (rowReader, error)
	file  func(*os.File) (*parquetRows, error)
	write func(io.Writer, *parquet.Schema) (rowWriter, error)
}

// formats are the formats of tables; the first one is also that of any other ending.
var formats = [...]fileFormat{
	{name: "CSV", endings: []string{".csv"}, unit: "line", text: readSeparated(0), write: writeSeparated(',')},
	{
		name: "TSV", endings: []string{".tsv", ".tab"}, unit: "line",
		text: readSeparated('\t'), write: writeSeparated('\t'),
	},
	{
		name: "JSON lines", endings: []string{".jsonl", ".ndjson", ".json"}, unit: "line", grows: true,
		text: readObjects, write: writeObjects,
	},
	{name: "Parquet", endings: []string{".parquet"}, unit: "row", file: openParquet, write: writeParquet},
}

// Formats lists the formats of tables with their endings, for help texts and errors.
func Formats() string {
	named := lists.Map(formats[:], func(f fileFormat) string { return fmt.Sprintf("%s (%s)", f.name, f.endings[0]) })
	last := len(named) - 1
	return strings.Join(named[:last], ", ") + " or " + named[last] + "; text may be compressed (.gz, .zst)"
}

// IsName reports whether a file's name has the ending of a table, compressed or not.
func IsName(name string) bool {
	ext, _ := Extensions(name)
	return slices.Contains(formatOf(name).endings, ext)
}

// formatOf returns the format of a file's name, compressed or not.
func formatOf(name string) *fileFormat {
	ext, _ := Extensions(name)
	i := slices.IndexFunc(formats[:], func(f fileFormat) bool { return slices.Contains(f.endings, ext) })
	return &formats[max(0, i)]
}

// Extensions returns the extension of a file's name in lower case, without that of a compression, and the extension of
// the compression, "" without one.
func Extensions(name string) (ext, compression string) {
	name = strings.ToLower(filepath.Base(name))
	if compression = filepath.Ext(name); compression == ".gz" || compression == ".zst" {
		return filepath.Ext(strings.TrimSuffix(name, compression)), compression
	}
	return compression, ""
}

// converters are lines of Python for files of other programs, by their endings.
var converters = map[string]string{
	".sav":  `pyreadstat.read_sav("study.sav")[0].to_csv("study.csv", index=False)`,
	".dta":  `pyreadstat.read_dta("study.dta")[0].to_csv("study.csv", index=False)`,
	".xlsx": `pandas.read_excel("study.xlsx").to_csv("study.csv", index=False)`,
}

// Open opens the table in a file, which the caller must close, and reads its header or first row. Errors are *Error.
func Open(path string, o Options) (*Reader, error) {
	ext, _ := Extensions(path)
	if line, ok := converters[ext]; ok {
		return nil, &Error{File: path, Err: fmt.Errorf("%w %s: convert it to CSV with Python: %s", ErrOther, ext, line)}
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrNoFile
	}
	if err != nil {
		return nil, &Error{File: path, Err: Cause(err)}
	}
	r, err := open(f, path, o)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r.closers = append(r.closers, f.Close)
	return r, nil
}

func open(f *os.File, path string, o Options) (*Reader, error) {
	r := &Reader{File: path, format: formatOf(path), warn: o.Warn}
	if _, compression := Extensions(path); r.format.file == nil || compression != "" {
		return New(f, path, o)
	}
	if o.Hash != nil {
		if _, err := io.Copy(o.Hash, f); err != nil {
			return nil, r.at(err)
		}
	}
	rows, err := r.format.file(f)
	if err != nil {
		return nil, r.at(err)
	}
	r.rows, r.closers = rows, append(r.closers, rows.Close)
	return r, r.setHeader(rows.header)
}

// New is Open for a reader of the text of a file of that name.
func New(in io.Reader, name string, o Options) (*Reader, error) {
	r := &Reader{File: name, format: formatOf(name), raw: in, points: map[int]int{}}
	if r.format.text == nil {
		return nil, r.at(fmt.Errorf("%w: it must be a plain file", ErrParquet))
	}
	if o.Hash != nil {
		r.raw = io.TeeReader(in, o.Hash)
	}
	if err := r.openText(o); err != nil {
		return nil, errors.Join(r.at(err), r.Close())
	}
	return r, nil
}

func (r *Reader) openText(o Options) error {
	r.warn = o.Warn
	plain, err := Decompress(r.raw, r.File)
	if err != nil {
		return err
	}
	r.closers = append(r.closers, plain.Close)
	in, err := newInput(plain)
	if err != nil {
		return err
	}
	if r.rows, err = r.format.text(in, r); err != nil {
		return err
	}
	first, err := r.Next()
	if err != nil {
		return err
	}
	r.HeaderLine = first.Line
	first.Cells = slices.Clone(first.Cells)
	if r.Grows() {
		rows, cells, present := []Row{first}, 0, 0
		for o.Ahead && r.behind == nil {
			row, err := r.Next()
			cells, present = cells+len(row.Cells), present+len(r.rows.(*objects).has)
			if cells > maxCells+maxSparse*present {
				return ErrManyCells
			}
			if r.behind = err; err == nil {
				rows = append(rows, Row{row.Line, slices.Clone(row.Cells)})
			}
		}
		r.ahead = rows
		return nil
	}
	header := slices.Clone(first.Cells)
	if r.any = o.IsHeader != nil && !o.IsHeader(header); r.any {
		r.ahead = []Row{first}
		for i := range header {
			header[i] = strconv.Itoa(i + 1)
		}
	}
	return r.setHeader(header)
}

func (r *Reader) setHeader(names []string) error {
	r.index = make(map[string]int, len(names))
	for _, name := range names {
		name = strings.TrimSpace(name)
		if _, twice := r.index[name]; twice && name != "" {
			return &Error{File: r.File, Line: r.HeaderLine, Column: name[:min(len(name), maxName)], Err: ErrColumnTwice}
		}
		if _, err := r.addColumn(name); err != nil {
			return &Error{File: r.File, Line: r.HeaderLine, Err: err}
		}
	}
	return nil
}

// addColumn adds a column and returns its index.
func (r *Reader) addColumn(name string) (int, error) {
	i := len(r.Header)
	switch {
	case i == maxColumns:
		return 0, ErrManyColumns
	case len(name) > maxName:
		return 0, ErrLongName
	}
	r.Header = append(r.Header, name)
	if name != "" {
		r.index[name] = i
	}
	return i, nil
}

// Use says which columns are read. The cells of others are empty then in formats that can leave them out, which takes
// less time and memory.
func (r *Reader) Use(columns ...string) {
	if p, ok := r.rows.(*parquetRows); ok {
		p.use(func(cell int) bool { return slices.Contains(columns, r.Header[cell]) })
	}
}

// Grows reports whether later rows may add columns, as in JSON lines.
func (r *Reader) Grows() bool { return r.format.grows }

// Index returns the index of a column in the header, -1 if not found.
func (r *Reader) Index(column string) int {
	if i, ok := r.index[column]; ok {
		return i
	}
	return -1
}

// NoColumn returns the error for a column that the table lacks. It suggests what a user may have meant: a column that
// differs in capitals or spaces, or any column. The first line of a file without a header is patient data, so any
// column is named only if one of the usual names is among them.
func (r *Reader) NoColumn(column string, usual []string) error {
	const most = 20 // columns named
	err := ErrNoColumn
	like := func(name string) func(string) bool {
		bare := func(name string) string { return strings.Join(strings.Fields(name), "") }
		return func(other string) bool { return other != "" && strings.EqualFold(bare(name), bare(other)) }
	}
	if i := slices.IndexFunc(r.Header, like(column)); i >= 0 {
		err = fmt.Errorf("%w, but there is %q", ErrNoColumn, r.Header[i])
	} else if slices.ContainsFunc(r.Header, func(name string) bool { return slices.ContainsFunc(usual, like(name)) }) {
		err = fmt.Errorf("%w; there are %q", ErrNoColumn, r.Header[:min(len(r.Header), most)])
	}
	return &Error{File: r.File, Line: r.HeaderLine, Column: column, Err: err}
}

// Next returns the next row, and io.EOF after the last one. An *Error with a Line concerns that row only, and Next
// continues after it; with Options.Ahead it is final. So is any other error: one of reading, or ErrNoRows for a table
// without rows.
func (r *Reader) Next() (Row, error) {
	switch {
	case len(r.ahead) > 0:
		row := r.ahead[0]
		r.ahead = r.ahead[1:]
		row.Cells = append(row.Cells, make([]string, len(r.Header)-len(row.Cells))...)
		return row, nil
	case r.behind != nil:
		return Row{}, r.behind
	}
	row, err := r.rows.next()
	if err == nil {
		r.any = true
		return row, nil
	}
	if errors.Is(err, io.EOF) && r.raw != nil { // bytes after the compressed data are part of the file too
		if _, e := io.Copy(io.Discard, r.raw); e != nil {
			err = e
		}
	}
	switch {
	case !errors.Is(err, io.EOF):
		r.any = true
	case r.any:
		r.tell()
		return Row{}, io.EOF
	default:
		err = ErrNoRows
	}
	return Row{}, r.at(err)
}

// Rows yields the remaining rows, and last the error of Next if not io.EOF, or ErrPoint for a column of numbers.
func (r *Reader) Rows(numbers ...int) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for {
			row, err := r.Next()
			if err == nil && len(r.points) > 0 && r.told[commasRead].count > 0 {
				if at := slices.IndexFunc(numbers, func(i int) bool { return r.points[i] > 0 }); at >= 0 {
					i := numbers[at]
					err = &Error{File: r.File, Line: r.points[i], Column: r.Header[i], Err: ErrPoint}
				}
			}
			if errors.Is(err, io.EOF) || !yield(row, err) || err != nil {
				return
			}
		}
	}
}

func (r *Reader) at(err error) error {
	if at, ok := errors.AsType[*Error](err); ok {
		at.File = r.File
		return at
	}
	return &Error{File: r.File, Err: err}
}

// Close releases the file.
func (r *Reader) Close() error {
	errs := lists.Map(r.closers, func(c func() error) error { return c() })
	r.closers = nil
	return errors.Join(errs...)
}
