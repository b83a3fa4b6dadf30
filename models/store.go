package models

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrNotFound is wrapped if there is no such model, version or champion.
var ErrNotFound = errors.New("not found")

// Store keeps versions of models. Implementations are safe for concurrent use.
type Store interface {
	// Models returns the names of all models, sorted.
	Models(ctx context.Context) ([]string, error)
	// Versions returns the versions of a model, oldest first.
	Versions(ctx context.Context, model string) ([]string, error)
	// Load reads a version and checks all of it against its manifest. The error joins a *FileError for each file that
	// is damaged.
	Load(ctx context.Context, model, version string) (*Bundle, error)
	// Save adds a version and returns its name. It sets Version and SHA256 of the bundle, and in its manifest the
	// format, the vocabulary's hash and the files. Saving the same bundle again changes nothing.
	Save(ctx context.Context, b *Bundle) (version string, err error)
	// Champion returns the version of the model that is in use, an error that wraps ErrNotFound if there is none. For the
	// model of all complaints the error is a *FileError if the history tells of a champion, which was lost.
	Champion(ctx context.Context, model string) (version string, err error)
	// Champions returns the champion of each model that has one. It reads no version, so that it is cheap to poll for
	// changes. Damaged pointers are left out of the map and joined in the error.
	Champions(ctx context.Context) (map[string]string, error)
	// Promote makes e.Version, which must load, the champion of the model and records e, with Previous set, and Action and
	// Time if they are zero.
	Promote(ctx context.Context, model string, e Event) error
	// Retire leaves the model without a champion, so that its notes are scored by the model of all complaints, and records
	// e, with Version set, and Action and Time if they are zero. The versions stay. The error wraps ErrNotFound if there is
	// no champion; a damaged pointer is removed.
	Retire(ctx context.Context, model string, e Event) error
	// Record appends e to the history, with Time set if it is zero.
	Record(ctx context.Context, model string, e Event) error
	// History returns what was recorded for a model, oldest first.
	History(ctx context.Context, model string) ([]Event, error)
	// Verify checks all files of the store and returns the damaged ones. Unfinished temporary files do not count. progress,
	// if not nil, is called after each version.
	Verify(ctx context.Context, progress func(done, total int)) ([]*FileError, error)
}

// Action is what happened to a version.
type Action string

// The actions.
const (
	Promoted   Action = "promoted"
	RolledBack Action = "rolled_back"
	Refused    Action = "refused"
	Retired    Action = "retired"
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
