package models

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/wardcast/wardcast/classifier/bundle"
)

// VersionStatus is the role of a version in its model.
type VersionStatus string

// The statuses.
const (
	ChampionStatus   VersionStatus = "champion"   // notes are scored with it
	SupersededStatus VersionStatus = "superseded" // it once was the champion
	RefusedStatus    VersionStatus = "refused"    // it was judged, and never was the champion
	ChallengerStatus VersionStatus = "challenger" // none of these
)

// VersionInfo is a version as a list shows it.
type VersionInfo struct {
	Model      string        `json:"model"`
	Version    string        `json:"version"`
	Champion   bool          `json:"champion"`
	Status     VersionStatus `json:"status"`
	Reason     string        `json:"reason"`               // of the refusal, or why the generation has it
	Generation string        `json:"generation,omitempty"` // the served one if it has the version, else the latest
	CreatedAt  time.Time     `json:"created_at"`
}

// List returns all versions of all models of a store, by model, oldest first, from the generations and the history
// alone. Damage to these is joined in the error, and Champion, Status and Reason rest on the rest. The list is nil if
// nothing can be listed.
func List(ctx context.Context, s *Store) ([]VersionInfo, error) {
	names, err := s.Models(ctx)
	if err != nil {
		return nil, err
	}
	if _, _, err := s.pointer(ctx); errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	roles, damage := s.roles(ctx)
	list := []VersionInfo{}
	for _, model := range names {
		versions, err := s.Versions(ctx, model)
		if err != nil && !errors.Is(err, ErrNotFound) { // a folder without a version
			return nil, err
		}
		for _, v := range versions {
			info := VersionInfo{Model: model, Version: v, Status: ChallengerStatus}
			if r, ok := roles[[2]string{model, v}]; ok {
				info.Status, info.Reason, info.Generation = r.status, r.reason, r.generation
			}
			info.Champion = info.Status == ChampionStatus
			info.CreatedAt = bundle.Created(v)
			list = append(list, info)
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return list, damage
}

type role struct {
	status             VersionStatus
	reason, generation string
}

// rank orders statuses: of several generations that name a version the highest counts, and of equals the latest.
var rank = map[VersionStatus]int{ChallengerStatus: 0, RefusedStatus: 1, SupersededStatus: 2, ChampionStatus: 3}

// roles returns what each version is that a generation or the history names, by model and version.
func (s *Store) roles(ctx context.Context) (map[[2]string]role, error) {
	all, err := ListGenerations(ctx, s)
	roles := map[[2]string]role{}
	for _, g := range all {
		for model, m := range g.Models {
			r := role{status: g.Status, reason: g.Reason, generation: g.Name}
			if r.status != RefusedStatus {
				r.reason = m.Reason
			}
			id := [2]string{model, m.Version}
			if old, ok := roles[id]; !ok || rank[r.status] >= rank[old.status] {
				roles[id] = r
			}
		}
	}
	return roles, err
}

// judge returns the roles of the generations in the history, by name. champion is the one that is served, or nil.
func judge(events []Event, champion *Generation) map[string]role {
	all := map[string]role{}
	for _, e := range events {
		switch {
		case e.Action == Refused && all[e.To].status == "":
			all[e.To] = role{status: RefusedStatus, reason: e.Why}
		case e.changes() && !e.Abandoned:
			all[e.To] = role{status: SupersededStatus}
		}
	}
	if champion != nil {
		all[champion.Name] = role{status: ChampionStatus}
	}
	return all
}

// GenerationInfo is a generation as a list shows it.
type GenerationInfo struct {
	*Generation
	Status VersionStatus
	Reason string // of the refusal
}

// ListGenerations returns all sound generations, oldest first, or nil if none can be listed. The error joins the
// damage.
func ListGenerations(ctx context.Context, s *Store) ([]GenerationInfo, error) {
	names, err := s.Generations(ctx)
	if err != nil {
		return nil, err
	}
	champion, err := s.Champion(ctx)
	if isAbsent(err) {
		err = nil
	}
	events, damage := s.History(ctx)
	errs := []error{err, damage}
	judged := judge(events, champion)
	list := []GenerationInfo{}
	for _, name := range names {
		g, err := s.Generation(ctx, name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		r := judged[name]
		list = append(list, GenerationInfo{g, cmp.Or(r.status, ChallengerStatus), r.reason})
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return list, errors.Join(errs...)
}

// Overview is all that lists and pages show of a store. Nobody changes it.
type Overview struct {
	Generations []GenerationInfo // of ListGenerations
	Damage      error
	Events      []Event // of History
	Lost        error
	Disagree    error             // of Agree
	Objections  map[string]string // of Objections
	NoBefore    error             // of Before
}

// overviewFor bounds how long an Overview is kept in which damage within the file of a generation is not seen yet.
const overviewFor = 10 * time.Second

// kept is the latest Overview.
type kept struct {
	one   *semaphore.Weighted // who reads: a lock that those who wait for a store that hangs give up with their request
	state [sha256.Size]byte   // of the store
	at    time.Time
	*Overview
}

// Overview reads generations and history, unless neither have changed for a moment: pages ask for them over and over,
// and reading hundreds of generations takes as long as scoring hundreds of notes. Those who ask at the same time share
// one reading.
func (s *Store) Overview(ctx context.Context) (*Overview, error) {
	if err := s.kept.one.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer s.kept.one.Release(1)
	state, err := s.state(ctx)
	if err != nil {
		return nil, err
	}
	if k := s.kept; k.Overview != nil && k.state == state && time.Since(k.at) < overviewFor {
		return k.Overview, nil
	}
	o := &Overview{}
	o.Generations, o.Damage = ListGenerations(ctx, s)
	o.Events, o.Lost = s.History(ctx)
	o.Disagree = s.Agree(ctx)
	o.Objections, err = s.Objections(ctx)
	_, o.NoBefore = s.Before(ctx)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	s.kept.state, s.kept.at, s.kept.Overview = state, time.Now(), o
	return o, nil
}

// state returns a hash of the names of all generations, and of the files that say what is served and was.
func (s *Store) state(ctx context.Context) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	names, err := s.bucket.Files(ctx, generationsFolder)
	if err != nil {
		return sum, listing(err)
	}
	for _, name := range names {
		_, _ = fmt.Fprintln(h, path.Base(name)) // a hash never fails
	}
	for _, file := range []string{historyFile, headFile, championFile} {
		data, err := s.bucket.Read(ctx, file, historyLimit)
		_, _ = fmt.Fprintf(h, "%s %d %v\n%s", file, len(data), err, data)
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}
