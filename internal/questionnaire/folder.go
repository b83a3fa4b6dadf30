package questionnaire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"
)

// The files of the output folder of a fit, besides AgesFile and AgesPlot.
const (
	ScoresFile   = "scores.csv"
	TableFile    = "loadings.csv"
	ReportFile   = "report.html"
	HeatMapFile  = "loadings.svg"
	HeatMapImage = "loadings.png"
	ResultFile   = "result.json"
	// CompactFile is the table of the items that estimate the scores of a second stage.
	CompactFile = "compact.csv"
	// The model.
	ModelFile    = "model.json"
	LoadingsFile = "model.safetensors"
	SumsFile     = "SHA256SUMS"
)

const (
	// stagingDir is where a fit is written before it replaces an older one, on the same file system as its place.
	stagingDir = ".fit"
	// lockFile stays: were it removed, two writers could hold locks of two files of this name.
	lockFile = ".lock"
	// lockPoll is how often a writer looks whether the lock is free.
	lockPoll = 20 * time.Millisecond
)

// files are the names of all that some fit writes, those that vouch for others first.
func files() []string {
	return []string{ResultFile, SumsFile, ModelFile, LoadingsFile, ScoresFile, TableFile, ReportFile, HeatMapFile, HeatMapImage, CompactFile, AgesFile, AgesPlot}
}

// CheckFolder returns an error where a fit that writes into the folder would replace a file that it reads.
func CheckFolder(dir string, inputs ...string) error {
	for _, name := range files() {
		for _, input := range inputs {
			if path := filepath.Join(dir, name); same(path, input) {
				return fmt.Errorf("%q is read and would be replaced; take another output folder", path)
			}
		}
	}
	return nil
}

// CheckScoresFile returns an error where scores in the file at path would replace the answers that they are made from, or a
// file of the model in the folder dir.
func CheckScoresFile(path, input, dir string) error {
	if same(path, input) {
		return fmt.Errorf("%q is read and would be replaced; take another file for the scores", path)
	}
	for _, name := range files() {
		if same(path, filepath.Join(dir, name)) || filepath.Base(path) == name && same(filepath.Dir(path), dir) {
			return fmt.Errorf("%q is a file of the model; take another one for the scores", path)
		}
	}
	return nil
}

// same reports whether two paths lead to one file or folder, by whatever links.
func same(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// Write puts everything into a folder, made where it is missing. It is written beside the older fit first, so that an error
// leaves that as it was; then all of the older fit goes before the new files come, so that wherever the process ends no file
// stands beside those of another fit. result.json comes last. Another writer is waited for. The summary's path of the input becomes
// that from the folder.
func (f *Fitted) Write(ctx context.Context, dir string) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the output folder: %w", err)
	}
	lock := flock.New(filepath.Join(dir, lockFile), flock.SetPermissions(0o644)) // whoever may write into the folder may lock it
	if _, err := lock.TryLockContext(ctx, lockPoll); err != nil {
		return fmt.Errorf("locking the output folder %q: %w", dir, err)
	}
	defer func() { _ = lock.Close() }() // a lock that cannot be released ends with the process
	staging := filepath.Join(dir, stagingDir)
	if err := os.RemoveAll(staging); err != nil { // of a writer that was killed
		return fmt.Errorf("clearing away an unfinished fit: %w", err)
	}
	if err := os.Mkdir(staging, 0o700); err != nil {
		return fmt.Errorf("writing into the output folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(staging)) }()
	if f.Summary.Settings.InputSHA256 != "" {
		f.Summary.Settings.Input = from(dir, f.input)
	}
	if err := f.stage(staging); err != nil {
		return err
	}
	return swap(dir, staging)
}

// stage writes everything into an empty folder.
func (f *Fitted) stage(dir string) error {
	tables := map[string]func() ([]byte, error){ScoresFile: f.Scores.CSV, TableFile: f.loadingsCSV}
	if len(f.Summary.Compact) > 0 {
		tables[CompactFile] = f.compactCSV
	}
	for name, table := range tables {
		data, err := table()
		if err == nil {
			err = replace(filepath.Join(dir, name), data)
		}
		if err != nil {
			return err
		}
	}
	if err := f.save(dir); err != nil {
		return err
	}
	if err := f.WriteReport(dir, nil); err != nil {
		return err
	}
	result, err := json.MarshalIndent(f.Summary, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %q: %w", ResultFile, err)
	}
	return replace(filepath.Join(dir, ResultFile), append(result, '\n'))
}

// swap puts the files of a fit in the place of all those of an older one: those that vouch for others go first and come last.
func swap(dir, staging string) error {
	for _, name := range files() {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("replacing %q: %w", name, err)
		}
	}
	for _, name := range slices.Backward(files()) {
		if err := os.Rename(filepath.Join(staging, name), filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("replacing %q: %w", name, err)
		}
	}
	return nil
}

// from returns the path as it is from the folder, both without links; as it was where there is no such way.
func from(dir, path string) string {
	whole := func(path string) (string, error) {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return "", err
		}
		return filepath.EvalSymlinks(absolute)
	}
	start, err := whole(dir)
	if err != nil {
		return path
	}
	end, err := whole(path)
	if err != nil {
		return path
	}
	if relative, err := filepath.Rel(start, end); err == nil {
		return relative
	}
	return path
}

// replace writes a file so that it is there whole or not at all.
func replace(path string, data []byte) error {
	err := renameio.WriteFile(path, data, 0o644, renameio.WithTempDir(filepath.Dir(path)))
	if err == nil {
		return nil
	}
	// Both name a temporary file.
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	} else if at, ok := errors.AsType[*os.LinkError](err); ok {
		err = at.Err
	}
	return fmt.Errorf("writing %q: %w", path, err)
}
