package models

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/classifier/bundle"
)

// Verify checks all files of the store and returns the damaged ones. Unfinished versions, which no generation names, do
// not count. progress, if not nil, is called after each version.
func (s *Store) Verify(ctx context.Context, progress func(done, total int)) ([]*FileError, error) {
	files, err := s.bucket.Files(ctx, "")
	if err != nil {
		return nil, listing(err)
	}
	v := verification{store: s, versions: map[[2]string]bool{}, fits: map[string]bool{}}
	for _, file := range files {
		v.file(ctx, file)
	}
	v.champion(ctx)
	ids := make([][2]string, 0, len(v.versions))
	for id, whole := range v.versions {
		if whole {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	for i, id := range ids {
		_, err := s.Load(ctx, id[0], id[1])
		v.bad(err)
		if ctx.Err() == nil && progress != nil {
			progress(i+1, len(ids))
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return v.damaged, v.err
}

type verification struct {
	store    *Store
	versions map[[2]string]bool // model and version; whether it must be whole
	fits     map[string]bool    // of beds, that were checked
	damaged  []*FileError
	err      error // other than damage

	generations int // files
}

// bad keeps the damage, which errors joined by errors.Join name, each once.
func (v *verification) bad(err error) {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range several.Unwrap() {
			v.bad(err)
		}
		return
	}
	damage, ok := errors.AsType[*FileError](err)
	switch {
	case err == nil:
	case !ok && (v.err == nil || !strings.Contains(v.err.Error(), err.Error())):
		v.err = errors.Join(v.err, err)
	case !ok:
	case !slices.ContainsFunc(v.damaged, func(e *FileError) bool { return e.Error() == damage.Error() }):
		v.damaged = append(v.damaged, damage)
	}
}

// file checks a file outside the versions, or notes the version that it belongs to.
func (v *verification) file(ctx context.Context, file string) {
	parts, ext := strings.Split(file, "/"), path.Ext(file)
	name := strings.TrimSuffix(path.Base(file), ext)
	switch n := len(parts); {
	case n == 1 && (file == championFile || file == historyFile || file == headFile):
	case n == 2 && parts[0] == generationsFolder && bundle.ValidVersion(name) && ext == ".json":
		v.generations++
		g, err := v.store.Generation(ctx, name)
		v.bad(err)
		v.named(ctx, g)
	case n == 2 && parts[0] == generationsFolder && bundle.ValidVersion(name) && ext == signatureExt: // Signers reads it
	case n >= 3 && parts[0] == bedsFolder:
		v.beds(ctx, parts)
	case n >= 3 && bundle.ValidModel(parts[0]) && bundle.ValidVersion(parts[1]):
		id := [2]string{parts[0], parts[1]}
		v.versions[id] = v.versions[id] || n == 3 && parts[2] == bundle.ManifestFile
	case n > 1 && bundle.ValidModel(parts[0]):
		v.bad(&FileError{Model: parts[0], File: path.Join(parts[1:]...), Err: errUnexpected})
	default:
		v.bad(&FileError{File: file, Err: errUnexpected})
	}
}

// named notes the versions of a generation, all of which must be whole, as its fit of beds must be.
func (v *verification) named(ctx context.Context, g *Generation) {
	if g == nil {
		return
	}
	for model, m := range g.Models {
		v.versions[[2]string{model, m.Version}] = true
	}
	if g.Beds != "" {
		v.fit(ctx, g.Beds)
	}
}

// champion checks what is served, and the history.
func (v *verification) champion(ctx context.Context) {
	g, unsound := v.store.Champion(ctx)
	if !isAbsent(unsound) {
		v.bad(unsound)
	}
	v.named(ctx, g)
	events, err := v.store.History(ctx)
	v.bad(err)
	if err == nil && (g != nil && unsound == nil || isAbsent(unsound)) {
		err = v.store.Agree(ctx)
		v.bad(err)
	}
	if err == nil && g == nil && len(events) == 0 && v.generations > 1 {
		v.bad(&FileError{File: historyFile, Err: fmt.Errorf(
			"%w or empty, though there are %d generations: copy it from a backup", ErrNotFound, v.generations)})
	}
	_, unsigned := v.store.Signers(ctx)
	v.bad(unsigned)
}
