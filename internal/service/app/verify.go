package app

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// verifyEvery is how often the files of the models in use are read again.
const verifyEvery = 10 * time.Minute

// damagedInUse is the error of files in the store that are damaged although the models in use were read from them
// before.
type damagedInUse struct {
	generation string
	err        error
}

func (e *damagedInUse) Error() string { return e.err.Error() }

func (e *damagedInUse) Unwrap() error { return e.err }

// verification reads the files of the models in use now and then: these are in memory, so nothing else shows damage
// in the store before the next start fails.
type verification struct {
	triage *triage
	stream *stream
	found  atomic.Pointer[damagedInUse] // nil if all files are sound
}

// run verifies every so often until ctx ends, and what is damaged more often, so that it is soon known to be mended.
func (v *verification) run(ctx context.Context, every time.Duration) error {
	for {
		pause := every
		if v.found.Load() != nil {
			pause = min(every, maxPause)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		if found := v.verify(ctx); ctx.Err() == nil {
			v.found.Store(found)
			v.stream.hint() // which reports it, or that it is mended
		}
	}
}

func (v *verification) verify(ctx context.Context) *damagedInUse {
	set := v.triage.set()
	var errs []error
	for name, version := range set.Versions {
		errs = append(errs, v.triage.store.CheckVersion(ctx, name, version))
	}
	if err := errors.Join(errs...); err != nil {
		return &damagedInUse{set.Generation, fmt.Errorf("generation %q: %w", set.Generation, err)}
	}
	return nil
}

// damage returns the error of the latest verification, or nil. Damage to a generation that is no longer in use is none.
func (v *verification) damage() error {
	if found := v.found.Load(); found != nil && found.generation == v.triage.set().Generation {
		return found
	}
	return nil
}
