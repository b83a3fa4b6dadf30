package models

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"
)

const (
	lockFile   = ".lock"
	tempPrefix = ".tmp-"

	// lockPoll is how often a writer looks whether the lock is free.
	lockPoll = 20 * time.Millisecond
)

// Dir is the Bucket on a directory. Files and folders are written to a temporary name, synced and renamed; writers exclude
// each other by a lock, readers need none. What it creates is for its owner only, or, if the directory has the
// set-group-ID bit, for its group to read as well. What root writes belongs to the owner of what it replaces, or of the folder.
type Dir string

// path returns the place of a file or folder of the bucket.
func (d Dir) path(name string) string { return filepath.Join(string(d), filepath.FromSlash(name)) }

// modes returns the permissions of new folders and files.
func (d Dir) modes() (folder, file fs.FileMode) {
	if info, err := os.Stat(string(d)); err == nil && info.Mode()&fs.ModeSetgid != 0 {
		return 0o750 | fs.ModeSetgid, 0o640
	}
	return 0o700, 0o600
}

// Prepare implements Bucket.
func (d Dir) Prepare(context.Context) error {
	err := os.MkdirAll(string(d), 0o700)
	if err == nil {
		var probe string
		if probe, err = os.MkdirTemp(string(d), tempPrefix); err == nil {
			err = os.Remove(probe)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", d, reason(err))
	}
	return nil
}

// Folders implements Bucket.
func (d Dir) Folders(ctx context.Context, folder string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(d.path(folder))
	switch {
	case errors.Is(err, fs.ErrNotExist) && folder != "":
		return nil, nil
	case errors.Is(err, fs.ErrPermission):
		return nil, denied(d.path(folder), err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// Files implements Bucket.
func (d Dir) Files(ctx context.Context, folder string) ([]string, error) {
	root := d.path(folder)
	var names []string
	err := filepath.WalkDir(root, func(at string, e fs.DirEntry, err error) error {
		switch gone := errors.Is(err, fs.ErrNotExist); {
		case ctx.Err() != nil:
			return ctx.Err()
		case gone && at != root: // a temporary file, renamed meanwhile
			return nil
		case gone && folder != "":
			return fs.SkipAll
		case errors.Is(err, fs.ErrPermission):
			return denied(at, err)
		case err != nil:
			return err
		case at == root:
			return nil
		case strings.HasPrefix(e.Name(), ".") && e.IsDir():
			return fs.SkipDir
		case strings.HasPrefix(e.Name(), ".") || e.IsDir():
			return nil
		}
		name, err := filepath.Rel(string(d), at)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	slices.Sort(names)
	return names, err
}

// Read implements Bucket. Links, devices and folders are refused.
func (d Dir) Read(ctx context.Context, name string, limit int64) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	at := d.path(name)
	info, err := os.Lstat(at)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, denied(at, err)
	case err != nil:
		return nil, reason(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case info.Size() > limit:
		return nil, tooLarge(info.Size(), limit)
	}
	data, err := os.ReadFile(at)
	if errors.Is(err, fs.ErrPermission) {
		return nil, denied(at, err)
	}
	return data, reason(err)
}

// denied tells which file or folder the process may not read or write, and who may.
func denied(at string, err error) error {
	return fmt.Errorf("%w on %s: run as the owner of the store", reason(err), at)
}

func tooLarge(size, limit int64) error {
	return fmt.Errorf("%d bytes, must be at most %d", size, limit)
}

// reason cuts the path from an error, since FileError names it already.
func reason(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

// Swap implements Bucket.
func (d Dir) Swap(ctx context.Context, name string, before, after []byte) error {
	folder, file := path.Split(name)
	return d.locked(ctx, folder, "."+file, func() error {
		now, err := d.Read(ctx, name, math.MaxInt64)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if err != nil {
			return err
		}
		if (now == nil) != (before == nil) || !bytes.Equal(now, before) {
			return ErrConflict
		}
		return errors.Join(d.write(folder, file, after), syncDir(d.path(folder)), syncDir(string(d)))
	})
}

// write writes and syncs a file, completely or not at all.
func (d Dir) write(folder, file string, data []byte) error {
	_, mode := d.modes()
	at := d.path(folder)
	f, err := renameio.NewPendingFile(filepath.Join(at, file), renameio.WithTempDir(at), renameio.WithPermissions(mode), renameio.WithExistingPermissions())
	if err != nil {
		return err
	}
	defer func() { _ = f.Cleanup() }() // of a file that was not renamed
	if _, err := f.Write(data); err != nil {
		return err
	}
	before, err := os.Stat(filepath.Join(at, file))
	if errors.Is(err, fs.ErrNotExist) {
		before, err = os.Stat(at)
	}
	if err == nil {
		err = keepOwner(f.Name(), before)
	}
	if err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}

// makeFolder creates a folder of the bucket if it is missing.
func (d Dir) makeFolder(folder string) error {
	if _, err := os.Stat(d.path(folder)); err == nil {
		return nil
	}
	mode, _ := d.modes()
	if err := os.MkdirAll(d.path(folder), mode.Perm()); err != nil {
		return err
	}
	top, err := os.Stat(string(d))
	for folder = path.Clean(folder); err == nil && folder != "."; folder = path.Dir(folder) {
		err = keepOwner(d.path(folder), top)
	}
	return err
}

// AddFolder implements Bucket.
func (d Dir) AddFolder(ctx context.Context, folder string, files map[string][]byte, last string) error {
	parent, _ := path.Split(folder)
	return d.locked(ctx, parent, tempPrefix, func() error {
		if _, err := os.Lstat(d.path(folder)); err == nil {
			now, err := d.Read(ctx, path.Join(folder, last), math.MaxInt64)
			if err == nil && !bytes.Equal(now, files[last]) {
				err = fmt.Errorf("%q is another: %w", folder, fs.ErrExist)
			}
			return err
		}
		return d.addFolder(ctx, parent, folder, files)
	})
}

// addFolder writes the files under a temporary name and renames the folder.
func (d Dir) addFolder(ctx context.Context, parent, folder string, files map[string][]byte) (err error) {
	temp, err := os.MkdirTemp(d.path(parent), tempPrefix)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(temp))
		}
	}()
	above, err := os.Stat(d.path(parent))
	if err == nil {
		err = keepOwner(temp, above)
	}
	mode, _ := d.modes()
	if err := errors.Join(err, os.Chmod(temp, mode)); err != nil {
		return err
	}
	for name, data := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.write(path.Join(parent, filepath.Base(temp)), name, data); err != nil {
			return err
		}
	}
	if err := syncDir(temp); err != nil {
		return err
	}
	if err := os.Rename(temp, d.path(folder)); err != nil {
		return err
	}
	return errors.Join(syncDir(d.path(parent)), syncDir(string(d)))
}

// locked creates the folder and calls write while it excludes other writers of the bucket, with the temporary files of dead
// ones removed, whose names begin with prefix.
func (d Dir) locked(ctx context.Context, folder, prefix string, write func() error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := d.makeFolder(folder); err != nil {
		return err
	}
	lock := flock.New(d.path(lockFile), flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, lockPoll); err != nil {
		return fmt.Errorf("locking the model store: %w", err)
	}
	defer func() { _ = lock.Close() }() // a lock that cannot be released ends with the process
	top, err := os.Stat(string(d))
	if err == nil {
		err = keepOwner(d.path(lockFile), top)
	}
	if err != nil {
		return err
	}
	left, err := filepath.Glob(filepath.Join(escapeGlob(d.path(folder)), escapeGlob(prefix)+"*"))
	for _, at := range left {
		err = errors.Join(err, os.RemoveAll(at))
	}
	if err != nil {
		return fmt.Errorf("clearing temporary files: %w", err)
	}
	return write()
}

// escapeGlob returns the pattern that matches the text alone.
func escapeGlob(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(text)
}

func syncDir(at string) (err error) {
	f, err := os.Open(at)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Sync()
}
