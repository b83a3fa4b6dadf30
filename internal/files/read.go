package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrTooLarge is wrapped by the error of Read about a file of more bytes than its kind needs.
var ErrTooLarge = errors.New("too large")

// Read returns the contents of a file of at most limit bytes, whatever the file system says of its size.
func Read(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // the command line or the configuration names it
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it is only read
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)}
	}
	return data, err
}
