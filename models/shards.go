package models

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path"
)

const (
	// partsFolder is hidden like all temporary files of a store: no list shows it, and backups may omit it.
	partsFolder = ".shards"
	partLimit   = 8 << 30 // bytes
)

// WritePart leaves data under a name for the processes that train together, in place of what was there.
func (s *Store) WritePart(ctx context.Context, name string, data []byte) error {
	_, err := s.AgreeOnPart(ctx, name, data, func([]byte) bool { return false })
	return err
}

// AgreeOnPart is like WritePart unless keep accepts what was left before, and reports whether it wrote: of several
// processes at once one writes, and the others see it. keep may be called more than once.
func (s *Store) AgreeOnPart(ctx context.Context, name string, data []byte,
	keep func(before []byte) bool,
) (wrote bool, err error) {
	sum := sha256.Sum256(data)
	after := append(sum[:], data...)
	for {
		before, err := s.bucket.Read(ctx, path.Join(partsFolder, name), partLimit)
		if err == nil && intact(before) && keep(before[sha256.Size:]) {
			return false, nil
		}
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			err = s.bucket.Swap(ctx, path.Join(partsFolder, name), before, after)
		}
		if errors.Is(err, ErrConflict) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("writing part %q: %w", name, err)
		}
		return true, nil
	}
}

// intact reports whether a part is as it was written.
func intact(part []byte) bool {
	return len(part) >= sha256.Size && sha256.Sum256(part[sha256.Size:]) == [sha256.Size]byte(part)
}

// ReadPart returns what WritePart left. If it is missing or damaged, and must be made again, the error wraps
// ErrNotFound.
func (s *Store) ReadPart(ctx context.Context, name string) ([]byte, error) {
	data, err := s.bucket.Read(ctx, path.Join(partsFolder, name), partLimit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = ErrNotFound
	case err != nil:
	case !intact(data):
		err = fmt.Errorf("%w, since its sha256 does not match", ErrNotFound)
	default:
		return data[sha256.Size:], nil
	}
	return nil, fmt.Errorf("reading part %q: %w", name, err)
}
