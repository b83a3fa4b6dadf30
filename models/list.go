package models

import (
	"context"
	"time"
)

// VersionStatus says what a version is to its model.
type VersionStatus string

// The statuses.
const (
	ChampionStatus   VersionStatus = "champion"   // notes are scored with it
	SupersededStatus VersionStatus = "superseded" // it once was the champion
	RefusedStatus    VersionStatus = "refused"    // it was held against a champion and lost
	ChallengerStatus VersionStatus = "challenger" // none of these
)

// VersionInfo is a version as a list shows it.
type VersionInfo struct {
	Model     string        `json:"model"`
	Version   string        `json:"version"`
	Champion  bool          `json:"champion"`
	Status    VersionStatus `json:"status"`
	Reason    string        `json:"reason"` // of the last event about it
	CreatedAt time.Time     `json:"created_at"`
}

// List returns all versions of all models of a store, by model, oldest first. It reads names and histories only.
func List(ctx context.Context, s Store) ([]VersionInfo, error) {
	names, err := s.Models(ctx)
	if err != nil {
		return nil, err
	}
	list := []VersionInfo{}
	for _, model := range names {
		versions, err := s.Versions(ctx, model)
		if err != nil {
			return nil, err
		}
		champion, err := s.Champion(ctx, model)
		if err != nil && !isAbsent(err) {
			return nil, err
		}
		events, err := s.History(ctx, model)
		if err != nil {
			return nil, err
		}
		last := map[string]Event{}
		for _, e := range events {
			last[e.Version] = e
		}
		for _, v := range versions {
			info := VersionInfo{Model: model, Version: v, Champion: v == champion, Status: ChallengerStatus, Reason: last[v].Reason}
			switch {
			case info.Champion:
				info.Status = ChampionStatus
			case last[v].Action == Refused:
				info.Status = RefusedStatus
			case last[v].Action != "":
				info.Status = SupersededStatus
			}
			stamp, _, _ := cutLast(v)
			if info.CreatedAt, err = time.Parse(versionLayout, stamp); err != nil {
				return nil, err
			}
			list = append(list, info)
		}
	}
	return list, nil
}
