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
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/wardcast/wardcast/models/safetensors"
)

var (
	errUnexpected = errors.New("unexpected file")
	errChanged    = errors.New("sha256 does not match")
)

// Load reads a version and checks all of it against its manifest. The error joins a *FileError for each damaged file.
func (s *Store) Load(ctx context.Context, model, version string) (*Bundle, error) {
	if !validName(model) || !validVersion(version) {
		return nil, fmt.Errorf("model %q, version %q: %w", model, version, ErrNotFound)
	}
	if info, err := os.Lstat(filepath.Join(s.path, model, version)); err != nil || !info.IsDir() {
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

// read reads a version and returns a *FileError for each damaged file, in which case the bundle is not whole. It stops early
// when the context ends.
func (s *Store) read(ctx context.Context, model, version string) (_ *Bundle, damaged []error) {
	bad := func(file string, err error) {
		damaged = append(damaged, &FileError{Model: model, Version: version, File: file, Err: err})
	}
	dir := filepath.Join(s.path, model, version)
	entries, err := os.ReadDir(dir)
	if err != nil {
		bad(".", err)
	}
	for _, e := range entries {
		if _, ok := limits[e.Name()]; !ok && e.Name() != manifestFile {
			bad(e.Name(), errUnexpected)
		}
	}
	b := &Bundle{Version: version}
	if err := b.readManifest(dir, model); err != nil {
		bad(manifestFile, err) // the other files cannot be judged without it
		return b, damaged
	}
	for _, name := range sortedNames() {
		if ctx.Err() != nil {
			return b, damaged
		}
		want := b.Manifest.Files[name]
		data, err := readFile(filepath.Join(dir, name), limits[name])
		switch {
		case err != nil:
		case int64(len(data)) != want.Size:
			err = fmt.Errorf("%d bytes, the manifest says %d", len(data), want.Size)
		case fileOf(data) != want:
			err = errChanged
		default:
			err = b.parse(name, data)
		}
		if err != nil {
			bad(name, err)
		}
	}
	return b, damaged
}

func (b *Bundle) readManifest(dir, model string) error {
	data, err := readFile(filepath.Join(dir, manifestFile), manifestLimit)
	if err != nil {
		return err
	}
	b.SHA256 = fileOf(data).SHA256
	if suffix := b.Version[len(b.Version)-suffixDigits:]; b.SHA256[:suffixDigits] != suffix {
		return fmt.Errorf("sha256 does not begin with %s", suffix)
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
	dir := filepath.Join(s.path, b.Manifest.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("saving model %q: %w", b.Manifest.Name, err)
	}
	if err := s.locked(ctx, b.Manifest.Name, func() error { return addVersion(ctx, dir, b.Version, files) }); err != nil {
		return "", fmt.Errorf("saving model %q: %w", b.Manifest.Name, err)
	}
	return b.Version, nil
}

// addVersion writes the files under a temporary name and renames the folder.
func addVersion(ctx context.Context, dir, version string, files map[string][]byte) (err error) {
	target := filepath.Join(dir, version)
	if _, err := os.Lstat(target); err == nil {
		before, err := readFile(filepath.Join(target, manifestFile), manifestLimit)
		if err == nil && !bytes.Equal(before, files[manifestFile]) {
			err = fmt.Errorf("version %q exists and is another: %w", version, fs.ErrExist)
		}
		return err
	}
	temp, err := os.MkdirTemp(dir, tempPrefix)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(temp))
		}
	}()
	if err := os.Chmod(temp, 0o755); err != nil {
		return err
	}
	for name, data := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := writeFile(temp, name, data); err != nil {
			return err
		}
	}
	if err := syncDir(temp); err != nil {
		return err
	}
	if err := os.Rename(temp, target); err != nil {
		return err
	}
	return errors.Join(syncDir(dir), syncDir(filepath.Dir(dir)))
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

// readFile reads a regular file of at most limit bytes. Links, devices and folders are refused.
func readFile(path string, limit int64) ([]byte, error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, reason(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case info.Size() > limit:
		return nil, fmt.Errorf("%d bytes, must be at most %d", info.Size(), limit)
	}
	data, err := os.ReadFile(path)
	return data, reason(err)
}

// reason cuts the path from an error, since FileError names it already.
func reason(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

// writeFile writes and syncs a file, completely or not at all.
func writeFile(dir, name string, data []byte) error {
	return renameio.WriteFile(filepath.Join(dir, name), data, 0o644, renameio.WithTempDir(dir))
}

func syncDir(path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Sync()
}
