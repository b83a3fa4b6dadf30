package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
)

const (
	championFile  = "champion"
	championLimit = 128 // bytes
)

// Champion returns the generation that is served, an error that wraps ErrNotFound if there is none. If the champion
// file or that of the generation is damaged, the error is a *FileError, and the generation holds its Name alone if that
// is known. So it is if no trusted key signed the generation and the history. Champion reads no version, so that it is
// cheap to poll for changes.
func (s *Store) Champion(ctx context.Context) (*Generation, error) {
	name, _, err := s.pointer(ctx)
	var l *ledger
	if len(s.keys.Trust) > 0 && name != "" { // of what is read once
		if l, err = s.look(ctx); err == nil {
			name, err = l.served, l.unknown
		}
	}
	if err != nil {
		return nil, err
	}
	if name == "" {
		return s.noPointer(ctx)
	}
	g, err := s.Generation(ctx, name)
	if errors.Is(err, ErrNotFound) {
		err = &FileError{File: championFile, Err: fmt.Errorf("it names a generation without its file %q: %w",
			generationFile(name), ErrNotFound)}
	}
	if err == nil {
		err = s.Trusted(ctx, g)
	}
	if err == nil && l != nil {
		err = s.agree(l)
	}
	if err != nil {
		return &Generation{Name: name}, err
	}
	return g, nil
}

// pointer reads the champion file: its contents, and the generation that it names, "" without an error for no file.
func (s *Store) pointer(ctx context.Context) (name string, held []byte, err error) {
	held, err = s.bucket.Read(ctx, championFile, championLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, nil
	}
	if err != nil {
		if ctx.Err() != nil {
			return "", nil, ctx.Err()
		}
		return "", nil, fileError(FileError{File: championFile, Err: err})
	}
	name = strings.TrimSuffix(string(held), "\n")
	if !bundle.ValidVersion(name) {
		return "", held, &FileError{File: championFile, Err: errors.New("holds no name of a generation")}
	}
	return name, held, nil
}

func (s *Store) noPointer(ctx context.Context) (*Generation, error) {
	l, err := s.look(ctx)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(l.events, func(e Event) bool { return e.changes() })
	switch {
	case l.known() != "" || at >= 0 && lost(l.events):
		return nil, l.swapped(cmp.Or(l.known(), servedLast(l.events)))
	case at < 0:
		return nil, absent("no generation is served")
	}
	// Its writer was stopped, or the file was lost.
	return nil, fmt.Errorf("champion: %w, though generation %q was to be promoted; promote it again",
		ErrNotFound, l.events[at].To)
}

// lost reports whether events show that there must be a champion file: a change that started from a generation, or a
// refusal while the generation of a change before was served.
func lost(events []Event) bool {
	promoted := map[string]bool{}
	for _, e := range events {
		if e.changes() && e.From != "" || e.Action == Refused && promoted[e.From] {
			return true
		}
		if e.changes() {
			promoted[e.To] = true
		}
	}
	return false
}

// isAbsent reports whether there is no champion, rather than a damaged one.
func isAbsent(err error) bool {
	return errors.Is(err, ErrNotFound) && !isDamage(err)
}

// Change asks for another generation to be served, and says on whose behalf.
type Change struct {
	To      string // generation
	From    string // generation that is served now; "" if there is none, or if the champion file is damaged
	By      string // person or program
	Why     string
	Command string // the command line, or ""
	Action  Action // Promoted by default; Recalibrated is the other choice
	DryRun  bool   // check all and change nothing
	// Mend makes the change though champion and history disagree: a person has chosen the generation.
	Mend bool
}

// Promote makes c.To, all versions of which must load, the generation that is served. If another than c.From is served
// by then, nothing changes and the error wraps ErrConflict and names who was faster. If c.To is served already, Promote
// does nothing. If champion and history disagree, nothing changes and the error wraps ErrDisagree, unless c.Mend is
// set.
//
// The change is recorded first: a crash in between leaves a record of a change that did not take effect
// (Event.Abandoned), never a change without a record.
func (s *Store) Promote(ctx context.Context, c Change) error {
	c.Action = cmp.Or(c.Action, Promoted)
	if err := s.change(ctx, c); err != nil {
		return fmt.Errorf("promoting: %w", err)
	}
	return nil
}

