// Package bundle is one version of a model as plain data: what the manifest says of it, its vocabulary, its tensors,
// its report, and the files that hold all this. It fits nothing and scores nothing: package classifier makes the scorer
// of a Bundle, and package models stores it.
package bundle

import (
	"encoding/json"

	"github.com/wardcast/wardcast/solver/matrix/safetensors"
)

// Bundle is one version of a model. The meaning of the tensors and of the raw JSON is a matter of those who fit a model
// and those who score with it.
type Bundle struct {
	Manifest   Manifest
	Vocabulary []Term
	Tensors    Tensors
	Evaluation json.RawMessage
	Card       string // Markdown
	// Report and Page are what the card is drawn from, as JSON and as a page of HTML. A version may have none.
	Report json.RawMessage
	Page   []byte

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
type Tensors = safetensors.Tensors

// Tensor is an array of numbers.
type Tensor = safetensors.Tensor
