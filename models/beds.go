package models

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
)

// Fits of beds, to the store any JSON, lie next to the models: beds/<version>, with a manifest and checksum.
const (
	bedsFolder = "beds"
	fitFile    = "fit.json"
	fitLimit   = 64 << 20 // bytes
	bedsFormat = "wardcast-beds/1"
)

type bedsManifest struct {
	Format    string                 `json:"format"`
	CreatedAt time.Time              `json:"created_at"`
	Files     map[string]bundle.File `json:"files"`
}

// SaveBeds adds a fit of beds, which must be JSON, and returns its version. It is added whole or not at all. Saving the
// same fit of the same time again changes nothing.
func (s *Store) SaveBeds(ctx context.Context, created time.Time, fit []byte) (version string, err error) {
	if !json.Valid(fit) || len(fit) > fitLimit {
		return "", fmt.Errorf("saving a fit of beds: must be JSON of at most %d bytes", fitLimit)
	}
	m := bedsManifest{
		Format: bedsFormat, CreatedAt: created.UTC().Truncate(time.Second),
		Files: map[string]bundle.File{fitFile: bundle.FileOf(fit)},
	}
	manifest, err := json.MarshalIndent(&m, "", "  ")
	if err == nil {
		files := map[string][]byte{fitFile: fit, bundle.ManifestFile: append(manifest, '\n')}
		version = bundle.VersionName(m.CreatedAt, bundle.FileOf(files[bundle.ManifestFile]).SHA256)
		err = s.bucket.AddFolder(ctx, path.Join(bedsFolder, version), files, bundle.ManifestFile)
	}
	if err != nil {
		return "", fmt.Errorf("saving a fit of beds: %w", err)
	}
	return version, nil
}

// BedsVersions returns the completely written versions of fits of beds, oldest first; none is no error.
func (s *Store) BedsVersions(ctx context.Context) ([]string, error) {
	return s.versionsIn(ctx, bedsFolder)
}

// LoadBeds returns a fit of beds, held against its manifest. The error is a *FileError if a file is damaged.
func (s *Store) LoadBeds(ctx context.Context, version string) ([]byte, error) {
	if !bundle.ValidVersion(version) {
		return nil, fmt.Errorf("beds of version %q: %w", version, ErrNotFound)
	}
	bad := func(file string, err error) error {
		return fileError(FileError{File: path.Join(bedsFolder, version, file), Err: err})
	}
	manifest, err := s.bucket.Read(ctx, path.Join(bedsFolder, version, bundle.ManifestFile),
		bundle.Limit(bundle.ManifestFile))
	if err != nil {
		return nil, bad(bundle.ManifestFile, err)
	}
	var m bedsManifest
	switch {
	case !bundle.OfVersion(version, bundle.FileOf(manifest).SHA256):
		return nil, bad(bundle.ManifestFile, errManifestChanged)
	case json.Unmarshal(manifest, &m) != nil || m.Format != bedsFormat:
		return nil, bad(bundle.ManifestFile, fmt.Errorf("%w: the format is not %s", bundle.ErrManifest, bedsFormat))
	}
	fit, err := s.bucket.Read(ctx, path.Join(bedsFolder, version, fitFile), fitLimit)
	if err == nil && bundle.FileOf(fit) != m.Files[fitFile] {
		err = errChanged
	}
	if err != nil {
		return nil, bad(fitFile, err)
	}
	return fit, nil
}

func (v *verification) beds(ctx context.Context, parts []string) {
	version, file := parts[1], path.Join(parts[2:]...)
	switch {
	case !bundle.ValidVersion(version) || !slices.Contains([]string{fitFile, bundle.ManifestFile}, file):
		v.bad(&FileError{File: path.Join(parts...), Err: errUnexpected})
	case file == bundle.ManifestFile:
		_, err := v.store.LoadBeds(ctx, version)
		v.bad(err)
	}
}
