package models

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/wardcast/wardcast/internal/files"
)

const tempPrefix = ".tmp-"

// Dir is the Bucket on a directory. Files and folders are written to a temporary name, synced and renamed. Writers
// exclude each other by a lock; readers need none. What it creates is for its owner only, or, in a directory with the
// set-group-ID bit, for its group to read. Files that root writes belong to the owner of the file replaced, or of the
// folder.
type Dir string

func (d Dir) path(name string) string { return filepath.Join(string(d), filepath.FromSlash(name)) }

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
	// The open file decides: another may be there by now. A pipe must not hold up who opens it.
	f, err := os.OpenFile(at, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, denied(at, err)
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENXIO): // a link, a socket
		return nil, errIrregular
	case err != nil:
		return nil, reason(err)
	}
	defer func() { _ = f.Close() }() // it is only read
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, reason(err)
	case !info.Mode().IsRegular():
		return nil, errIrregular
	case info.Size() > limit:
		return nil, fmt.Errorf("%d bytes, must be at most %d", info.Size(), limit)
	}
	var data bytes.Buffer
	data.Grow(int(info.Size()) + bytes.MinRead)
	if n, err := data.ReadFrom(io.LimitReader(f, limit+1)); err != nil || n > limit {
		return nil, cmp.Or(reason(err), fmt.Errorf("more than %d bytes", limit))
	}
	return data.Bytes(), nil
}

var errIrregular = errors.New("not a regular file")

// denied names the file or folder that the process may not read or write, and who may.
func denied(at string, err error) error {
	return fmt.Errorf("%w on %s: run as the owner of the store", reason(err), at)
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
	return d.locked(ctx, folder, "."+file, func(f files.Folder) error {
		now, err := d.Read(ctx, name, historyLimit)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if err != nil {
			return err
		}
		if (now == nil) != (before == nil) || !bytes.Equal(now, before) {
			return ErrConflict
		}
		return errors.Join(f.Write(name, after), f.Sync(folder, ""))
	})
}

// AddFolder implements Bucket.
func (d Dir) AddFolder(ctx context.Context, folder string, contents map[string][]byte, last string) error {
	parent, _ := path.Split(folder)
	return d.locked(ctx, parent, tempPrefix, func(f files.Folder) error {
		if _, err := os.Lstat(d.path(folder)); err == nil {
			now, err := d.Read(ctx, path.Join(folder, last), historyLimit)
			if err == nil && !bytes.Equal(now, contents[last]) {
				err = fmt.Errorf("%q exists with other contents: %w", folder, fs.ErrExist)
			}
			return err
		}
		temp, err := f.Stage(ctx, parent, tempPrefix, contents)
		if err != nil {
			return err
		}
		if err := os.Rename(temp, d.path(folder)); err != nil {
			return errors.Join(err, os.RemoveAll(temp))
		}
		return f.Sync(parent, "")
	})
}

// Remove implements Bucket. It leaves no empty folder.
func (d Dir) Remove(ctx context.Context, name string) error {
	if _, err := os.Lstat(d.path(name)); errors.Is(err, fs.ErrNotExist) {
		return ctx.Err()
	}
	folder := path.Dir(name)
	return d.locked(ctx, folder, tempPrefix, func(f files.Folder) error {
		err := os.Remove(d.path(name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return reason(err)
		}
		for folder != "." && os.Remove(d.path(folder)) == nil {
			folder = path.Dir(folder)
		}
		return f.Sync(folder)
	})
}

// locked locks out other writers, removes dead ones' temporary files (prefix), creates the folder, and calls write.
func (d Dir) locked(ctx context.Context, folder, prefix string, write func(files.Folder) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f := files.Folder{Path: string(d), Folders: 0o700, Files: 0o600, Lock: 0o600}
	if info, err := os.Stat(string(d)); err == nil && info.Mode()&fs.ModeSetgid != 0 {
		f.Folders, f.Files = 0o750|fs.ModeSetgid, 0o640
	}
	if err := f.Make(""); err != nil {
		return err
	}
	return f.Locked(ctx, folder, prefix, func() error {
		if err := f.Make(folder); err != nil {
			return err
		}
		return write(f)
	})
}
