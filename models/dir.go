package models

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"
)

const (
	championFile = "champion"
	historyFile  = "history.jsonl"
	lockFile     = ".lock"
	tempPrefix   = ".tmp-"

	// lockPoll is how often a writer looks whether the lock is free.
	lockPoll = 20 * time.Millisecond
)

// Dir is a Store on a directory.
type Dir struct{ path string }

var _ Store = (*Dir)(nil)

// OpenDir returns the store on the directory at path, which the first Save creates.
func OpenDir(path string) *Dir { return &Dir{path: path} }

// Create makes the directory of the store if it is missing, and returns an error if nothing can be written to it.
func (d *Dir) Create() error {
	err := os.MkdirAll(d.path, 0o755)
	if err == nil {
		var probe string
		if probe, err = os.MkdirTemp(d.path, tempPrefix); err == nil {
			err = os.Remove(probe)
		}
	}
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("opening the model store: %s: %w", d.path, at.Err)
	}
	return err
}

// Models implements Store.
func (d *Dir) Models(ctx context.Context) ([]string, error) {
	return d.folders(ctx, d.path, validName)
}

// Versions implements Store.
func (d *Dir) Versions(ctx context.Context, model string) ([]string, error) {
	if !validName(model) {
		return nil, fmt.Errorf("model %q: %w", model, ErrNotFound)
	}
	return d.folders(ctx, filepath.Join(d.path, model), validVersion)
}

// folders returns the sorted names of the sub-directories of path that valid accepts, without symbolic links.
func (d *Dir) folders(ctx context.Context, path string, valid func(string) bool) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: %w", ErrNotFound, err)
		}
		return nil, fmt.Errorf("listing the model store: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && valid(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Champion implements Store.
func (d *Dir) Champion(ctx context.Context, model string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if !validName(model) {
		return "", fmt.Errorf("model %q: %w", model, ErrNotFound)
	}
	data, err := readFile(filepath.Join(d.path, model, championFile), maxName)
	if errors.Is(err, fs.ErrNotExist) {
		if err := d.lost(ctx, model); err != nil {
			return "", err
		}
		return "", fmt.Errorf("champion of model %q: %w", model, ErrNotFound)
	}
	version := strings.TrimSuffix(string(data), "\n")
	if err == nil && !validVersion(version) {
		err = errors.New("holds no version")
	}
	if err == nil {
		if _, e := os.Lstat(filepath.Join(d.path, model, version)); e != nil {
			err = fmt.Errorf("version %q: %w", version, ErrNotFound)
		}
	}
	if err != nil {
		return "", &FileError{Model: model, File: championFile, Err: err}
	}
	return version, nil
}

// lost returns an error if the missing pointer was lost. Only the model of all complaints can tell. Other models need no
// champion, and have none if a crash came between the record of their first promotion and the pointer. A damaged history is
// reported elsewhere.
func (d *Dir) lost(ctx context.Context, model string) error {
	if model != Other {
		return nil
	}
	events, _ := d.History(ctx, model)
	promoted := false
	for _, e := range events {
		promoted = e.Action != Retired && (promoted || e.Action == Promoted || e.Action == RolledBack)
	}
	if !promoted {
		return nil
	}
	return &FileError{Model: model, File: championFile, Err: fmt.Errorf("%w, though the history tells of a champion", ErrNotFound)}
}

// Champions implements Store.
func (d *Dir) Champions(ctx context.Context) (map[string]string, error) {
	names, err := d.Models(ctx)
	if err != nil {
		return nil, err
	}
	champions := map[string]string{}
	var errs []error
	for _, model := range names {
		version, err := d.Champion(ctx, model)
		switch {
		case err == nil:
			champions[model] = version
		case !isAbsent(err):
			errs = append(errs, err)
		}
	}
	return champions, errors.Join(errs...)
}

// isAbsent reports whether there is no champion, rather than a damaged one.
func isAbsent(err error) bool {
	_, damaged := errors.AsType[*FileError](err)
	return errors.Is(err, ErrNotFound) && !damaged
}

// Promote implements Store. The history is written first: a crash in between leaves a record of a promotion that did not
// take effect, never a promotion without a record.
func (d *Dir) Promote(ctx context.Context, model string, e Event) error {
	if _, err := d.Load(ctx, model, e.Version); err != nil {
		return fmt.Errorf("promoting: %w", err)
	}
	unlock, err := d.lock(ctx, model)
	if err != nil {
		return err
	}
	defer unlock()
	// A damaged pointer has no previous version; promoting repairs it.
	e.Previous, _ = d.Champion(ctx, model)
	if e.Action == "" {
		e.Action = Promoted
	}
	return d.point(model, e, func(dir, pointer string) error {
		return renameio.WriteFile(pointer, []byte(e.Version+"\n"), 0o644, renameio.WithTempDir(dir))
	})
}

// point changes the champion's pointer as e says, which it records first.
func (d *Dir) point(model string, e Event, change func(dir, pointer string) error) error {
	if err := d.appendHistory(model, e); err != nil {
		return err
	}
	dir := filepath.Join(d.path, model)
	err := change(dir, filepath.Join(dir, championFile))
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("changing the champion of model %q: %w", model, err)
	}
	return nil
}

