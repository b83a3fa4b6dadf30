package models

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

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
	if _, damaged := errors.AsType[*FileError](err); err != nil && !damaged {
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
		return "", fmt.Errorf("no generation was served before this one: %w", ErrNotFound)
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
