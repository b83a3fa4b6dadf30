package models

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// ErrNotFound is wrapped if there is no such model, version or champion.
var ErrNotFound = errors.New("not found")

const (
	championFile = "champion"
	historyFile  = "history.jsonl"
	lockFile     = ".lock"
	tempPrefix   = ".tmp-"

	// historyLimit is the largest history in bytes, some 400,000 events.
	historyLimit = 64 << 20

	// lockPoll is how often a writer looks whether the lock is free.
	lockPoll = 20 * time.Millisecond
)

// Store keeps versions of models in a directory.
type Store struct{ path string }

// OpenDir returns the store on the directory at path, which the first Save creates.
func OpenDir(path string) *Store { return &Store{path: path} }

// Action is what happened to a version.
type Action string

// The actions.
const (
	Promoted Action = "promoted"
	Retired  Action = "retired"
)

// Event is a line of a model's history.
type Event struct {
	Time     time.Time `json:"time"`
	Action   Action    `json:"action"`
	Version  string    `json:"version"`
	Previous string    `json:"previous,omitempty"` // champion before a promotion
	By       string    `json:"by,omitempty"`       // who or what: "train", "retrain", …
	Reason   string    `json:"reason,omitempty"`
}

// FileError says what is wrong with a file of the store.
type FileError struct {
	Model   string
	Version string // "" for files outside the versions
	File    string
	Err     error
}

// Error names the model, the version, the file and the reason.
func (e *FileError) Error() string {
	if e.Version == "" {
		return fmt.Sprintf("model %q: file %q: %v", e.Model, e.File, e.Err)
	}
	return fmt.Sprintf("model %q, version %q: file %q: %v", e.Model, e.Version, e.File, e.Err)
}

// Unwrap returns the reason.
func (e *FileError) Unwrap() error { return e.Err }

// Create makes the directory of the store if it is missing, and returns an error if nothing can be written to it.
func (s *Store) Create() error {
	err := os.MkdirAll(s.path, 0o755)
	if err == nil {
		var probe string
		if probe, err = os.MkdirTemp(s.path, tempPrefix); err == nil {
			err = os.Remove(probe)
		}
	}
	if err != nil {
		return fmt.Errorf("opening the model store: %s: %w", s.path, reason(err))
	}
	return nil
}

// Models returns the names of all models, sorted.
func (s *Store) Models(ctx context.Context) ([]string, error) {
	return folders(ctx, s.path, validName)
}

// Versions returns the versions of a model, oldest first.
func (s *Store) Versions(ctx context.Context, model string) ([]string, error) {
	if !validName(model) {
		return nil, fmt.Errorf("model %q: %w", model, ErrNotFound)
	}
	return folders(ctx, filepath.Join(s.path, model), validVersion)
}

