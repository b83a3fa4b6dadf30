package icqf

import (
	"errors"
)

var (
	// ErrNoAnswers is returned for a participant, or an item, without an observed answer.
	ErrNoAnswers = errors.New("no answers")
	// ErrConfounds is returned for confounds that do not fit the answers or the model, or are outside [0, 1].
	ErrConfounds = errors.New("confounds out of range")
	// ErrNotOptimal is returned if the search for the scores of a participant does not end.
	ErrNotOptimal = errors.New("minimum not reached")
)
