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
		version = bundle.VersionName(m.CreatedAt, digest(files[bundle.ManifestFile]))
		err = s.bucket.AddFolder(ctx, path.Join(bedsFolder, version), files, bundle.ManifestFile)
	}
	if err != nil {
		return "", fmt.Errorf("saving a fit of beds: %w", err)
	}
	s.vouched.Store(path.Join(bedsFolder, version, bundle.ManifestFile), digest(append(manifest, '\n')))
	return version, nil
}

// BedsVersions returns the completely written versions of fits of beds, oldest first; none is no error.
func (s *Store) BedsVersions(ctx context.Context) ([]string, error) {
	return s.versionsIn(ctx, bedsFolder)
}

// LoadBeds returns a fit of beds, held against its manifest. The error is a *FileError if a file is damaged, or if the
// fit is dated in the future.
func (s *Store) LoadBeds(ctx context.Context, version string) ([]byte, error) {
	m, _, err := s.bedsManifest(ctx, version)
	if err != nil {
		return nil, err
	}
	file := path.Join(bedsFolder, version, fitFile)
	fit, err := s.bucket.Read(ctx, file, fitLimit)
	if err == nil && bundle.FileOf(fit) != m.Files[fitFile] {
		err = errChanged
	}
	if err != nil {
		return nil, fileError(FileError{File: file, Err: err})
	}
	return fit, nil
}

// ahead is how far a fit of beds may be dated in the future, for clocks that differ.
const ahead = time.Hour

// bedsManifest reads the manifest of a fit of beds, and returns its SHA-256.
func (s *Store) bedsManifest(ctx context.Context, version string) (m bedsManifest, sum string, err error) {
	if !bundle.ValidVersion(version) {
		return m, "", fmt.Errorf("beds of version %q: %w", version, ErrNotFound)
	}
	file := path.Join(bedsFolder, version, bundle.ManifestFile)
	data, err := s.bucket.Read(ctx, file, bundle.Limit(bundle.ManifestFile))
	if err == nil {
		sum = digest(data)
		switch created := bundle.Created(version); {
		case !bundle.OfVersion(version, sum):
			err = errManifestChanged
		case json.Unmarshal(data, &m) != nil || m.Format != bedsFormat:
			err = fmt.Errorf("%w: the format is not %s", bundle.ErrManifest, bedsFormat)
		case created.After(time.Now().Add(ahead)):
			err = fmt.Errorf("the fit is dated in the future, at %s", created.Format(time.RFC3339))
		default:
			err = s.heldTo(file, sum)
		}
	}
	if err != nil {
		return m, "", fileError(FileError{File: file, Err: err})
	}
	return m, sum, nil
}

// BedsOf returns the version of the fit of beds that belongs to a generation, "" for none. One that an older wardcast
// made names none: its fit is the newest that is not younger than itself, unless keys are trusted, which did not sign
// it.
func (s *Store) BedsOf(ctx context.Context, g *Generation) (string, error) {
	if g.Format != bundle.Format || len(s.keys.Trust) > 0 {
		return g.Beds, nil
	}
	versions, err := s.BedsVersions(ctx)
	for _, version := range slices.Backward(versions) {
		if !bundle.Created(version).After(g.CreatedAt) {
			return version, err
		}
	}
	return "", err
}

func (v *verification) beds(ctx context.Context, parts []string) {
	version, file := parts[1], path.Join(parts[2:]...)
	switch {
	case !bundle.ValidVersion(version) || !slices.Contains([]string{fitFile, bundle.ManifestFile}, file):
		v.bad(&FileError{File: path.Join(parts...), Err: errUnexpected})
	case file == bundle.ManifestFile:
		v.fit(ctx, version)
	}
}

// fit checks a fit of beds once, though several generations may name it.
func (v *verification) fit(ctx context.Context, version string) {
	if v.fits[version] {
		return
	}
	v.fits[version] = true
	_, err := v.store.LoadBeds(ctx, version)
	v.bad(err)
}
