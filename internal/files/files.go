package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"
)

// LockFile is never removed: otherwise two writers could lock two files with this name.
const LockFile = ".lock"

const lockPoll = 20 * time.Millisecond // the interval at which a waiting writer tries the lock

// Lock locks a file, created with these permissions, and returns the function that unlocks it. It waits until ctx ends.
func Lock(ctx context.Context, path string, permissions fs.FileMode) (unlock func(), err error) {
	lock := flock.New(path, flock.SetPermissions(permissions))
	if _, err := lock.TryLockContext(ctx, lockPoll); err != nil {
		return nil, fmt.Errorf("locking %q: %w", filepath.Dir(path), err)
	}
	return func() { _ = lock.Close() }, nil // a lock that cannot be released ends with the process
}

// Folder is a folder that one process at a time writes into. A file that root writes gets the owner of the file that it
// replaces, or of its folder.
type Folder struct {
	Path                 string
	Folders, Files, Lock fs.FileMode // the permissions of what is created
}

// Locked calls write under the lock, after it has removed the temporary files of crashed writers: those in the folder
// sub whose names begin with prefix. It waits for the lock until ctx ends.
func (f Folder) Locked(ctx context.Context, sub, prefix string, write func() error) error {
	unlock, err := Lock(ctx, f.at(LockFile), f.Lock)
	if err != nil {
		return err
	}
	defer unlock()
	if err := f.chown(LockFile, ""); err != nil {
		return err
	}
	left, err := filepath.Glob(filepath.Join(escapeGlob(f.at(sub)), escapeGlob(prefix)+"*"))
	for _, at := range left {
		err = errors.Join(err, os.RemoveAll(at))
	}
	if err != nil {
		return fmt.Errorf("clearing temporary files: %w", err)
	}
	return write()
}

// Stage writes files into a new folder in the folder sub, under a temporary name that begins with prefix, and returns
// its path. The caller renames or removes it.
func (f Folder) Stage(ctx context.Context, sub, prefix string, contents map[string][]byte) (path string, err error) {
	temp, err := os.MkdirTemp(f.at(sub), prefix)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(temp))
		}
	}()
	name := filepath.Join(sub, filepath.Base(temp))
	if err := errors.Join(f.chown(name, sub), os.Chmod(temp, f.Folders)); err != nil {
		return "", err
	}
	for file, data := range contents {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if err := f.Write(filepath.Join(name, file), data); err != nil {
			return "", err
		}
	}
	return temp, f.Sync(name)
}

// Write writes and syncs a file atomically.
func (f Folder) Write(name string, data []byte) error {
	at := f.at(name)
	p, err := renameio.NewPendingFile(
		at, renameio.WithTempDir(filepath.Dir(at)), renameio.WithPermissions(f.Files),
		renameio.WithExistingPermissions(),
	)
	if err != nil {
		return err
	}
	defer func() { _ = p.Cleanup() }() // of a file that was not renamed
	if _, err := p.Write(data); err != nil {
		return err
	}
	before, err := os.Stat(at)
	if errors.Is(err, fs.ErrNotExist) {
		before, err = os.Stat(filepath.Dir(at))
	}
	if err == nil {
		err = keepOwner(p.Name(), before)
	}
	if err != nil {
		return err
	}
	return p.CloseAtomicallyReplace()
}

// Make creates a subfolder if it is missing.
func (f Folder) Make(name string) error {
	if _, err := os.Stat(f.at(name)); err == nil {
		return nil
	}
	err := os.MkdirAll(f.at(name), f.Folders.Perm())
	for name = filepath.Clean(name); err == nil && name != "."; name = filepath.Dir(name) {
		err = f.chown(name, "")
	}
	return err
}

// Sync makes the directory entries of these subfolders survive a crash.
func (f Folder) Sync(names ...string) (err error) {
	for _, name := range names {
		folder, failed := os.Open(f.at(name))
		if failed == nil {
			failed = errors.Join(folder.Sync(), folder.Close())
		}
		err = errors.Join(err, failed)
	}
	return err
}

func (f Folder) at(name string) string { return filepath.Join(f.Path, filepath.FromSlash(name)) }

// chown gives a file or folder to the owner of another one.
func (f Folder) chown(name, of string) error {
	info, err := os.Stat(f.at(of))
	if err != nil {
		return err
	}
	return keepOwner(f.at(name), info)
}

// escapeGlob returns the pattern that matches the text alone.
func escapeGlob(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(text)
}

// keepOwner gives a file or folder to the owner of another if the process runs as root, so that a file of root does not
// lock out the user who owns the folder.
func keepOwner(at string, of fs.FileInfo) error {
	owner, ok := of.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	return os.Lchown(at, int(owner.Uid), int(owner.Gid))
}

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
