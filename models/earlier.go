package models

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// In the earlier layout of a store each model had a champion file and a history of its own. Such a store is read as one
// generation and the events of all its models; the first change writes them down, and leaves the old files as they are.

// earlierEvent is a line of a model's history.
type earlierEvent struct {
	Time     time.Time `json:"time"`
	Action   Action    `json:"action"`
	Version  string    `json:"version"`
	Previous string    `json:"previous"`
	By       string    `json:"by"`
	Reason   string    `json:"reason"`
}

// earlier returns the champions of a store that was written in the earlier layout and not changed since.
func (s *Store) earlier(ctx context.Context) (*Generation, bool, error) {
	switch name, _, err := s.pointer(ctx); {
	case errors.Is(err, fs.ErrPermission):
		return nil, false, err
	case name != "" || err != nil:
		return nil, false, ctx.Err()
	}
	names, err := s.Models(ctx)
	if err != nil {
		return nil, false, err
	}
	g := &Generation{By: "the earlier layout of the store", Models: map[string]Member{}, Pooled: map[string]Pooled{}}
	var errs []error
	for _, model := range names {
		if err := s.earlierModel(ctx, g, model); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, false, err
	}
	if len(g.Models) == 0 {
		return nil, false, nil
	}
	// A store that was converted and lost its champion file is damaged, and must not fall back on old champions.
	if events, err := s.recorded(ctx); err != nil || lost(events) {
		return nil, false, err
	}
	_, err = g.encode()
	return g, err == nil, err
}

// earlierModel adds a model with its champion, if it has one.
func (s *Store) earlierModel(ctx context.Context, g *Generation, model string) error {
	events, err := s.earlierEvents(ctx, model)
	if err != nil {
		return err
	}
	last := earlierEvent{}
	if len(events) > 0 {
		last = events[len(events)-1]
	}
	data, err := s.bucket.Read(ctx, path.Join(model, championFile), maxName)
	if errors.Is(err, fs.ErrNotExist) {
		switch {
		case last.Action == retired:
			g.Pooled[model] = Pooled{Reason: last.Reason}
		case last.Action != "" && model == Other:
			// Others have none if a crash came between the record of their first promotion and the champion file.
			return &FileError{Model: model, File: championFile, Err: fmt.Errorf("%w, though the history tells of a champion", ErrNotFound)}
		}
		return nil
	}
	version := strings.TrimSuffix(string(data), "\n")
	if err == nil && !validVersion(version) {
		err = errors.New("holds no version")
	}
	if err != nil {
		return fileError(FileError{Model: model, File: championFile, Err: err})
	}
	since, _ := time.Parse(versionLayout, version[:len(versionLayout)]) // which validVersion has checked
	if last.Version == version {
		since = last.Time
	}
	if since.After(g.CreatedAt) {
		g.CreatedAt = since
	}
	g.Models[model] = Member{Version: version, Reason: last.Reason}
	return nil
}

// earlierEvents returns the history of one model.
func (s *Store) earlierEvents(ctx context.Context, model string) ([]earlierEvent, error) {
	data, err := s.bucket.Read(ctx, path.Join(model, historyFile), historyLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	events, bad := parseLines[earlierEvent](data)
	if err = errors.Join(append(bad, err)...); err != nil {
		return nil, fileError(FileError{Model: model, File: historyFile, Err: err})
	}
	return events, nil
}

// earlierHistory returns the histories of all models as events of the store, by time.
func (s *Store) earlierHistory(ctx context.Context) ([]Event, error) {
	names, err := s.Models(ctx)
	if err != nil {
		return nil, err
	}
	var all []Event
	var errs []error
	for _, model := range names {
		events, err := s.earlierEvents(ctx, model)
		errs = append(errs, err)
		for _, e := range events {
			carried := Event{Time: e.Time, Action: e.Action, Model: model, From: e.Previous, To: e.Version, By: e.By, Why: e.Reason}
			if e.Action == retired {
				carried.From, carried.To = e.Version, ""
			}
			all = append(all, carried)
		}
	}
	slices.SortStableFunc(all, func(a, b Event) int { return a.Time.Compare(b.Time) })
	return all, errors.Join(errs...)
}

// convert makes a store of the earlier layout one of generations, served by the same versions as before. Stopped in between,
// it leaves a store of the earlier layout.
func (s *Store) convert(ctx context.Context, by string) error {
	g, earlier, err := s.earlier(ctx)
	if err != nil || !earlier {
		return err
	}
	data, err := g.encode()
	if err != nil {
		return err
	}
	if err := s.keepGeneration(ctx, g.Name, data); err != nil {
		return err
	}
	events, err := s.recorded(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(events, func(e Event) bool { return e.changes() && e.To == g.Name }) {
		if err := s.carry(ctx, events); err != nil {
			return err
		}
		e := Event{Action: Promoted, To: g.Name, By: by, Why: "the champions of the store's earlier layout"}
		if err := s.record(ctx, e); err != nil {
			return err
		}
	}
	err = s.bucket.Swap(ctx, championFile, nil, []byte(g.Name+"\n"))
	if err != nil && !errors.Is(err, ErrConflict) { // another has converted the store
		return fmt.Errorf("converting the store: %w", err)
	}
	return nil
}

// carry writes the events of the models' histories as the history of the store, if it has none yet.
func (s *Store) carry(ctx context.Context, events []Event) error {
	lines, err := appendLines(nil, events...)
	if err == nil && len(lines) > 0 {
		err = s.bucket.Swap(ctx, historyFile, nil, lines)
	}
	if err != nil && !errors.Is(err, ErrConflict) {
		return fmt.Errorf("converting the store: %w", err)
	}
	return nil
}
