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
	"strings"
	"time"

	"github.com/wardcast/wardcast/solver/matrix/safetensors"
)

// Bundle is one version of a model. Package classifier and the trainer give the tensors and the raw JSON their meaning.
type Bundle struct {
	Manifest   Manifest
	Vocabulary []Term
	Tensors    Tensors
	Evaluation json.RawMessage
	Card       string // Markdown
	// Report and Page are what the card is drawn from, as JSON and as HTML. Encode writes {} for an absent Report.
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
	files := map[string][]byte{
		VocabularyFile: vocabulary, TensorsFile: tensors.Bytes(), CardFile: []byte(b.Card), PageFile: b.Page,
	}
	for name, data := range map[string][]byte{EvaluationFile: b.Evaluation, ReportFile: b.Report} {
		if !json.Valid(data) {
			return nil, fmt.Errorf("%s is not JSON", name)
		}
		files[name] = data
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
		b.Vocabulary, err = parseVocabulary(data)
	case EvaluationFile:
		b.Evaluation, err = data, checkJSON(data)
	case CardFile:
		b.Card = string(data)
	case ReportFile:
		b.Report, err = data, checkJSON(data)
	case PageFile:
		b.Page = data
	case TensorsFile:
		b.Tensors, _, err = safetensors.Read(data)
	}
	return err
}

func checkJSON(data []byte) error {
	if !json.Valid(data) {
		return errors.New("not JSON")
	}
	return CheckValues(data)
}

// parseVocabulary decodes the terms one by one, since a file may hold far more than any training makes.
func parseVocabulary(data []byte) (terms []Term, err error) {
	if bytes.Count(data, []byte(",")) > maxCommas {
		return nil, fmt.Errorf("more than %d values", maxCommas)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	begin, err := d.Token()
	if err == nil && begin != nil && begin != json.Delim('[') { // a bundle without terms has null
		err = errors.New("not a list of terms")
	}
	for err == nil && begin != nil && d.More() {
		if len(terms) == maxTerms {
			return nil, fmt.Errorf("more than %d terms", maxTerms)
		}
		terms = append(terms, Term{})
		err = d.Decode(&terms[len(terms)-1])
	}
	if err == nil && begin != nil {
		_, err = d.Token()
	}
	if err == nil && len(bytes.TrimSpace(data[d.InputOffset():])) > 0 {
		err = errors.New("text behind the terms")
	}
	return terms, err
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

// Other is the name of the model for complaints without a model of their own.
const Other = "_other"

// Bounds of a model's name in bytes: of all of it, and of what Slug keeps of the complaint.
const (
	maxName = 128
	maxSlug = 80
)

// reserved are the files and folders of a store next to those of the models.
var reserved = []string{"champion", "generations", "beds"}

// Slug returns the name of the model for a complaint. Complaints that differ only in case and white space are one
// complaint; others have other names:
//
//	"Lower  Extremity Injury"  lower-extremity-injury
//	"n/v"                      n-v_56310e0e
//	""                         _other
//
// Words of a-z and 0-9 are joined by '-'. If that loses anything of the folded complaint, or the store has a file or
// folder of that name, eight digits of its SHA-256 follow after a '_', which no lossless name holds. Complaints that
// lose something and share the remaining words differ in these 32 bits only: two of a thousand would share a name with
// a probability of 1e-4.
func Slug(complaint string) string {
	words := strings.Fields(strings.ToLower(complaint))
	if len(words) == 0 {
		return Other
	}
	folded := strings.Join(words, " ")
	slug := strings.Join(strings.FieldsFunc(folded, func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9')
	}), "-")
	if len(slug) <= maxSlug && slug == strings.ReplaceAll(folded, " ", "-") && !strings.Contains(folded, "-") &&
		!slices.Contains(reserved, slug) {
		return slug
	}
	slug = strings.TrimRight(slug[:min(len(slug), maxSlug)], "-")
	sum := sha256.Sum256([]byte(folded))
	return slug + "_" + hex.EncodeToString(sum[:4])
}

// ValidModel reports whether name may be the folder of a model: of Slug's alphabet, and not one of the store's own.
func ValidModel(name string) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyz0123456789-_"
	return name != "" && len(name) <= maxName && strings.Trim(name, allowed) == "" && !slices.Contains(reserved, name)
}

// versionLayout is the time in a version's name, in UTC; suffixDigits of the manifest's SHA-256 follow behind a '-'.
const (
	versionLayout = "2006-01-02T15-04-05Z"
	suffixDigits  = 6
)

// VersionName returns the name of the version made then, with that hexadecimal SHA-256 of its manifest.
func VersionName(created time.Time, manifestSHA256 string) string {
	return created.UTC().Format(versionLayout) + "-" + manifestSHA256[:suffixDigits]
}

// OfVersion reports whether a file with that hexadecimal SHA-256 may be the one that the version is named after.
func OfVersion(version, sha256 string) bool {
	return strings.HasSuffix(version, "-"+sha256[:suffixDigits])
}

// Created returns the time in the name of a version, which ValidVersion has checked.
func Created(version string) time.Time {
	created, _ := time.Parse(versionLayout, version[:len(versionLayout)])
	return created
}

// ValidVersion reports whether name is one that VersionName can return.
func ValidVersion(name string) bool {
	stamp, suffix, _ := strings.Cut(name, "Z-")
	t, err := time.Parse(versionLayout, stamp+"Z")
	return err == nil && t.Format(versionLayout)+"-"+suffix == name && len(suffix) == suffixDigits &&
		strings.Trim(suffix, "0123456789abcdef") == ""
}
