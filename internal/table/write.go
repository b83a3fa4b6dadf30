package table

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"

	"github.com/google/renameio/v2"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/wording"
)

// ErrName is returned for the name of an output file without the ending of a format.
var ErrName = errors.New("the name must say the format: " + Formats())

// File is a file that appears under its name once it is complete. Text is compressed according to the name.
type File struct {
	name   string
	file   *renameio.PendingFile
	buffer *bufio.Writer
	coder  io.Closer // nil if the file is not compressed
	io.Writer
}

// CheckName returns an error that wraps ErrName unless the name of an output file has the ending of a format.
func CheckName(path string) error {
	if _, compression := Extensions(path); !IsName(path) || formatOf(path).text == nil && compression != "" {
		return fmt.Errorf("%s: %w", path, ErrName)
	}
	return nil
}

// Create begins a file. The caller must end it with Commit or Abort. It returns the error of CheckName.
func Create(path string) (*File, error) {
	if err := CheckName(path); err != nil {
		return nil, err
	}
	f, err := CreateAny(path)
	if err != nil {
		err = fmt.Errorf("creating %s: %w", path, err)
	}
	return f, err
}

// CreateAny is Create for any name. Its errors do not name the file.
func CreateAny(path string) (*File, error) {
	_, compression := Extensions(path)
	pending, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)),
		renameio.WithPermissions(0o600))
	if err != nil {
		return nil, Cause(err)
	}
	f := &File{name: path, file: pending, buffer: bufio.NewWriterSize(pending, readBuffer)}
	f.Writer = f.buffer
	switch compression {
	case ".gz":
		z := gzip.NewWriter(f.buffer)
		f.Writer, f.coder = z, z
	case ".zst":
		z, err := zstd.NewWriter(f.buffer, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, errors.Join(err, f.Abort())
		}
		f.Writer, f.coder = z, z
	}
	return f, nil
}

// IsLines reports whether the file's name says JSON lines.
func (f *File) IsLines() bool { return formatOf(f.name).grows }

// Commit completes the file and gives it its name. After an error the file is absent or unchanged.
func (f *File) Commit() error {
	var err error
	if f.coder != nil {
		err = f.coder.Close()
	}
	if err = errors.Join(err, f.buffer.Flush()); err != nil {
		return errors.Join(err, f.Abort())
	}
	return Cause(f.file.CloseAtomicallyReplace())
}

// Cause returns an error of the file system without the path.
func Cause(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	if at, ok := errors.AsType[*os.LinkError](err); ok {
		return at.Err
	}
	return err
}

// Abort removes the written data. It does nothing after Commit.
func (f *File) Abort() error { return f.file.Cleanup() }

// WriteNumbers writes rows of numbers to the file, each behind its name; NaN is an empty cell. The header names the
// column of the names, then those of the numbers. The file is then ready for Commit.
func (f *File) WriteNumbers(header, names []string, row func(i int) []float64) error {
	fields := make([]reflect.StructField, len(header))
	for c, name := range header {
		tag := fmt.Sprintf("parquet:%[1]q json:%[1]q", name)
		fields[c] = reflect.StructField{
			Name: "C" + strconv.Itoa(c), Type: reflect.TypeFor[*float64](), Tag: reflect.StructTag(tag),
		}
	}
	fields[0].Type = reflect.TypeFor[key]()
	line := reflect.New(reflect.StructOf(fields)).Elem()
	w, err := f.newWriter(line.Type())
	for i, name := range names {
		line.Field(0).SetString(name)
		for c, v := range row(i) {
			number := &v
			if math.IsNaN(v) {
				number = nil
			}
			line.Field(c + 1).Set(reflect.ValueOf(number))
		}
		err = errors.Join(err, w.write(line.Interface()))
	}
	return errors.Join(err, w.Close())
}

// key is text that programs compare with that of other files, so that it stays as it is.
type key string

// rowsInGroup bounds the rows that a writer of Parquet holds in memory.
const rowsInGroup = 1 << 15

// rowWriter writes rows, each a struct of the schema's type. After Close the File is ready for Commit.
type rowWriter struct {
	write func(row any) error
	Close func() error
}

// Writer writes rows of a struct T to a File. Fields of T are strings, numbers, or pointers to float64 or bool that are
// nil for a missing cell; the tags parquet and json name their columns. In
// separated values no text is a formula (wording.Cell).
type Writer[T any] struct{ rowWriter }

// NewWriter writes the header of a table to f.
func NewWriter[T any](f *File) (Writer[T], error) {
	w, err := f.newWriter(reflect.TypeFor[T]())
	return Writer[T]{w}, err
}

// newWriter is NewWriter for rows of the struct t.
func (f *File) newWriter(t reflect.Type) (rowWriter, error) {
	return formatOf(f.name).write(f, parquet.SchemaOf(reflect.New(t).Interface()))
}

// Write writes rows.
func (w Writer[T]) Write(rows []T) error {
	for _, row := range rows {
		if err := w.write(row); err != nil {
			return err
		}
	}
	return nil
}

func writeParquet(out io.Writer, schema *parquet.Schema) (rowWriter, error) {
	w := parquet.NewGenericWriter[any](out, schema, parquet.MaxRowsPerRowGroup(rowsInGroup),
		parquet.Compression(&parquet.Zstd))
	return rowWriter{func(row any) error { _, err := w.Write([]any{row}); return err }, w.Close}, nil
}

func writeObjects(out io.Writer, _ *parquet.Schema) (rowWriter, error) {
	return rowWriter{json.NewEncoder(out).Encode, func() error { return nil }}, nil
}

func writeSeparated(comma rune) func(io.Writer, *parquet.Schema) (rowWriter, error) {
	return func(out io.Writer, schema *parquet.Schema) (rowWriter, error) {
		w := csv.NewWriter(out)
		w.Comma = comma
		cells := lists.Map(schema.Columns(), func(path []string) string { return path[0] })
		write := func(row any) error {
			fields := reflect.ValueOf(row)
			for j := range cells {
				cells[j] = spell(fields.Field(j))
			}
			return w.Write(cells)
		}
		return rowWriter{write, func() error { w.Flush(); return w.Error() }}, w.Write(cells)
	}
}

func spell(field reflect.Value) string {
	if field.Kind() == reflect.Pointer {
		field = field.Elem()
	}
	switch field.Kind() {
	case reflect.Invalid:
		return ""
	case reflect.Float64:
		return number(field.Float(), 64)
	case reflect.String:
		if field.Type() != reflect.TypeFor[key]() {
			return wording.Cell(field.String())
		}
	}
	return fmt.Sprint(field)
}
