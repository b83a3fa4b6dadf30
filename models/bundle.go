package models

import (
	"encoding/json"
	"fmt"

	"github.com/wardcast/wardcast/models/safetensors"
)

// Bundle is one version of a model. The meaning of the tensors and of the raw JSON is a matter of those who fit a model and
// those who score with it.
type Bundle struct {
	Manifest   Manifest
	Vocabulary []Term
	Tensors    Tensors
	Evaluation json.RawMessage
	Card       string // Markdown

	// Version and SHA256, that of the manifest, are set by Load and Save.
	Version string
	SHA256  string
}

// Term is one column of the document-term matrix.
type Term struct {
	Text    string   `json:"text"`
	Surface []string `json:"surface"` // forms in the notes, the commonest first
	DF      int      `json:"df"`      // number of distinct visits whose notes hold the term
}

// Tensors maps names to arrays.
type Tensors map[string]Tensor

// Tensor is an array in row-major order, with Data as in safetensors.Tensor.
type Tensor struct {
	Shape []int
	Data  any
}

// Float64 returns the values of the named tensor, which are not copied. It is an error if the tensor is missing, has
// another shape (-1 stands for any size), or holds a value that is not a finite float64.
func (t Tensors) Float64(name string, shape ...int) ([]float64, error) {
	x, ok := t[name]
	if !ok {
		return nil, fmt.Errorf("tensor %q: %w", name, ErrNotFound)
	}
	return (&safetensors.Tensor{Name: name, Shape: x.Shape, Data: x.Data}).Float64(shape...)
}

// list returns the tensors for safetensors.Write, in no order.
func (t Tensors) list() []safetensors.Tensor {
	list := make([]safetensors.Tensor, 0, len(t))
	for name, x := range t {
		list = append(list, safetensors.Tensor{Name: name, Shape: x.Shape, Data: x.Data})
	}
	return list
}
