package models

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/internal/wait"
	"github.com/wardcast/wardcast/models/signing"
)

const (
	headFile = "head.json"
	// maxEvents bounds the lines of a history that are read, and maxBad those of which damage is told.
	maxEvents, maxBad = 500_000, 100

	headLimit = 1 << 16 // bytes
)

func digest(data []byte) string { return bundle.FileOf(data).SHA256 }

// ledger is what a store says at one moment of its past and of what is served.
type ledger struct {
	served  string // "" for nothing, or if the champion file is damaged
	held    []byte // the champion file
	unknown error  // a *FileError if that is damaged

	history []byte // the file
	events  []Event
	damage  error // joins a *FileError for each line that is no event or does not follow the one before
	chained bool  // the last line holds a hash

	headData []byte
	head     *signing.Head // nil if there is none
	headErr  error         // a *FileError if it is damaged

	past *past // that was known before the files were read
}

// look reads the ledger. The error is none of damage. What disagrees is read again until it stays the same, since a
// writer may be at work.
func (s *Store) look(ctx context.Context) (*ledger, error) {
	for before := (*ledger)(nil); ; {
		l, err := s.lookOnce(ctx)
		if err != nil || l.disagreement() == nil || before != nil && bytes.Equal(l.headData, before.headData) &&
			bytes.Equal(l.history, before.history) && bytes.Equal(l.held, before.held) {
			return l, err
		}
		before = l
		if !wait.For(ctx, lookAgain) {
			return nil, ctx.Err()
		}
	}
}

const lookAgain = 50 * time.Millisecond

func (s *Store) lookOnce(ctx context.Context) (*ledger, error) {
	l := &ledger{past: s.past.Load()}
	var err error
	l.headData, err = s.bucket.Read(ctx, headFile, headLimit)
	if err == nil {
		l.head, err = signing.ParseHead(l.headData)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		if l.headErr = fileError(FileError{File: headFile, Err: err}); !isDamage(l.headErr) || ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), l.headErr)
		}
	}
	if l.history, err = s.bucket.Read(ctx, historyFile, historyLimit); err != nil && !errors.Is(err, fs.ErrNotExist) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if l.damage = fileError(FileError{File: historyFile, Err: err}); !isDamage(l.damage) {
			return nil, l.damage
		}
	} else {
		l.parse()
	}
	l.served, l.held, err = s.pointer(ctx)
	if err != nil && !isDamage(err) {
		return nil, err
	}
	l.unknown = err
	abandon(l.events, l.known(), l.unknown != nil)
	return l, nil
}

func isDamage(err error) bool {
	_, damaged := errors.AsType[*FileError](err)
	return damaged
}

// known returns what is served by the head, if that knows the history, or else by the champion file.
func (l *ledger) known() string {
	if h := l.head; h != nil && len(h.Champion) == 1 && h.Knows(l.history) {
		return h.Champion[0]
	}
	return l.served
}

// parse reads the history.
func (l *ledger) parse() {
	var errs []error
	bad := func(line int, err error) {
		if len(errs) < maxBad {
			errs = append(errs, &FileError{File: historyFile, Err: fmt.Errorf("line %d: %w", line, err)})
		}
	}
	whole, number := wholeLines(l.history), 0
	var chain signing.Chain
	for line := range bytes.Lines(whole) {
		if number++; number > maxEvents {
			bad(number, fmt.Errorf("more than %d events", maxEvents))
			break
		}
		var e Event
		err := json.Unmarshal(line, &e)
		if err == nil {
			l.events = append(l.events, e)
			err = chain.Follows(e.Previous, e.Restart)
		}
		if err != nil {
			bad(number, err)
		} else if e.Restart && e.Previous != "" {
			errs = nil
		}
		chain.Add(line)
	}
	if len(whole) < len(l.history) {
		bad(number+1, errors.New("cut off"))
	}
	l.damage, l.chained = errors.Join(errs...), chain.Hashed
}

