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

// damagedInUse is the error of damaged files in the store from which the models in use were read.
type damagedInUse struct {
	generation string
	err        error
}

func (e *damagedInUse) Error() string { return e.err.Error() }

func (e *damagedInUse) Unwrap() error { return e.err }

// verification periodically reads the files of the models in use: damage would otherwise show only at the next start.
type verification struct {
	triage *triage
	stream *stream
	found  atomic.Pointer[damagedInUse] // nil if all files are sound
}

// run verifies at this interval until ctx ends, and damaged files more often, to detect their repair.
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
			v.stream.hint() // reload reports the damage or its repair
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

// damage returns the error of the latest verification, or nil. Damage to a generation no longer in use does not count.
func (v *verification) damage() error {
	if found := v.found.Load(); found != nil && found.generation == v.triage.set().Generation {
		return found
	}
	return nil
}
