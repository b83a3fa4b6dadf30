package solver

import "errors"

// Status is the reason why a run ended.
type Status int

// The ways a run ends.
const (
	// NotTerminated is the status of a run that goes on.
	NotTerminated Status = iota
	// Converged means that several updates in a row changed the objective by no more than RelTol or AbsTol allows.
	Converged
	// Stationary means that the method finds no update that lowers the objective by more than rounding.
	Stationary
	// IterationLimit means that MaxIter updates were made before any tolerance was met.
	IterationLimit
	// Cancelled means that the context ended first. The result is the best iterate so far.
	Cancelled
	// Stopped means that the Recorder returned ErrStop. The result is the iterate that it was shown.
	Stopped
	// SearchFailed means that a line search found no step although the gradient promises one. The result is the
	// iterate before the search.
	SearchFailed
	// NonFinite means that the objective became NaN or infinite at Result.Iterations; the factors are useless.
	NonFinite
	// Cycling means that updates of a given step length no longer lower the objective: the step is too long. The result
	// is the last iterate.
	Cycling
)

type ending struct {
	name string
	err  error
}

var endings = [...]ending{
	NotTerminated:  {"not-terminated", nil},
	Converged:      {"converged", nil},
	Stationary:     {"stationary", nil},
	IterationLimit: {"iteration-limit", errors.New("iteration limit reached")},
	Cancelled:      {"cancelled", errors.New("run cancelled")},
	Stopped:        {"stopped", errors.New("run stopped by its recorder")},
	SearchFailed:   {"search-failed", errors.New("line search found no descent")},
	NonFinite:      {"non-finite", errors.New("objective is not finite")},
	Cycling:        {"cycling", errors.New("step too long: objective no longer falls")},
}

var unknown = ending{"unknown", errors.New("unknown status")}

func (s Status) ending() ending {
	if s < 0 || int(s) >= len(endings) {
		return unknown
	}
	return endings[s]
}

// String returns the name of the status in result files.
func (s Status) String() string { return s.ending().name }

// Early reports whether the run ended before a minimum was found.
func (s Status) Early() bool { return s.Err() != nil }

// Err returns the error of a run that ended early, nil otherwise.
func (s Status) Err() error { return s.ending().err }