// disagreement returns a *FileError if champion, history and head do not belong together, or are damaged.
func (l *ledger) disagreement() error {
	served := servedLast(l.events)
	switch h := l.head; {
	case l.headErr != nil:
		return l.headErr
	case l.damage != nil:
		return l.damage
	case l.unknown != nil:
		return l.unknown
	case h == nil && l.chained:
		return &FileError{File: headFile, Err: fmt.Errorf("%w, though the history was written with it", ErrNotFound)}
	case h == nil && (l.served == served || served == "" && len(l.events) == 0):
		return nil
	case h == nil && served == "":
		return nil // a change that was recorded and did not take effect
	case h == nil:
		return l.swapped(served)
	case !h.Knows(l.history):
		return &FileError{File: historyFile, Err: errors.New(h.Differs(l.history))}
	case !slices.Contains(h.Champion, l.served):
		return l.swapped(h.Champion[len(h.Champion)-1])
	}
	return nil
}

// disagreement is an ErrDisagree that says how.
type disagreement struct{ error }

func (d *disagreement) Error() string { return ErrDisagree.Error() + ": " + d.error.Error() }

func (d *disagreement) Is(target error) bool { return target == ErrDisagree }

func (d *disagreement) Unwrap() error { return d.error }

// swapped is the error of a champion file that another hand wrote.
func (l *ledger) swapped(last string) error {
	if l.served == "" {
		return &FileError{File: championFile, Err: fmt.Errorf(
			"%w, though the history ends with generation %q: promote one by its name, with --mend, to repair it",
			ErrNotFound, last)}
	}
	return &FileError{File: championFile, Err: fmt.Errorf("it names generation %q, though the history ends with %q: "+
		"promote or roll back to one by its name, with --mend, to repair it", l.served, last)}
}

// Agree returns an error that wraps ErrDisagree and holds a *FileError unless the served generation is the one that the
// history ends with, and the history is whole. In a store with trusted keys one of them must have signed that.
func (s *Store) Agree(ctx context.Context) error {
	_, err := s.agreed(ctx)
	return err
}

// agreed looks at a ledger that must agree.
func (s *Store) agreed(ctx context.Context) (*ledger, error) {
	l, err := s.look(ctx)
	if err == nil {
		err = s.agree(l)
	}
	return l, err
}

func (s *Store) agree(l *ledger) error {
	if err := l.disagreement(); err != nil {
		return &disagreement{err}
	}
	if len(s.keys.Trust) > 0 && (len(l.events) > 0 || l.served != "") {
		if l.head == nil {
			return &FileError{File: headFile, Err: fmt.Errorf("%w: %w", signing.ErrUntrusted, ErrNotFound)}
		}
		if _, err := s.keys.Trust.Check(l.head.Statement(), l.head.Signatures); err != nil {
			return &FileError{File: headFile, Err: fmt.Errorf("the history is %w", err)}
		}
	}
	return s.continues(l)
}

// past is the longest history that a store has agreed with since it was opened. The files of an earlier day agree with
// each other too, and are signed.
type past struct {
	bytes int // of the history
	sum   string
	until time.Time // of its latest event
}

// continues returns an error if a history does not begin with the one that was known when it was read, unless a person
// has vouched for it since then.
func (s *Store) continues(l *ledger) error {
	p := l.past
	if p != nil && (len(l.history) < p.bytes || digest(l.history[:p.bytes]) != p.sum) &&
		!slices.ContainsFunc(l.events, func(e Event) bool { return e.Restart && e.Time.After(p.until) }) {
		return &disagreement{&FileError{File: historyFile, Err: errors.New(
			"the history went back: lines are missing that this process has read")}}
	}
	now := &past{bytes: len(l.history), sum: digest(l.history)}
	for _, e := range l.events {
		if e.Time.After(now.until) {
			now.until = e.Time
		}
	}
	s.past.CompareAndSwap(p, now) // or another reader was faster
	return nil
}

// swap is the bucket's Swap. A write whose answer was lost, and that the bucket's client repeated, meets itself.
func (s *Store) swap(ctx context.Context, file string, before, after []byte) error {
	err := s.bucket.Swap(ctx, file, before, after)
	if errors.Is(err, ErrConflict) {
		if now, failed := s.bucket.Read(ctx, file, int64(len(after))); failed == nil && bytes.Equal(now, after) {
			return nil
		}
	}
	return err
}