// Rollback is like Promote for a c.To that was served before; "" is the generation that Before returns.
func (s *Store) Rollback(ctx context.Context, c Change) (err error) {
	c.To, err = s.RollbackTarget(ctx, c.To)
	if err == nil {
		c.Action = RolledBack
		err = s.change(ctx, c)
	}
	if err != nil {
		return fmt.Errorf("rolling back: %w", err)
	}
	return nil
}

// Challenger returns the newest never served generation, if not older than the served one; else ErrNotFound is wrapped.
func (s *Store) Challenger(ctx context.Context) (*Generation, error) {
	champion, err := s.Champion(ctx)
	if err != nil {
		return nil, err
	}
	served, err := s.everServed(ctx)
	if err != nil {
		return nil, err
	}
	served[champion.Name] = true
	names, err := s.Generations(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Backward(names) {
		if served[name] {
			continue
		}
		g, err := s.Generation(ctx, name)
		if err != nil {
			return nil, err
		}
		if g.CreatedAt.Before(champion.CreatedAt) {
			break
		}
		return g, nil
	}
	return nil, absent("no challenger: no newer generation than the served one")
}

// Refuse adds a generation, as AddGeneration does, that was judged and is not to be served, with the reason. c.To is
// ignored.
//
// The refusal is recorded first: a crash in between leaves a record of a generation that is not there, never a refused
// generation without its record.
func (s *Store) Refuse(ctx context.Context, g *Generation, c Change) error {
	if err := s.keepGeneration(ctx, g, func() error {
		l, err := s.agreed(ctx)
		if err == nil {
			err = s.mayRecord(l)
		}
		if err != nil {
			return err
		}
		e := Event{Action: Refused, From: c.From, To: g.Name, By: c.By, Why: c.Why, Command: c.Command}
		return s.record(ctx, l, e, func() error { return nil })
	}); err != nil {
		return fmt.Errorf("refusing: %w", err)
	}
	return nil
}

// ErrDisagree is wrapped by the error of a change in a store whose champion and history disagree.
var ErrDisagree = errors.New("champion and history disagree")

// change records c and makes c.To the champion.
func (s *Store) change(ctx context.Context, c Change) error {
	g, err := s.Generation(ctx, c.To)
	if err == nil {
		err = s.checkVersions(ctx, g)
	}
	if err == nil {
		err = s.Trusted(ctx, g)
	}
	if err == nil && len(s.keys.Trust) > 0 && s.keys.Sign == nil {
		err = ErrNoKey
	}
	if err != nil {
		return err
	}
	l, err := s.look(ctx)
	if err != nil {
		return err
	}
	if l.unknown != nil && l.held == nil {
		return l.unknown // a champion file that can be read, and makes no sense, is replaced
	}
	wrong := s.agree(l)
	switch {
	case l.served != c.From && !(wrong == nil && l.served == c.To):
		return s.conflict(ctx, l.served)
	case wrong != nil && !c.Mend:
		return wrong
	case wrong == nil && l.served == c.To:
		return nil
	}
	if err := s.mayRecord(l); err != nil || c.DryRun {
		return err
	}
	from := l.served
	if from == "" { // nothing is served, or the champion file is lost or damaged, which the history survives
		from = servedLast(l.events)
	}
	e := Event{Action: c.Action, From: from, To: c.To, By: c.By, Why: c.Why, Command: c.Command}
	return s.record(ctx, l, e, func() error {
		err := s.swap(ctx, championFile, l.held, []byte(c.To+"\n"))
		if errors.Is(err, ErrConflict) {
			var served string
			if served, _, err = s.pointer(ctx); err == nil {
				err = s.conflict(ctx, served)
			}
		}
		if err != nil {
			return fmt.Errorf("changing the champion: %w", err)
		}
		return nil
	})
}

// Unchanged returns an error that wraps ErrConflict, and names who changed it, unless generation from is served, "" for
// none. A damaged champion counts by its name, as far as that is known.
func (s *Store) Unchanged(ctx context.Context, from string) error {
	served := ""
	g, err := s.Champion(ctx)
	if g != nil {
		served = g.Name
	}
	switch {
	case err != nil && !isDamage(err) && !errors.Is(err, ErrNotFound):
		return err
	case served != from:
		return s.conflict(ctx, served)
	}
	return nil
}

// conflict returns the error of a change that came too late, which says what is served and who promoted it.
func (s *Store) conflict(ctx context.Context, served string) error {
	if served == "" {
		return fmt.Errorf("no generation is served: %w", ErrConflict)
	}
	who := ""
	events, _ := s.History(ctx) // damage is reported elsewhere
	for _, e := range events {
		if e.changes() && !e.Abandoned && e.To == served {
			who = fmt.Sprintf(", %s at %s by %q", strings.ReplaceAll(string(e.Action), "_", " "),
				e.Time.Format(time.RFC3339), e.By)
		}
	}
	return fmt.Errorf("generation %q is served%s: %w", served, who, ErrConflict)
}

// ErrNeverServed is wrapped by the error of a rollback to a generation that was never served.
var ErrNeverServed = errors.New("was never served")

// RollbackTarget returns the generation that Rollback would serve: name, or the one that Before returns for "". The
// error wraps ErrNeverServed if the history does not show that it was served.
func (s *Store) RollbackTarget(ctx context.Context, name string) (string, error) {
	if name == "" {
		return s.Before(ctx)
	}
	if _, err := s.Generation(ctx, name); err != nil {
		return "", err
	}
	served, err := s.everServed(ctx)
	if err == nil && !served[name] {
		err = fmt.Errorf("generation %q %w", name, ErrNeverServed)
	}
	return name, err
}

// everServed returns the generations that were served, by the history.
func (s *Store) everServed(ctx context.Context) (map[string]bool, error) {
	events, err := s.readable(ctx)
	if err != nil {
		return nil, err
	}
	served := map[string]bool{}
	for _, e := range events {
		if e.changes() && !e.Abandoned {
			served[e.To], served[e.From] = true, true
		}
	}
	return served, nil
}

// Before returns the generation that was served before the present one, by the history. Rolled back generations do not
// count, so that a second rollback goes back one more. If the history does not know the present one, since the champion
// file was edited by hand, it is the last recorded one. The error wraps ErrNotFound if there is none.
func (s *Store) Before(ctx context.Context) (string, error) {
	now, _, err := s.pointer(ctx)
	if err != nil && !isDamage(err) {
		return "", err
	}
	events, err := s.readable(ctx)
	if err != nil {
		return "", err
	}
	served := inTurn(events)
	at := len(served)
	if now == "" { // lost or damaged
		at--
	}
	for i, name := range served {
		if name == now {
			at = i // the last time
		}
	}
	if at < 1 {
		return "", absent("no generation was served before this one; name one to serve with \"wardcast models promote\"")
	}
	return served[at-1], nil
}

// inTurn returns the generations that were served, without those that a rollback took back.
func inTurn(events []Event) (served []string) {
	for _, e := range events {
		if e.Abandoned || !e.changes() {
			continue
		}
		if len(served) == 0 && e.From != "" {
			served = append(served, e.From)
		}
		if at := slices.Index(served, e.To); e.Action == RolledBack && at >= 0 {
			served = served[:at]
		}
		if n := len(served); n == 0 || served[n-1] != e.To { // else the champion file was repaired
			served = append(served, e.To)
		}
	}
	return served
}

// Objections returns why a generation was refused or rolled back, for each that was.
func (s *Store) Objections(ctx context.Context) (map[string]string, error) {
	events, err := s.readable(ctx)
	if err != nil {
		return nil, err
	}
	why := map[string]string{}
	for _, e := range events {
		switch {
		case e.Abandoned:
		case e.Action == Refused:
			why[e.To] = "was refused: " + e.Why
		case e.Action == RolledBack && e.Why == "":
			why[e.From] = "was rolled back"
		case e.Action == RolledBack:
			why[e.From] = "was rolled back: " + e.Why
		}
	}
	return why, nil
}
