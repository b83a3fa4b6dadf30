package icqf

import (
	"errors"
	"fmt"

	"github.com/wardcast/wardcast/solver"
)

var (
	// ErrNoAnswers is returned for a participant, or an item, without an observed answer.
	ErrNoAnswers = errors.New("no answers")
	// ErrConfounds is returned for confounds that do not fit the answers or the model, or are outside [0, 1].
	ErrConfounds = errors.New("confounds out of range")
	// ErrNotOptimal is returned if the search for the scores of a participant does not end.
	ErrNotOptimal = errors.New("minimum not reached")
)

// RangeError tells an answer outside the range, counted from 0. It wraps solver.ErrDomain.
type RangeError struct {
	Row, Col        int
	Value, Min, Max float64
}

// Error returns the position, the value and the range.
func (e *RangeError) Error() string {
	return fmt.Sprintf("answer in row %d, column %d is %v, not in %v … %v", e.Row, e.Col, e.Value, e.Min, e.Max)
}

// Unwrap returns solver.ErrDomain.
func (e *RangeError) Unwrap() error { return solver.ErrDomain }
