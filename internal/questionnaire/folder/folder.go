// Package folder writes the output folder of a fit: the files of its model and of its report, all of them or none. It
// also writes the scores of new participants, and norms.
//
// Each file is complete or not there, and result.json comes last: if it is there, it describes the files next to it.
package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/wardcast/wardcast/internal/files"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/report"
	"github.com/wardcast/wardcast/internal/table"
)

// stagingPrefix begins the name of the folder where a fit is written first, on the same file system.
const stagingPrefix = ".fit-"

// names lists all files that a fit may write; files that validate others come first.
func names() []string {
	return []string{
		model.ResultFile, model.SumsFile, model.ModelFile, model.LoadingsFile, model.ScoresFile, model.TableFile,
		report.File, report.HeatMapFile, report.HeatMapImage, model.CompactFile, model.IntervalsFile,
		model.CarelessFile, report.CompactPlot, report.AgesFile, report.AgesPlot,
	}
}

// Check returns an error if a fit that writes into the folder would replace a file that it reads.
func Check(dir string, inputs ...string) error {
	for _, name := range names() {
		for _, input := range inputs {
			if path := filepath.Join(dir, name); Same(path, input) {
				return fmt.Errorf("%q is read and would be replaced; take another output folder", path)
			}
		}
	}
	return nil
}

// CheckFile returns an error if a file at path would replace an input, or a file of the model in the folder dir.
func CheckFile(path, dir string, inputs ...string) error {
	for _, input := range inputs {
		if Same(path, input) {
			return fmt.Errorf("%q is read and would be replaced; take another file", path)
		}
	}
	for _, name := range names() {
		if Same(path, filepath.Join(dir, name)) || filepath.Base(path) == name && Same(filepath.Dir(path), dir) {
			return fmt.Errorf("%q is a file of the model; take another one", path)
		}
	}
	return nil
}

// Same reports whether two paths lead to one file or folder, by whatever links.
func Same(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// Write puts a fit and its report into a folder, which it creates if missing. It writes next to the older fit first, so
// that an error leaves the older one unchanged. Then it removes all of the older fit before the new files, so that
// files of two fits are never mixed, even if the process is killed. It waits for another writer. The summary's path of
// the input becomes that from the folder.
func Write(ctx context.Context, dir string, f *model.Fitted) error {
	if err := makeFolder(dir); err != nil {
		return err
	}
	if f.Summary.Settings.InputSHA256 != "" { // a second stage has no input of its own
		f.Summary.Settings.Input = from(dir, f.Input)
	}
	contents, err := f.Files()
	if err != nil {
		return err
	}
	drawn, err := report.Files(&f.Model, nil)
	if err != nil {
		return err
	}
	maps.Copy(contents, drawn)
	place := files.Folder{Path: dir, Folders: 0o700, Files: 0o600, Lock: 0o600}
	return place.Locked(ctx, "", stagingPrefix, func() error {
		staging, err := place.Stage(ctx, "", stagingPrefix, contents)
		if err != nil {
			return fmt.Errorf("writing into the output folder: %w", err)
		}
		return errors.Join(swap(dir, staging), os.RemoveAll(staging))
	})
}

func makeFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the output folder: %w", err)
	}
	return nil
}

// WriteFiles writes files into a folder, which it creates if missing: those of a report, for instance.
func WriteFiles(dir string, contents map[string][]byte) error {
	if err := makeFolder(dir); err != nil {
		return err
	}
	for name, data := range contents {
		if err := WriteFile(filepath.Join(dir, name), data); err != nil {
			return err
		}
	}
	return nil
}

// swap replaces all files of an older fit. Files that validate others are removed first and written last.
func swap(dir, staging string) error {
	for _, name := range names() {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("replacing %q: %w", name, err)
		}
	}
	for _, name := range slices.Backward(names()) {
		if err := os.Rename(filepath.Join(staging, name), filepath.Join(dir, name)); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("replacing %q: %w", name, err)
		}
	}
	return nil
}

// from returns the path as seen from the folder, both without links; the path itself if there is no relative one.
func from(dir, path string) string {
	whole := func(path string) (string, error) {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return "", err
		}
		return filepath.EvalSymlinks(absolute)
	}
	start, errStart := whole(dir)
	end, errEnd := whole(path)
	if relative, err := filepath.Rel(start, end); errors.Join(errStart, errEnd, err) == nil {
		return relative
	}
	return path
}

// WriteScores writes a file of scores, complete or not there, in the format of its extension: see table.CheckName.
func WriteScores(path string, s *model.Scores) error {
	return write(path, func(f *table.File) error { return f.WriteNumbers(s.Header(), s.IDs, s.Row) })
}

// WriteFile writes a file, complete or not there.
func WriteFile(path string, data []byte) error {
	return write(path, func(f *table.File) error { _, err := f.Write(data); return err })
}

// write writes a file so that it is complete or not there.
func write(path string, contents func(*table.File) error) error {
	f, err := table.CreateAny(path)
	if err == nil {
		defer func() { _ = f.Abort() }() // nothing is left to remove after Commit
		err = contents(f)
	}
	if err == nil {
		err = f.Commit()
	}
	if err != nil {
		return fmt.Errorf("writing %q: %w", path, err)
	}
	return nil
}
