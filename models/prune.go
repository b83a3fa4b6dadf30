package models

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
)

// Keep says which generations Prune leaves in the store, besides those that it always leaves.
type Keep struct {
	Newest int       // how many of the newest, at least 1
	Since  time.Time // those created since then, and those that the history names since then
	DryRun bool      // remove nothing
}

// Pruned is what Prune removed, or in a dry run would remove.
type Pruned struct {
	Generations []string    `json:"generations"`
	Versions    []VersionOf `json:"versions"`
	Beds        []string    `json:"beds"` // fits of beds
}

// VersionOf names a version of a model.
type VersionOf struct {
	Model   string `json:"model"`
	Version string `json:"version"`
}

// unfinished is the age up to which a version that no generation names may belong to a training that has not ended.
const unfinished = 24 * time.Hour

// Prune removes generations, and then the versions and fits of beds that no generation names any more. It always leaves
// the served generation, its parent, the one that a rollback would serve, and the challenger. A store whose champion
// and history disagree, or with a damaged generation, stays as it is.
//
// The file of a generation goes before its versions, and the manifest of a version before its other files, so that a
// store verifies wherever Prune is stopped. Another run removes the rest. Trainings may go on meanwhile: what they add
// is younger, and what they take over belongs to the served generation.
func (s *Store) Prune(ctx context.Context, k Keep) (*Pruned, error) {
	p, err := s.prune(ctx, &k)
	if err != nil {
		return nil, fmt.Errorf("pruning: %w", err)
	}
	return p, nil
}

func (s *Store) prune(ctx context.Context, k *Keep) (*Pruned, error) {
	names, err := s.Generations(ctx)
	if err != nil {
		return nil, err
	}
	kept, err := s.needed(ctx, names, k)
	if err != nil {
		return nil, err
	}
	p := &Pruned{Generations: []string{}, Versions: []VersionOf{}, Beds: []string{}}
	given := map[string]bool{} // folders that the removed generations name
	for _, name := range names {
		if kept[name] {
			continue
		}
		p.Generations = append(p.Generations, name)
		if err := s.folders(ctx, name, given); err != nil {
			return nil, err
		}
	}
	if !k.DryRun {
		for _, name := range p.Generations {
			if err := s.remove(ctx, generationFile(name), signatureFile(name)); err != nil {
				return nil, err
			}
		}
	}
	return p, s.removeFolders(ctx, k, p, given)
}

// needed returns the generations that stay.
func (s *Store) needed(ctx context.Context, names []string, k *Keep) (map[string]bool, error) {
	kept := map[string]bool{}
	for i, name := range names {
		kept[name] = i >= len(names)-k.Newest || !bundle.Created(name).Before(k.Since)
	}
	if err := s.Agree(ctx); err != nil {
		return nil, err
	}
	events, err := s.History(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		if !e.Time.Before(k.Since) {
			kept[e.From], kept[e.To] = true, true
		}
	}
	champion, err := s.Champion(ctx)
	if isAbsent(err) {
		return kept, nil
	}
	if err != nil {
		return nil, err
	}
	kept[champion.Name], kept[champion.Parent] = true, true
	before, err := s.Before(ctx)
	if kept[before] = true; err != nil && !isAbsent(err) {
		return nil, err
	}
	challenger, err := s.Challenger(ctx)
	if err == nil {
		kept[challenger.Name] = true
	} else if !isAbsent(err) {
		return nil, err
	}
	return kept, nil
}

// folders adds the folders of the versions and of the fit of beds that a generation names.
func (s *Store) folders(ctx context.Context, name string, named map[string]bool) error {
	g, err := s.Generation(ctx, name)
	if isAbsent(err) {
		return nil // somebody else prunes too
	}
	if err != nil {
		return err
	}
	for model, m := range g.Models {
		named[path.Join(model, m.Version)] = true
	}
	fit, err := s.BedsOf(ctx, g)
	named[path.Join(bedsFolder, fit)] = true
	return err
}

// removeFolders removes the versions and fits of beds that only the removed generations name, and old ones that none
// names.
func (s *Store) removeFolders(ctx context.Context, k *Keep, p *Pruned, given map[string]bool) error {
	names, err := s.Generations(ctx) // again: a training may have added one
	if err != nil {
		return err
	}
	named := map[string]bool{}
	for _, name := range names {
		if slices.Contains(p.Generations, name) {
			continue // in a dry run
		}
		if err := s.folders(ctx, name, named); err != nil {
			return err
		}
	}
	all, err := s.bucket.Files(ctx, "")
	if err != nil {
		return listing(err)
	}
	old := k.Since
	if young := time.Now().Add(-unfinished); young.Before(old) {
		old = young
	}
	files := map[string][]string{}
	for _, file := range all {
		parts := strings.Split(file, "/")
		if len(parts) < 3 || !bundle.ValidModel(parts[0]) && parts[0] != bedsFolder || !bundle.ValidVersion(parts[1]) {
			continue
		}
		folder := path.Join(parts[:2]...)
		if !named[folder] && (given[folder] || bundle.Created(parts[1]).Before(old)) {
			if len(files[folder]) == 0 {
				files[folder] = []string{path.Join(folder, bundle.ManifestFile)}
				p.add(parts[0], parts[1])
			}
			files[folder] = append(files[folder], file)
		}
	}
	if k.DryRun {
		return nil
	}
	for _, list := range files {
		if err := s.remove(ctx, list...); err != nil {
			return err
		}
	}
	return nil
}

func (p *Pruned) add(model, version string) {
	if model == bedsFolder {
		p.Beds = append(p.Beds, version)
	} else {
		p.Versions = append(p.Versions, VersionOf{Model: model, Version: version})
	}
}

// remove removes files in this order. One that is gone is no error.
func (s *Store) remove(ctx context.Context, files ...string) error {
	for _, file := range files {
		if err := s.bucket.Remove(ctx, file); err != nil {
			return errors.Join(ctx.Err(), fileError(FileError{File: file, Err: err}))
		}
	}
	return nil
}
