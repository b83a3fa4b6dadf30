package factorize

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/models/safetensors"
)

// The files of the output folder.
const (
	FactorsFile = "factors.safetensors"
	ResultFile  = "result.json"
)

// write stores the factors, then the report. An older report goes first, so that none ever describes other factors.
func write(dir string, report *Report, topics, scores *mat.Dense) error {
	if err := os.Remove(filepath.Join(dir, ResultFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replacing %q: %w", ResultFile, err)
	}
	err := replace(dir, FactorsFile, func(w io.Writer) error {
		return safetensors.Write(w, []safetensors.Tensor{tensor("scores", scores), tensor("topics", topics)}, nil)
	})
	if err != nil {
		return err
	}
	return replace(dir, ResultFile, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(report)
	})
}

// replace writes a file so that it is there whole or not at all.
func replace(dir, name string, content func(io.Writer) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing %q: %w", name, err)
		}
	}()
	file, err := renameio.NewPendingFile(filepath.Join(dir, name), renameio.WithTempDir(dir), renameio.WithPermissions(0o644))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Cleanup()) }()
	if err := content(file); err != nil {
		return err
	}
	return file.CloseAtomicallyReplace()
}

// tensor returns the matrix under a name.
func tensor(name string, m *mat.Dense) safetensors.Tensor {
	raw := m.RawMatrix()
	data := raw.Data
	if raw.Stride != raw.Cols {
		data = mat.DenseCopyOf(m).RawMatrix().Data
	}
	return safetensors.Tensor{Name: name, Shape: []int{raw.Rows, raw.Cols}, Data: data}
}
