package models

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/solver/safetensors"
)

var (
	errUnexpected = errors.New("unexpected file")
	errChanged    = errors.New("sha256 does not match")
)

// Load reads a version and checks all of it against its manifest. The error joins a *FileError for each damaged file.
func (s *Store) Load(ctx context.Context, model, version string) (*Bundle, error) {
	if !validModel(model) || !validVersion(version) {
		return nil, fmt.Errorf("model %q, version %q: %w", model, version, ErrNotFound)
	}
	b, damaged := s.read(ctx, model, version)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(damaged) > 0 {
		return nil, fmt.Errorf("loading: %w", errors.Join(damaged...))
	}
	return b, nil
}

// CheckVersion reads the files of a version and holds them against its manifest. It reads no meaning into them, so that it takes
// little more memory than the largest file. Errors as of Load.
func (s *Store) CheckVersion(ctx context.Context, model, version string) error {
	if !validModel(model) || !validVersion(version) {
		return fmt.Errorf("model %q, version %q: %w", model, version, ErrNotFound)
	}
	_, damaged := s.readFiles(ctx, model, version, func(*Bundle, string, []byte) error { return nil })
	if err := ctx.Err(); err != nil {
		return err
	}
	return errors.Join(damaged...)
}

// read reads a version and returns a *FileError for each damaged file, in which case the bundle is not whole. If there is no
// file at all, the error wraps ErrNotFound. It stops early when the context ends.
func (s *Store) read(ctx context.Context, model, version string) (_ *Bundle, damaged []error) {
	return s.readFiles(ctx, model, version, (*Bundle).parse)
}

// readFiles does as read, with the files that are as the manifest says handed to parse.
func (s *Store) readFiles(ctx context.Context, model, version string, parse func(b *Bundle, file string, data []byte) error) (_ *Bundle, damaged []error) {
	bad := func(file string, err error) {
		damaged = append(damaged, fileError(FileError{Model: model, Version: version, File: file, Err: err}))
	}
	folder := path.Join(model, version)
	files, err := s.bucket.Files(ctx, folder)
	switch {
	case err != nil:
		bad(".", err)
	case len(files) == 0:
		bad(manifestFile, ErrNotFound)
		return nil, damaged
	}
	for _, file := range files {
		name := strings.TrimPrefix(file, folder+"/")
		if _, ok := limits[name]; !ok && name != manifestFile {
			bad(name, errUnexpected)
		}
	}
	b := &Bundle{Version: version}
	if err := s.readManifest(ctx, b, model); err != nil {
		bad(manifestFile, err) // the other files cannot be judged without it
		return b, damaged
	}
	for _, name := range slices.Sorted(maps.Keys(b.Manifest.Files)) {
		if ctx.Err() != nil {
			return b, damaged
		}
		data, err := s.readFile(ctx, b, path.Join(folder, name))
		if err == nil {
			err = parse(b, name, data)
		}
		if err != nil {
			bad(name, err)
		}
	}
	return b, damaged
}

// readFile reads a file of a version and holds it against the manifest.
func (s *Store) readFile(ctx context.Context, b *Bundle, file string) ([]byte, error) {
	name := path.Base(file)
	want := b.Manifest.Files[name]
	data, err := s.bucket.Read(ctx, file, limits[name])
	switch {
	case err != nil:
		return nil, err
	case int64(len(data)) != want.Size:
		return nil, fmt.Errorf("%d bytes, the manifest says %d", len(data), want.Size)
	case fileOf(data) != want:
		return nil, errChanged
	}
	return data, nil
}

// Manifest reads the manifest of a version alone. Errors as of Load.
func (s *Store) Manifest(ctx context.Context, model, version string) (*Manifest, error) {
	b, err := s.describe(ctx, model, version)
	if err != nil {
		return nil, err
	}
	return &b.Manifest, nil
}

// Describe reads what people read of a version: manifest, card, report and page, which it checks as Load does, without its
// vocabulary, its tensors and its evaluation.
func (s *Store) Describe(ctx context.Context, model, version string) (*Bundle, error) {
	return s.describe(ctx, model, version, cardFile, reportFile, pageFile)
}

