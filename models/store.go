package models

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/models/signing"
)

// ErrNotFound is wrapped if there is no such model, version, generation or champion.
var ErrNotFound = errors.New("not found")

// absent is an ErrNotFound that says more.
type absent string

func (a absent) Error() string      { return string(a) }
func (absent) Is(target error) bool { return target == ErrNotFound }

// listed is the error for something that is not among what a command lists.
func listed(format string, args ...any) error {
	return absent(fmt.Sprintf(format, args...) + "; \"wardcast models list\" shows what the store has")
}

// Store keeps versions of models, the generations they belong to, and which generation is served.
type Store struct {
	bucket  Bucket
	keys    signing.Keys
	vouched *sync.Map // what trusted keys signed or Save wrote: SHA-256 of manifests by file, statements by generation
	kept    *kept
	past    *atomic.Pointer[past]
}

// New returns the store in a bucket.
func New(b Bucket) *Store {
	return &Store{
		bucket: b, vouched: new(sync.Map), kept: &kept{one: semaphore.NewWeighted(1)}, past: new(atomic.Pointer[past]),
	}
}

// OpenDir returns the store on a directory, which the first Save creates. Package blobstore opens others.
func OpenDir(path string) *Store { return New(Dir(path)) }

// FileError says what is wrong with a file of the store.
type FileError struct {
	Model   string // "" for files of the store as a whole
	Version string // "" for files outside the versions
	File    string
	Err     error
}

func (e *FileError) Error() string {
	where := ""
	if e.Model != "" {
		where = fmt.Sprintf("model %q: ", e.Model)
	}
	if e.Version != "" {
		where = fmt.Sprintf("model %q, version %q: ", e.Model, e.Version)
	}
	return fmt.Sprintf("%sfile %q: %v", where, e.File, e.Err)
}

// fileError returns e, or its reason if that is a lack of permission: such a file may be sound.
func fileError(e FileError) error {
	if errors.Is(e.Err, fs.ErrPermission) {
		return e.Err
	}
	return &e
}

func (e *FileError) Unwrap() error { return e.Err }

// Errors of Recognize.
var (
	ErrEmpty   = errors.New("the model store is empty")
	ErrNoStore = errors.New("no model store: not empty, but no generations, no champion")
)

// Recognize returns an error that wraps ErrEmpty if nothing is there, or ErrNoStore if something else is.
func (s *Store) Recognize(ctx context.Context) error {
	folders, err := s.bucket.Folders(ctx, "")
	if err != nil {
		return listing(err)
	}
	for _, file := range []string{championFile, historyFile, headFile} {
		if _, err := s.bucket.Read(ctx, file, 0); !errors.Is(err, fs.ErrNotExist) {
			return ctx.Err() // whatever it holds
		}
	}
	for _, folder := range folders {
		inside, err := s.bucket.Folders(ctx, folder)
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			return listing(err)
		}
		if folder == generationsFolder || bundle.ValidModel(folder) &&
			slices.ContainsFunc(inside, bundle.ValidVersion) {
			return nil
		}
	}
	if len(folders) > 0 {
		return ErrNoStore
	}
	files, err := s.bucket.Files(ctx, "")
	switch {
	case err != nil:
		return listing(err)
	case len(files) > 0:
		return ErrNoStore
	}
	return ErrEmpty
}

// Create makes the directory of the store if it has one, and returns an error if nothing can be written, or if there is
// something that is no store.
func (s *Store) Create(ctx context.Context) error {
	err := s.bucket.Prepare(ctx)
	if err == nil {
		err = s.Recognize(ctx)
	}
	if err != nil && !errors.Is(err, ErrEmpty) {
		return fmt.Errorf("opening the model store: %w", err)
	}
	return nil
}

// Models returns the names of all models, sorted.
func (s *Store) Models(ctx context.Context) ([]string, error) {
	names, err := s.bucket.Folders(ctx, "")
	if err != nil {
		return nil, listing(err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return !bundle.ValidModel(name) }), nil
}

// Versions returns the versions of a model, oldest first. A version that is not completely written does not count.
func (s *Store) Versions(ctx context.Context, model string) ([]string, error) {
	if !bundle.ValidModel(model) {
		return nil, listed("no model %q", model)
	}
	versions, err := s.versionsIn(ctx, model)
	if err == nil && len(versions) == 0 {
		err = listed("no model %q", model)
	}
	return versions, err
}

// versionsIn returns the versions in a folder that have a manifest, which is written last.
func (s *Store) versionsIn(ctx context.Context, folder string) (versions []string, err error) {
	files, err := s.bucket.Files(ctx, folder)
	if err != nil {
		return nil, listing(err)
	}
	for _, file := range files {
		version := path.Base(path.Dir(file))
		if path.Join(folder, version, bundle.ManifestFile) == file && bundle.ValidVersion(version) {
			versions = append(versions, version)
		}
	}
	return versions, nil
}

func listing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return fmt.Errorf("listing the model store: %w", err)
}

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
	// Read returns a whole file of at most limit bytes. For a missing one the error wraps fs.ErrNotExist, unnamed.
	Read(ctx context.Context, name string, limit int64) ([]byte, error)
	// Swap writes a file whole if its content still is before, nil for a file that does not exist; otherwise it returns
	// an error that wraps ErrConflict. If Swap returns another error, the file may or may not have been written.
	Swap(ctx context.Context, name string, before, after []byte) error
	// AddFolder adds a folder of files. A reader who finds the file named last finds all others too. If last exists,
	// the folder is left as it is; the error then wraps fs.ErrExist unless last has the same content.
	AddFolder(ctx context.Context, folder string, files map[string][]byte, last string) error
	// Remove removes a file, and its folder if that holds no other. A missing file is no error.
	Remove(ctx context.Context, name string) error
}
