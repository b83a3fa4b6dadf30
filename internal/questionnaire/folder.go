package questionnaire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

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

// Write puts everything into a folder, made where it is missing. All of an older fit goes first, so that wherever writing ends
// no file stands beside those of another fit; result.json comes last.
func (f *Fitted) Write(dir string) error {
	tables := map[string]func() ([]byte, error){ScoresFile: f.Scores.CSV, TableFile: f.loadingsCSV}
	if len(f.Summary.Compact) > 0 {
		tables[CompactFile] = f.compactCSV
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the output folder: %w", err)
	}
	if f.input != "" {
		f.Summary.Settings.Input = from(dir, f.input)
	}
	result, err := json.MarshalIndent(f.Summary, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %q: %w", ResultFile, err)
	}
	for _, name := range files() {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("replacing %q: %w", name, err)
		}
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
	return replace(filepath.Join(dir, ResultFile), append(result, '\n'))
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