// folders returns the sorted names of the sub-directories of path that valid accepts, without symbolic links.
func folders(ctx context.Context, path string, valid func(string) bool) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	if err != nil {
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

// Champion returns the version of the model that is in use, an error that wraps ErrNotFound if there is none. For the model
// of all complaints the error is a *FileError if the history tells of a champion, which was lost.
func (s *Store) Champion(ctx context.Context, model string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if !validName(model) {
		return "", fmt.Errorf("model %q: %w", model, ErrNotFound)
	}
	data, err := readFile(filepath.Join(s.path, model, championFile), maxName)
	if errors.Is(err, fs.ErrNotExist) {
		if s.lost(ctx, model) {
			return "", &FileError{Model: model, File: championFile, Err: fmt.Errorf("%w, though the history tells of a champion", ErrNotFound)}
		}
		return "", fmt.Errorf("champion of model %q: %w", model, ErrNotFound)
	}
	version := strings.TrimSuffix(string(data), "\n")
	if err == nil && !validVersion(version) {
		err = errors.New("holds no version")
	}
	if err == nil {
		if _, e := os.Lstat(filepath.Join(s.path, model, version)); e != nil {
			err = fmt.Errorf("version %q: %w", version, ErrNotFound)
		}
	}
	if err != nil {
		return "", &FileError{Model: model, File: championFile, Err: err}
	}
	return version, nil
}

// lost reports whether a missing pointer was lost. Only the model of all complaints can tell: others have none if a crash came
// between the record of their first promotion and the pointer. A damaged history is reported elsewhere.
func (s *Store) lost(ctx context.Context, model string) bool {
	if model != Other {
		return false
	}
	events, _ := s.History(ctx, model)
	return len(events) > 0 && events[len(events)-1].Action != Retired
}

// Champions returns the champion of each model that has one. It reads no version, so that it is cheap to poll for changes.
// Damaged pointers are left out of the map and joined in the error.
func (s *Store) Champions(ctx context.Context) (map[string]string, error) {
	names, err := s.Models(ctx)
	if err != nil {
		return nil, err
	}
	champions := map[string]string{}
	var errs []error
	for _, model := range names {
		version, err := s.Champion(ctx, model)
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

// Promote makes e.Version, which must load, the champion of the model and records e, with Time, Action and Previous set.
func (s *Store) Promote(ctx context.Context, model string, e Event) error {
	if _, err := s.Load(ctx, model, e.Version); err != nil {
		return fmt.Errorf("promoting: %w", err)
	}
	return s.locked(ctx, model, func() error {
		// A damaged pointer has no previous version; promoting repairs it.
		e.Previous, _ = s.Champion(ctx, model)
		e.Action = Promoted
		return s.point(model, e)
	})
}

// Retire leaves the model without a champion, so that its notes are scored by the model of all complaints, and records e,
// with Time, Action and Version set. The versions stay. The error wraps ErrNotFound if there is no champion; a damaged
// pointer is removed.
func (s *Store) Retire(ctx context.Context, model string, e Event) error {
	if _, err := s.Versions(ctx, model); err != nil {
		return err
	}
	return s.locked(ctx, model, func() (err error) {
		if e.Version, err = s.Champion(ctx, model); isAbsent(err) || err != nil && ctx.Err() != nil {
			return fmt.Errorf("retiring: %w", err)
		}
		e.Action = Retired
		return s.point(model, e)
	})
}

// point writes or removes the champion's pointer as e says. The history is written first: a crash in between leaves a record
// of a change that did not take effect, never a change without a record.
func (s *Store) point(model string, e Event) error {
	if err := s.record(model, e); err != nil {
		return fmt.Errorf("recording the history of model %q: %w", model, err)
	}
	dir := filepath.Join(s.path, model)
	var err error
	if e.Action == Promoted {
		err = writeFile(dir, championFile, []byte(e.Version+"\n"))
	} else {
		err = os.Remove(filepath.Join(dir, championFile))
	}
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("changing the champion of model %q: %w", model, err)
	}
	return nil
}

func (s *Store) record(model string, e Event) error {
	e.Time = time.Now().UTC()
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	dir := filepath.Join(s.path, model)
	before, err := readFile(filepath.Join(dir, historyFile), historyLimit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return writeFile(dir, historyFile, slices.Concat(wholeLines(before), line, []byte("\n")))
}

// wholeLines cuts off a last line without its end.
func wholeLines(data []byte) []byte { return data[:bytes.LastIndexByte(data, '\n')+1] }

// History returns what was recorded for a model, oldest first. A last line without its end is ignored.
func (s *Store) History(ctx context.Context, model string) ([]Event, error) {
	if _, err := s.Versions(ctx, model); err != nil {
		return nil, err
	}
	data, err := readFile(filepath.Join(s.path, model, historyFile), historyLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var events []Event
	for line := range bytes.Lines(wholeLines(data)) {
		var e Event
		if bad := json.Unmarshal(line, &e); bad != nil {
			err = fmt.Errorf("line %d: %w", len(events)+1, bad)
			break
		}
		events = append(events, e)
	}
	if err != nil {
		return nil, &FileError{Model: model, File: historyFile, Err: err}
	}
	return events, nil
}

// locked calls write while it excludes other writers of the model, with the temporary files of dead ones removed.
func (s *Store) locked(ctx context.Context, model string, write func() error) error {
	dir := filepath.Join(s.path, model)
	lock := flock.New(filepath.Join(dir, lockFile))
	if _, err := lock.TryLockContext(ctx, lockPoll); err != nil {
		return fmt.Errorf("locking model %q: %w", model, err)
	}
	defer func() { _ = lock.Close() }() // a lock that cannot be released ends with the process
	var err error
	for _, prefix := range []string{tempPrefix, "." + championFile, "." + historyFile} {
		left, e := filepath.Glob(filepath.Join(dir, prefix+"*"))
		err = errors.Join(err, e)
		for _, path := range left {
			err = errors.Join(err, os.RemoveAll(path))
		}
	}
	if err != nil {
		return fmt.Errorf("clearing temporary files of model %q: %w", model, err)
	}
	return write()
}

// Verify checks all files of the store and returns the damaged ones. Unfinished temporary files do not count. progress, if
// not nil, is called after each version.
func (s *Store) Verify(ctx context.Context, progress func(done, total int)) (damaged []*FileError, err error) {
	entries, err := os.ReadDir(s.path)
	if err != nil {
		return nil, fmt.Errorf("listing the model store: %w", err)
	}
	done, total := 0, 0
	for _, e := range entries {
		versions, _ := s.Versions(ctx, e.Name()) // errors are reported below
		total += len(versions)
	}
	step := func() {
		done++
		if progress != nil {
			progress(done, total)
		}
	}
	for _, e := range entries {
		var found []error
		switch name := e.Name(); {
		case strings.HasPrefix(name, "."):
		case !e.IsDir() || !validName(name):
			found = append(found, &FileError{File: name, Err: errUnexpected})
		default:
			found = s.verifyModel(ctx, name, step)
		}
		for _, err := range found {
			bad, ok := errors.AsType[*FileError](err)
			if !ok {
				return damaged, err
			}
			damaged = append(damaged, bad)
		}
	}
	return damaged, nil
}

// verifyModel returns a *FileError for each damaged file of a model, and other errors that it meets.
func (s *Store) verifyModel(ctx context.Context, model string, step func()) (found []error) {
	entries, err := os.ReadDir(filepath.Join(s.path, model))
	if err != nil {
		return []error{fmt.Errorf("listing the model store: %w", err)}
	}
	for _, e := range entries {
		switch name := e.Name(); {
		case strings.HasPrefix(name, "."):
		case name == championFile: // read below, since it may be missing
		case name == historyFile:
			if _, err := s.History(ctx, model); err != nil {
				found = append(found, err)
			}
		case !e.IsDir() || !validVersion(name):
			found = append(found, &FileError{Model: model, File: name, Err: errUnexpected})
		default:
			_, bad := s.read(ctx, model, name)
			if found = append(found, bad...); ctx.Err() != nil {
				return append(found, ctx.Err())
			}
			step()
		}
	}
	if _, err := s.Champion(ctx, model); err != nil && !isAbsent(err) {
		found = append(found, err)
	}
	return found
}
