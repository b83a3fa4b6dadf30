package models

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/classifier/bundle"
)

var (
	errUnexpected      = errors.New("unexpected file")
	errChanged         = errors.New("sha256 does not match")
	errManifestChanged = errors.New("the manifest was changed: its checksum is not that of its name")
)

// Load reads a version and checks all of it against its manifest. The error joins a *FileError for each damaged file.
func (s *Store) Load(ctx context.Context, model, version string) (*bundle.Bundle, error) {
	if !bundle.ValidModel(model) || !bundle.ValidVersion(version) {
		return nil, listed("no version %q of model %q", version, model)
	}
	b, damaged := s.read(ctx, model, version, (*bundle.Bundle).Parse)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(damaged) > 0 {
		return nil, fmt.Errorf("loading: %w", errors.Join(damaged...))
	}
	return b, nil
}

// CheckVersion reads the files of a version and holds them against its manifest. It reads no meaning into them, so that
// it takes little more memory than the largest file. Errors as of Load.
func (s *Store) CheckVersion(ctx context.Context, model, version string) error {
	if !bundle.ValidModel(model) || !bundle.ValidVersion(version) {
		return listed("no version %q of model %q", version, model)
	}
	_, damaged := s.read(ctx, model, version, func(*bundle.Bundle, string, []byte) error { return nil })
	if err := ctx.Err(); err != nil {
		return err
	}
	return errors.Join(damaged...)
}

// read reads a version and returns a *FileError for each damaged file, in which case the bundle is not whole. The files
// that are as the manifest says are handed to parse. If there is no file at all, the error wraps ErrNotFound. It stops
// early when the context ends.
func (s *Store) read(ctx context.Context, model, version string,
	parse func(b *bundle.Bundle, file string, data []byte) error,
) (_ *bundle.Bundle, damaged []error) {
	bad := func(file string, err error) {
		damaged = append(damaged, fileError(FileError{Model: model, Version: version, File: file, Err: err}))
	}
	folder := path.Join(model, version)
	files, err := s.bucket.Files(ctx, folder)
	switch {
	case err != nil:
		bad(".", err)
	case len(files) == 0:
		bad(bundle.ManifestFile, ErrNotFound)
		return nil, damaged
	}
	for _, file := range files {
		name := strings.TrimPrefix(file, folder+"/")
		if bundle.Limit(name) == 0 {
			bad(name, errUnexpected)
		}
	}
	b := &bundle.Bundle{Version: version}
	if err := s.readManifest(ctx, b, model); err != nil {
		bad(bundle.ManifestFile, err) // the other files cannot be judged without it
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
func (s *Store) readFile(ctx context.Context, b *bundle.Bundle, file string) ([]byte, error) {
	name := path.Base(file)
	want := b.Manifest.Files[name]
	data, err := s.bucket.Read(ctx, file, bundle.Limit(name))
	switch {
	case err != nil:
		return nil, err
	case int64(len(data)) != want.Size:
		return nil, fmt.Errorf("%d bytes, the manifest says %d", len(data), want.Size)
	case bundle.FileOf(data) != want:
		return nil, errChanged
	}
	return data, nil
}

// Manifest reads the manifest of a version alone. Errors as of Load.
func (s *Store) Manifest(ctx context.Context, model, version string) (*bundle.Manifest, error) {
	b, err := s.describe(ctx, model, version)
	if err != nil {
		return nil, err
	}
	return &b.Manifest, nil
}

// Describe reads what people read of a version: manifest, card, report and page, which it checks as Load does, without
// its vocabulary, its tensors and its evaluation.
func (s *Store) Describe(ctx context.Context, model, version string) (*bundle.Bundle, error) {
	return s.describe(ctx, model, version, bundle.CardFile, bundle.ReportFile, bundle.PageFile)
}

// describe reads the manifest and those of the files that the version has.
func (s *Store) describe(ctx context.Context, model, version string, files ...string) (*bundle.Bundle, error) {
	if !bundle.ValidModel(model) || !bundle.ValidVersion(version) {
		return nil, listed("no version %q of model %q", version, model)
	}
	b := &bundle.Bundle{Version: version}
	bad := func(file string, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("reading: %w", fileError(FileError{Model: model, Version: version, File: file, Err: err}))
	}
	err := s.readManifest(ctx, b, model)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, bad(bundle.ManifestFile, ErrNotFound)
	case err != nil:
		return nil, bad(bundle.ManifestFile, err)
	}
	for _, name := range files {
		if _, has := b.Manifest.Files[name]; !has {
			continue
		}
		data, err := s.readFile(ctx, b, path.Join(model, version, name))
		if err == nil {
			err = b.Parse(name, data)
		}
		if err != nil {
			return nil, bad(name, err)
		}
	}
	return b, nil
}

func (s *Store) readManifest(ctx context.Context, b *bundle.Bundle, model string) error {
	file := path.Join(model, b.Version, bundle.ManifestFile)
	data, err := s.bucket.Read(ctx, file, bundle.Limit(bundle.ManifestFile))
	if err != nil {
		return err
	}
	b.SHA256 = digest(data)
	if !bundle.OfVersion(b.Version, b.SHA256) {
		return errManifestChanged
	}
	if err := s.heldTo(file, b.SHA256); err != nil {
		return err
	}
	m, err := bundle.ParseManifest(data)
	if err != nil {
		return err
	}
	if m.Name != model || bundle.VersionName(m.CreatedAt, b.SHA256) != b.Version {
		return fmt.Errorf("%w: it belongs to model %q, created at %v", bundle.ErrManifest, m.Name, m.CreatedAt)
	}
	b.Manifest = *m
	return nil
}

// Save adds a version and returns its name. It sets Version and SHA256 of the bundle, and in its manifest the format,
// the vocabulary's hash and the files. Saving the same bundle again changes nothing. What is read there from now on, or
// signed, is held against it.
func (s *Store) Save(ctx context.Context, b *bundle.Bundle) (string, error) {
	files, err := b.Encode()
	if err != nil {
		return "", fmt.Errorf("saving model %q: %w", b.Manifest.Name, err)
	}
	if err := s.bucket.AddFolder(ctx, path.Join(b.Manifest.Name, b.Version), files, bundle.ManifestFile); err != nil {
		return "", fmt.Errorf("saving model %q: %w", b.Manifest.Name, err)
	}
	s.vouched.Store(path.Join(b.Manifest.Name, b.Version, bundle.ManifestFile), b.SHA256)
	return b.Version, nil
}