// describe reads the manifest and those of the files that the version has.
func (s *Store) describe(ctx context.Context, model, version string, files ...string) (*Bundle, error) {
	if !validModel(model) || !validVersion(version) {
		return nil, fmt.Errorf("model %q, version %q: %w", model, version, ErrNotFound)
	}
	b := &Bundle{Version: version}
	bad := func(file string, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("reading: %w", fileError(FileError{Model: model, Version: version, File: file, Err: err}))
	}
	err := s.readManifest(ctx, b, model)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, bad(manifestFile, ErrNotFound)
	case err != nil:
		return nil, bad(manifestFile, err)
	}
	for _, name := range files {
		if _, has := b.Manifest.Files[name]; !has {
			continue
		}
		data, err := s.readFile(ctx, b, path.Join(model, version, name))
		if err == nil {
			err = b.parse(name, data)
		}
		if err != nil {
			return nil, bad(name, err)
		}
	}
	return b, nil
}

func (s *Store) readManifest(ctx context.Context, b *Bundle, model string) error {
	data, err := s.bucket.Read(ctx, path.Join(model, b.Version, manifestFile), manifestLimit)
	if err != nil {
		return err
	}
	b.SHA256 = fileOf(data).SHA256
	if suffix := b.Version[len(b.Version)-suffixDigits:]; b.SHA256[:suffixDigits] != suffix {
		return errors.New("the manifest was changed: its checksum is not that of its name")
	}
	m, err := ParseManifest(data)
	if err != nil {
		return err
	}
	if m.Name != model || VersionName(m.CreatedAt, b.SHA256) != b.Version {
		return fmt.Errorf("%w: it belongs to model %q, created at %v", ErrManifest, m.Name, m.CreatedAt)
	}
	b.Manifest = *m
	return nil
}

// parse sets the part of the bundle that the named file holds.
func (b *Bundle) parse(name string, data []byte) (err error) {
	switch name {
	case vocabularyFile:
		return json.Unmarshal(data, &b.Vocabulary)
	case evaluationFile:
		if !json.Valid(data) {
			return errors.New("no JSON")
		}
		b.Evaluation = data
	case cardFile:
		b.Card = string(data)
	case reportFile:
		if !json.Valid(data) {
			return errors.New("no JSON")
		}
		b.Report = data
	case pageFile:
		b.Page = data
	case tensorsFile:
		b.Tensors, _, err = safetensors.Read(data)
	}
	return err
}

// Save adds a version and returns its name. It sets Version and SHA256 of the bundle, and in its manifest the format, the
// vocabulary's hash and the files. Saving the same bundle again changes nothing.
func (s *Store) Save(ctx context.Context, b *Bundle) (string, error) {
	files, err := b.encode()
	if err != nil {
		return "", fmt.Errorf("saving model %q: %w", b.Manifest.Name, err)
	}
	if err := s.bucket.AddFolder(ctx, path.Join(b.Manifest.Name, b.Version), files, manifestFile); err != nil {
		return "", fmt.Errorf("saving model %q: %w", b.Manifest.Name, err)
	}
	return b.Version, nil
}

// encode returns the bundle's files by name, and sets the fields that depend on them: format, hashes, files, version.
func (b *Bundle) encode() (map[string][]byte, error) {
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
		vocabularyFile: vocabulary, tensorsFile: tensors.Bytes(), evaluationFile: evaluation, cardFile: []byte(b.Card),
	}
	if len(b.Report) > 0 {
		files[reportFile] = b.Report
	}
	if len(b.Page) > 0 {
		files[pageFile] = b.Page
	}
	m.Format = Format
	m.Files = map[string]File{}
	for name, data := range files {
		m.Files[name] = fileOf(data)
	}
	m.VocabularySHA256 = m.Files[vocabularyFile].SHA256
	m.CreatedAt = m.CreatedAt.UTC()
	manifest, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	files[manifestFile] = append(manifest, '\n')
	if _, err := ParseManifest(files[manifestFile]); err != nil {
		return nil, err
	}
	b.SHA256 = fileOf(files[manifestFile]).SHA256
	b.Version = VersionName(m.CreatedAt, b.SHA256)
	return files, nil
}

func fileOf(data []byte) File {
	sum := sha256.Sum256(data)
	return File{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(data))}
}
