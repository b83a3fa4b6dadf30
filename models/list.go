package models

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// VersionStatus is the role of a version in its model.
type VersionStatus string

// The statuses.
const (
	ChampionStatus   VersionStatus = "champion"   // notes are scored with it
	SupersededStatus VersionStatus = "superseded" // it once was the champion
	ChallengerStatus VersionStatus = "challenger" // it never was
)

// VersionInfo is a version as a list shows it.
type VersionInfo struct {
	Model     string        `json:"model"`
	Version   string        `json:"version"`
	Champion  bool          `json:"champion"`
	Status    VersionStatus `json:"status"`
	Reason    string        `json:"reason"` // of the last event about it, or the damage
	CreatedAt time.Time     `json:"created_at"`
}

// List returns all versions of all models of a store, by model, oldest first, from names and histories alone. A damaged
// champion or history is the Reason of the model's versions and joined in the error; Champion and Status rest on the intact
// files. If nothing can be listed, the list is nil.
func List(ctx context.Context, s *Store) ([]VersionInfo, error) {
	names, err := s.Models(ctx)
	if err != nil {
		return nil, err
	}
	list := []VersionInfo{}
	var errs []error
	for _, model := range names {
		versions, err := listModel(ctx, s, model)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			errs = append(errs, err)
		}
		list = append(list, versions...)
	}
	return list, errors.Join(errs...)
}

func listModel(ctx context.Context, s *Store, model string) ([]VersionInfo, error) {
	versions, err := s.Versions(ctx, model)
	if err != nil {
		return nil, err
	}
	champion, err := s.Champion(ctx, model)
	if isAbsent(err) {
		err = nil
	}
	events, historyErr := s.History(ctx, model)
	err = errors.Join(err, historyErr)
	last := map[string]Event{}
	for _, e := range events {
		last[e.Version] = e
	}
	var list []VersionInfo
	for _, v := range versions {
		info := VersionInfo{Model: model, Version: v, Champion: v == champion, Status: ChallengerStatus, Reason: last[v].Reason}
		switch {
		case info.Champion:
			info.Status = ChampionStatus
		case last[v].Action != "":
			info.Status = SupersededStatus
		}
		if damage, ok := errors.AsType[*FileError](err); ok {
			info.Reason = fmt.Sprintf("file %q: %v", damage.File, damage.Err)
		}
		info.CreatedAt, _ = time.Parse(versionLayout, v[:len(versionLayout)]) // which Versions has checked
		list = append(list, info)
	}
	return list, err
}
