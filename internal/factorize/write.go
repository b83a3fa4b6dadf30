package factorize

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/files"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/matrix/safetensors"
)

// The files of the output folder.
const (
	FactorsFile = "factors.safetensors"
	ResultFile  = "result.json"
)

// makeFolder creates a folder and its missing parents. The returned function removes those that are still empty.
func makeFolder(path string) (undo func(), err error) {
	var made []string
	for dir := filepath.Clean(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, dir)
	}
	undo = func() {
		for _, dir := range made {
			_ = os.Remove(dir) // fails if it is not empty
		}
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		undo()
		return nil, fmt.Errorf("making the output folder: %w", err)
	}
	return undo, nil
}

// write stores the factors, then the report. An older report is removed first, so that a report never describes other
// factors. If the report cannot be encoded, nothing changes.
func write(dir string, report *Report, result *solver.Result) error {
	encoded, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %q: %w", ResultFile, err)
	}
	if err := os.Remove(filepath.Join(dir, ResultFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replacing %q: %w", ResultFile, err)
	}
	folder := files.Folder{Path: dir, Files: 0o644}
	var factors bytes.Buffer
	if err = safetensors.Write(&factors, tensors(result), nil); err == nil {
		err = folder.Write(FactorsFile, factors.Bytes())
	}
	if err != nil {
		return fmt.Errorf("writing %q: %w", FactorsFile, err)
	}
	if err := folder.Write(ResultFile, append(encoded, '\n')); err != nil {
		return fmt.Errorf("writing %q: %w", ResultFile, err)
	}
	return nil
}

// tensors returns the factors under their names, and the head of a supervised result.
func tensors(r *solver.Result) safetensors.Tensors {
	all := safetensors.Tensors{"scores": tensor(r.Scores), "topics": tensor(r.Topics)}
	if h := r.Head; h != nil {
		kappa := len(h.Intercept)
		all["coefficients"], all["intercept"] = tensor(h.Coefficients),
			safetensors.Tensor{Shape: []int{kappa}, Data: h.Intercept}
		all["aux_coefficients"] = safetensors.Tensor{Shape: []int{kappa, 0}}
		if h.AuxCoefficients != nil {
			all["aux_coefficients"] = tensor(h.AuxCoefficients)
		}
	}
	return all
}

func tensor(m *mat.Dense) safetensors.Tensor {
	raw := mat.DenseCopyOf(m).RawMatrix()
	return safetensors.Tensor{Shape: []int{raw.Rows, raw.Cols}, Data: raw.Data}
}
