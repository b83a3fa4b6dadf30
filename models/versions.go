package models

import (
	"cmp"
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
	return s.read(ctx, model, version, (*bundle.Bundle).Parse)
}

// CheckVersion reads the files of a version and holds them against its manifest. It reads no meaning into them, so that
// it takes little more memory than the largest file. Errors as of Load.
func (s *Store) CheckVersion(ctx context.Context, model, version string) error {
	_, err := s.read(ctx, model, version, func(*bundle.Bundle, string, []byte) error { return nil })
	return err
}

// read reads a version. The files that are as the manifest says are handed to parse. If there is no file at all, the
// error wraps ErrNotFound, otherwise it joins a *FileError for each damaged file. It stops early when the context ends.
func (s *Store) read(ctx context.Context, model, version string,
	parse func(b *bundle.Bundle, file string, data []byte) error,
) (*bundle.Bundle, error) {
	b, err := named(model, version)
	if err != nil {
		return nil, err
	}
	var damaged []error
	bad := func(file string, err error) {
		damaged = append(damaged, fileError(FileError{Model: model, Version: version, File: file, Err: err}))
	}
	folder := path.Join(model, version)
	files, err := s.bucket.Files(ctx, folder)
	switch {
	case err != nil:
		bad(".", err)
	case len(files) == 0:
		return nil, &FileError{Model: model, Version: version, File: bundle.ManifestFile, Err: ErrNotFound}
	}
	for _, file := range files {
		name := strings.TrimPrefix(file, folder+"/")
		if bundle.Limit(name) == 0 {
			bad(name, errUnexpected)
		}
	}
	if err := s.readManifest(ctx, b, model); err != nil {
		bad(bundle.ManifestFile, err) // and without it b names no other file
	}
	for _, name := range slices.Sorted(maps.Keys(b.Manifest.Files)) {
		if ctx.Err() != nil {
			break
		}
		data, err := s.readFile(ctx, b, path.Join(folder, name))
		if err == nil {
			err = parse(b, name, data)
		}
		if err != nil {
			bad(name, err)
		}
	}
	if err := cmp.Or(ctx.Err(), errors.Join(damaged...)); err != nil {
		return nil, err
	}
	return b, nil
}

// named returns a bundle without contents, and an error unless a version can have these names.
func named(model, version string) (*bundle.Bundle, error) {
	if !bundle.ValidModel(model) || !bundle.ValidVersion(version) {
		return nil, listed("no version %q of model %q", version, model)
	}
	return &bundle.Bundle{Version: version}, nil
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
	b, err := named(model, version)
	if err != nil {
		return nil, err
	}
	bad := func(file string, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("reading: %w", fileError(FileError{Model: model, Version: version, File: file, Err: err}))
	}
	if err := s.readManifest(ctx, b, model); errors.Is(err, fs.ErrNotExist) {
		return nil, bad(bundle.ManifestFile, ErrNotFound)
	} else if err != nil {
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
