package models

import (
	"context"
	"errors"
)

// ErrConflict is wrapped if a file is no longer what a change started from: another writer was faster.
var ErrConflict = errors.New("changed meanwhile")

// Bucket is where a Store keeps its files: a directory, or a service that stores objects. Names are slash-separated
// paths of valid UTF-8 without ".", ".." and empty parts. A Bucket is safe for concurrent use, also by several
// processes. The tests of package blobstore hold every Bucket against this contract.
type Bucket interface {
	// Prepare creates the bucket's directory if it has one, and returns an error if nothing can be written.
	Prepare(ctx context.Context) error
	// Folders returns the sorted names of the folders directly in a folder, "" for the top one. A missing top directory
	// is an error that wraps fs.ErrNotExist, any other missing folder is an empty one.
	Folders(ctx context.Context, folder string) ([]string, error)
	// Files returns the sorted names, from the top, of all files below a folder. Files and folders whose names begin
	// with a dot are temporary or locks and left out. Errors as of Folders.
	Files(ctx context.Context, folder string) ([]string, error)
	// Read returns a whole file of at most limit bytes. The error wraps fs.ErrNotExist if there is no such file, and
	// does not tell its name.
	Read(ctx context.Context, name string, limit int64) ([]byte, error)
	// Swap writes a file whole if its content still is before, nil for a file that does not exist; otherwise it returns
	// an error that wraps ErrConflict. If Swap returns another error, the file may or may not have been written.
	Swap(ctx context.Context, name string, before, after []byte) error
	// AddFolder adds a folder of files. A reader who finds the file named last finds all others too. If last exists,
	// the folder is left as it is; the error then wraps fs.ErrExist unless last has the same content.
	AddFolder(ctx context.Context, folder string, files map[string][]byte, last string) error
}
