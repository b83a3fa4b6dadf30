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
	// partsFolder is hidden, as all that is temporary in a store: it is in no list, and backups may leave it out.
	partsFolder = ".shards"
	partLimit   = 8 << 30 // bytes
)

// WritePart leaves data under a name for the processes that train together, in place of what was there.
func (s *Store) WritePart(ctx context.Context, name string, data []byte) error {
	_, err := s.AgreeOnPart(ctx, name, data, func([]byte) bool { return false })
	return err
}

// AgreeOnPart does as WritePart unless keep says that what was left before is good. It reports whether it wrote: of
// several processes that would leave something at once, one does, and the others see it. keep may be called more than
// once.
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

// ReadPart returns what WritePart left. The error wraps ErrNotFound if there is nothing, or if it is damaged: who left
// it can do so again.
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