// writeHead writes and signs the head, if it still is before.
func (s *Store) writeHead(ctx context.Context, before []byte, h *signing.Head) ([]byte, error) {
	data, err := h.Encode(s.keys.Sign)
	if err != nil {
		return nil, err
	}
	return data, s.swap(ctx, headFile, before, data)
}

// mayRecord returns an error if the history is signed and a line would not be: all who trust keys would then refuse it.
func (s *Store) mayRecord(l *ledger) error {
	if l.head != nil && len(l.head.Signatures) > 0 && s.keys.Sign == nil {
		return fmt.Errorf("the history is signed: %w", ErrNoKey)
	}
	return nil
}

// record adds an event to the history, with the time, then lets change follow, and makes the head agree with what came
// of it. Lines that are there stay; one that was cut off goes.
func (s *Store) record(ctx context.Context, l *ledger, e Event, change func() error) error {
	var line, announced []byte
	for {
		if l.history == nil && l.damage != nil { // it cannot be read, so no line can follow
			return fmt.Errorf("recording the history: %w", l.damage)
		}
		whole := wholeLines(l.history)
		if line != nil && bytes.Contains(whole, line) {
			break // this write, of which the answer was lost
		}
		before := whole[bytes.LastIndexByte(bytes.TrimSuffix(whole, []byte("\n")), '\n')+1:]
		e.Time, e.Abandoned = time.Now().UTC(), false
		e.Previous, e.Restart = digest(bytes.TrimSuffix(before, []byte("\n"))), false
		wrong := s.agree(l) // which a person mends
		if wrong != nil || len(whole) > 0 && !l.chained {
			e.Previous, e.Restart = digest(whole), true
		}
		var err error
		if line, err = json.Marshal(e); err != nil {
			return fmt.Errorf("recording the history: %w", err)
		}
		line = append(line, '\n')
		after := slices.Concat(whole, line)
		h := signing.NewHead(after, e.served(l.served))
		if wrong == nil { // what is there stays allowed, and what other writers announced, who may be about to write it
			h.Allow(l.head, l.history, l.served)
		}
		if announced, err = s.writeHead(ctx, l.headData, h); err == nil {
			err = s.swap(ctx, historyFile, l.history, after)
		}
		if err == nil {
			break
		}
		if errors.Is(err, ErrConflict) {
			l, err = s.agreed(ctx)
		}
		if err != nil {
			return fmt.Errorf("recording the history: %w", err)
		}
	}
	err, to := change(), ""
	if err == nil && e.changes() {
		to = e.To
	}
	return errors.Join(err, s.settle(ctx, announced, line, to))
}

// served returns what is served after an event, if before was.
func (e *Event) served(before string) string {
	if e.changes() {
		return e.To
	}
	return before
}

// settle makes the head, which announced a change and was written as that data, say what came of it: its line stands in
// the history, and to, if not "", is served. If another writer has announced a change meanwhile, it is left to that
// one, unless its head knows nothing of this change. All else was written by another hand: that is never signed.
func (s *Store) settle(ctx context.Context, announced, line []byte, to string) error {
	for {
		l, err := s.look(ctx)
		if err != nil {
			return fmt.Errorf("recording the history: %w", err)
		}
		own, known := bytes.Equal(l.headData, announced), *l
		if !own && l.head != nil && to != "" && l.served == to && !slices.Contains(l.head.Champion, to) {
			known.served = l.head.Champion[len(l.head.Champion)-1]
		}
		err = s.agree(&known)
		switch {
		case err != nil:
		case !bytes.Contains(l.history, line):
			err = &disagreement{&FileError{File: historyFile, Err: errors.New("a line that was just added is missing")}}
		case own && to != "" && l.served != to:
			err = &disagreement{l.swapped(to)}
		case !own && known.served == l.served:
			return nil
		default:
			_, err = s.writeHead(ctx, l.headData, signing.NewHead(l.history, l.served))
		}
		if !errors.Is(err, ErrConflict) {
			if err != nil {
				err = fmt.Errorf("recording the history: %w", err)
			}
			return err
		}
	}
}
