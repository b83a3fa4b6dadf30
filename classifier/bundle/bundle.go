// Package bundle is one version of a model as plain data: what the manifest says of it, its vocabulary, its tensors,
// its report, and the files that hold all this. It fits nothing and scores nothing: package classifier makes the scorer
// of a Bundle, and package models stores it.
package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/wardcast/wardcast/solver/matrix/safetensors"
)

// Bundle is one version of a model. Package classifier and the trainer give the tensors and the raw JSON their meaning.
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

// Encode returns the bundle's files by name, and sets the fields that depend on them: format, hashes, files, version.
func (b *Bundle) Encode() (map[string][]byte, error) {
	m := &b.Manifest
	vocabulary, err := json.Marshal(b.Vocabulary)
	if err != nil {
		return nil, err
	}
	var tensors bytes.Buffer
	err = safetensors.Write(&tensors, b.Tensors, map[string]string{"name": m.Name, "format": Format})
	if err != nil {
		return nil, err
	}
	evaluation := []byte(b.Evaluation)
	if len(evaluation) == 0 {
		evaluation = []byte("{}")
	}
	if !json.Valid(evaluation) {
		return nil, errors.New("the evaluation is no JSON")
	}
	files := map[string][]byte{
		VocabularyFile: vocabulary, TensorsFile: tensors.Bytes(), EvaluationFile: evaluation, CardFile: []byte(b.Card),
	}
	if len(b.Report) > 0 {
		files[ReportFile] = b.Report
	}
	if len(b.Page) > 0 {
		files[PageFile] = b.Page
	}
	m.Format = Format
	m.Files = map[string]File{}
	for name, data := range files {
		m.Files[name] = FileOf(data)
	}
	m.VocabularySHA256 = m.Files[VocabularyFile].SHA256
	m.CreatedAt = m.CreatedAt.UTC()
	manifest, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	files[ManifestFile] = append(manifest, '\n')
	if _, err := ParseManifest(files[ManifestFile]); err != nil {
		return nil, err
	}
	b.SHA256 = FileOf(files[ManifestFile]).SHA256
	b.Version = VersionName(m.CreatedAt, b.SHA256)
	return files, nil
}

// FileOf describes a file of this content.
func FileOf(data []byte) File {
	sum := sha256.Sum256(data)
	return File{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(data))}
}

// Parse sets the part of the bundle that the named file holds.
func (b *Bundle) Parse(name string, data []byte) (err error) {
	switch name {
	case VocabularyFile:
		return json.Unmarshal(data, &b.Vocabulary)
	case EvaluationFile:
		if !json.Valid(data) {
			return errors.New("no JSON")
		}
		b.Evaluation = data
	case CardFile:
		b.Card = string(data)
	case ReportFile:
		if !json.Valid(data) {
			return errors.New("no JSON")
		}
		b.Report = data
	case PageFile:
		b.Page = data
	case TensorsFile:
		b.Tensors, _, err = safetensors.Read(data)
	}
	return err
}

// MarshalBinary returns the files of the version, so that another process can save it.
func (b *Bundle) MarshalBinary() ([]byte, error) {
	files, err := b.Encode()
	if err != nil {
		return nil, fmt.Errorf("writing model %q: %w", b.Manifest.Name, err)
	}
	var out bytes.Buffer
	err = gob.NewEncoder(&out).Encode(files)
	return out.Bytes(), err
}

// UnmarshalBinary reads what MarshalBinary wrote.
func (b *Bundle) UnmarshalBinary(data []byte) error {
	var files map[string][]byte
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&files); err != nil {
		return fmt.Errorf("reading a model: %w", err)
	}
	m, err := ParseManifest(files[ManifestFile])
	if err != nil {
		return fmt.Errorf("reading a model: %w", err)
	}
	b.Manifest = *m
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		if err := b.Parse(name, files[name]); err != nil {
			return fmt.Errorf("reading %s of model %q: %w", name, m.Name, err)
		}
	}
	b.Manifest.Files, b.Manifest.VocabularySHA256 = nil, "" // which Save sets, as for a model that was never saved
	return nil
}