// Retire implements Store. As in Promote, the history is written first.
func (d *Dir) Retire(ctx context.Context, model string, e Event) error {
	if _, err := d.Versions(ctx, model); err != nil {
		return err
	}
	unlock, err := d.lock(ctx, model)
	if err != nil {
		return err
	}
	defer unlock()
	if e.Version, err = d.Champion(ctx, model); isAbsent(err) || err != nil && ctx.Err() != nil {
		return fmt.Errorf("retiring: %w", err)
	}
	if e.Action == "" {
		e.Action = Retired
	}
	return d.point(model, e, func(_, pointer string) error { return os.Remove(pointer) })
}

// Record implements Store.
func (d *Dir) Record(ctx context.Context, model string, e Event) error {
	if _, err := d.Versions(ctx, model); err != nil {
		return err
	}
	unlock, err := d.lock(ctx, model)
	if err != nil {
		return err
	}
	defer unlock()
	return d.appendHistory(model, e)
}

// appendHistory writes e after the last whole line. A line that a crash left without an end is cut off.
func (d *Dir) appendHistory(model string, e Event) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("recording the history of model %q: %w", model, err)
		}
	}()
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e.Time = e.Time.UTC()
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	path := filepath.Join(d.path, model, historyFile)
	before, err := readFile(path, historyLimit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	whole := int64(bytes.LastIndexByte(before, '\n') + 1)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Truncate(whole); err != nil {
		return err
	}
	if _, err := f.WriteAt(append(line, '\n'), whole); err != nil {
		return err
	}
	return f.Sync()
}

// historyLimit is the largest history in bytes, some 400,000 events.
const historyLimit = 64 << 20

// History implements Store. A last line without its end, which a crash can leave, is ignored.
func (d *Dir) History(ctx context.Context, model string) ([]Event, error) {
	if _, err := d.Versions(ctx, model); err != nil {
		return nil, err
	}
	data, err := readFile(filepath.Join(d.path, model, historyFile), historyLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &FileError{Model: model, File: historyFile, Err: err}
	}
	var events []Event
	for number, line := range slices.Collect(bytes.Lines(data[:bytes.LastIndexByte(data, '\n')+1])) {
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, &FileError{Model: model, File: historyFile, Err: fmt.Errorf("line %d: %w", number+1, err)}
		}
		events = append(events, e)
	}
	return events, nil
}

// lock excludes other writers of the model until the returned function is called, and removes the temporary files of dead
// ones.
func (d *Dir) lock(ctx context.Context, model string) (unlock func(), err error) {
	dir := filepath.Join(d.path, model)
	l := flock.New(filepath.Join(dir, lockFile))
	if _, err := l.TryLockContext(ctx, lockPoll); err != nil {
		return nil, fmt.Errorf("locking model %q: %w", model, err)
	}
	unlock = func() { _ = l.Close() } // a lock that cannot be released ends with the process
	left, err := filepath.Glob(filepath.Join(dir, tempPrefix+"*"))
	pointers, e := filepath.Glob(filepath.Join(dir, "."+championFile+"*")) // of renameio
	err = errors.Join(err, e)
	for _, path := range append(left, pointers...) {
		err = errors.Join(err, os.RemoveAll(path))
	}
	if err != nil {
		unlock()
		return nil, fmt.Errorf("clearing temporary files of model %q: %w", model, err)
	}
	return unlock, nil
}

// Verify implements Store.
func (d *Dir) Verify(ctx context.Context, progress func(done, total int)) ([]*FileError, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, fmt.Errorf("listing the model store: %w", err)
	}
	done, total := 0, 0
	for _, e := range entries {
		versions, _ := d.Versions(ctx, e.Name()) // errors are reported below
		total += len(versions)
	}
	step := func() {
		done++
		if progress != nil {
			progress(done, total)
		}
	}
	var damaged []*FileError
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, "."):
		case !e.IsDir() || !validName(name):
			damaged = append(damaged, &FileError{File: name, Err: errUnexpected})
		default:
			found, err := d.verifyModel(ctx, name, step)
			if err != nil {
				return damaged, err
			}
			damaged = append(damaged, found...)
		}
	}
	return damaged, nil
}

func (d *Dir) verifyModel(ctx context.Context, model string, step func()) ([]*FileError, error) {
	var found []*FileError
	add := func(err error) error {
		if e, ok := errors.AsType[*FileError](err); ok {
			found = append(found, e)
			return nil
		}
		return err
	}
	entries, err := os.ReadDir(filepath.Join(d.path, model))
	if err != nil {
		return nil, fmt.Errorf("listing the model store: %w", err)
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, "."):
		case name == championFile: // read below, since it may be missing
		case name == historyFile:
			_, err = d.History(ctx, model)
		case !e.IsDir() || !validVersion(name):
			err = &FileError{Model: model, File: name, Err: errUnexpected}
		default:
			_, bad := d.read(ctx, model, name)
			found = append(found, bad...)
			err = ctx.Err()
			step()
		}
		if err = add(err); err != nil {
			return found, err
		}
	}
	if _, err := d.Champion(ctx, model); err != nil && !isAbsent(err) {
		if err := add(err); err != nil {
			return found, err
		}
	}
	return found, nil
}

// sortedNames returns the names of files that a version may hold.
func sortedNames() []string { return slices.Sorted(maps.Keys(limits)) }
