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
	if _, compression := Extensions(path); !IsName(path) || formatOf(path) == parquetFormat && compression != "" {
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
		renameio.WithPermissions(0o644))
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
func (f *File) IsLines() bool { return formatOf(f.name) == objectFormat }

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
	fields[0].Type = reflect.TypeFor[string]()
	line := reflect.New(reflect.StructOf(fields)).Elem()
	w, err := newWriter[any](f, line.Type())
	for i, name := range names {
		line.Field(0).SetString(name)
		for c, v := range row(i) {
			number := &v
			if math.IsNaN(v) {
				number = nil
			}
			line.Field(c + 1).Set(reflect.ValueOf(number))
		}
		err = errors.Join(err, w.Write([]any{line.Interface()}))
	}
	return errors.Join(err, w.Close())
}

// rowsInGroup bounds the rows that a writer of Parquet holds in memory.
const rowsInGroup = 1 << 15

// Writer writes rows of a struct T to a File. Fields of T are strings, numbers, or pointers to float64 or bool that are
// nil for a missing cell; the tags parquet and json name their columns.
type Writer[T any] struct {
	parquet *parquet.GenericWriter[T]
	json    *json.Encoder
	csv     *csv.Writer
	cells   []string
}

// NewWriter writes the header of a table to f.
func NewWriter[T any](f *File) (*Writer[T], error) { return newWriter[T](f, reflect.TypeFor[T]()) }

// newWriter is NewWriter for rows of the struct t.
func newWriter[T any](f *File, t reflect.Type) (*Writer[T], error) {
	schema := parquet.SchemaOf(reflect.New(t).Interface())
	w := &Writer[T]{}
	switch formatOf(f.name) {
	case parquetFormat:
		w.parquet = parquet.NewGenericWriter[T](f, schema, parquet.MaxRowsPerRowGroup(rowsInGroup),
			parquet.Compression(&parquet.Zstd))
		return w, nil
	case objectFormat:
		w.json = json.NewEncoder(f)
		return w, nil
	case tabFormat:
		w.csv = csv.NewWriter(f)
		w.csv.Comma = '\t'
	default:
		w.csv = csv.NewWriter(f)
	}
	for _, path := range schema.Columns() {
		w.cells = append(w.cells, path[0])
	}
	return w, w.csv.Write(w.cells)
}

// Write writes rows.
func (w *Writer[T]) Write(rows []T) error {
	if w.parquet != nil {
		_, err := w.parquet.Write(rows)
		return err
	}
	for _, row := range rows {
		if err := w.writeText(row); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer[T]) writeText(row any) error {
	if w.json != nil {
		return w.json.Encode(row)
	}
	fields := reflect.ValueOf(row)
	for j := range w.cells {
		field := fields.Field(j)
		if field.Kind() == reflect.Pointer {
			field = field.Elem()
		}
		switch field.Kind() {
		case reflect.Invalid:
			w.cells[j] = ""
		case reflect.Float64:
			w.cells[j] = number(field.Float(), 64)
		default:
			w.cells[j] = fmt.Sprint(field)
		}
	}
	return w.csv.Write(w.cells)
}

// Close writes the remaining rows; the File is then ready for Commit.
func (w *Writer[T]) Close() error {
	switch {
	case w.parquet != nil:
		return w.parquet.Close()
	case w.csv != nil:
		w.csv.Flush()
		return w.csv.Error()
	}
	return nil
}
