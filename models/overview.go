package models

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"time"

	"golang.org/x/sync/semaphore"
)

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
