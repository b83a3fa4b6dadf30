package table

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"reflect"
	"strconv"

	"github.com/google/renameio/v2"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
)

// ErrName is returned for the name of an output file whose format cannot be told.
var ErrName = errors.New("the name must end in .csv, .tsv, .jsonl or .parquet; text may be compressed, as in .csv.gz or .csv.zst")

// File is a file that appears under its name once it is complete. Text is compressed as the name says.
type File struct {
	name   string
	file   *renameio.PendingFile
	buffer *bufio.Writer
	coder  io.Closer // nil if the file is not compressed
	io.Writer
}

// Create begins a file. The caller must end it with Commit or Abort. It returns ErrName for a name that tells no format.
func Create(path string) (*File, error) {
	ext, compression := Extensions(path)
	if formatOf(path) == separatedFormat && ext != ".csv" || formatOf(path) == parquetFormat && compression != "" {
		return nil, fmt.Errorf("%s: %w", path, ErrName)
	}
	pending, err := renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithPermissions(0o644))
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err // its path is that of a temporary file
	}
	if err != nil {
		return nil, fmt.Errorf("creating %s: %w", path, err)
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

// Commit completes the file and gives it its name. After an error there is no such file, or still the one that was there.
func (f *File) Commit() error {
	var err error
	if f.coder != nil {
		err = f.coder.Close()
	}
	if err = errors.Join(err, f.buffer.Flush()); err != nil {
		return errors.Join(err, f.Abort())
	}
	return f.file.CloseAtomicallyReplace()
}

// Abort removes what was written. It does nothing after Commit.
func (f *File) Abort() error { return f.file.Cleanup() }

// rowsInGroup bounds the rows that a writer of Parquet holds in memory.
const rowsInGroup = 1 << 15

// Writer writes rows of a struct T to a File as separated values or as Parquet. Fields of T are strings, or pointers to float64
// or bool that are nil for a missing cell; the tag parquet names their columns.
type Writer[T any] struct {
	parquet *parquet.GenericWriter[T]
	csv     *csv.Writer
	cells   []string
}

// NewWriter writes the header of a table to f.
func NewWriter[T any](f *File) (*Writer[T], error) {
	format := formatOf(f.name)
	if format == parquetFormat {
		return &Writer[T]{parquet: parquet.NewGenericWriter[T](f, parquet.MaxRowsPerRowGroup(rowsInGroup), parquet.Compression(&parquet.Zstd))}, nil
	}
	w := &Writer[T]{csv: csv.NewWriter(f)}
	if format == tabFormat {
		w.csv.Comma = '\t'
	}
	for _, path := range parquet.SchemaOf(new(T)).Columns() {
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
	for i := range rows {
		row := reflect.ValueOf(&rows[i]).Elem()
		for j := range w.cells {
			w.cells[j] = ""
			switch v := row.Field(j).Interface().(type) {
			case string:
				w.cells[j] = v
			case *float64:
				if v != nil {
					w.cells[j] = number(*v, 64)
				}
			case *bool:
				if v != nil {
					w.cells[j] = strconv.FormatBool(*v)
				}
			}
		}
		if err := w.csv.Write(w.cells); err != nil {
			return err
		}
	}
	return nil
}

// Close writes what is left; the File is then ready for Commit.
func (w *Writer[T]) Close() error {
	if w.parquet != nil {
		return w.parquet.Close()
	}
	w.csv.Flush()
	return w.csv.Error()
}
