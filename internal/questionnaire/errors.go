package questionnaire

import (
	"errors"
	"fmt"
	"strings"
)

// Error is bad input at a place in a file. It quotes no answer and no id: they are the participants'.
type Error struct {
	File   string
	Line   int    // from 1, which is the header; 0 for the whole file
	Column string // "" if no single column is at fault
	Err    error
}

// Error returns, for instance, `answers.csv, line 13, column "q006": answer out of range: 0 to 2`.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ", line %d", e.Line)
	}
	if e.Column != "" {
		fmt.Fprintf(&b, ", column %q", e.Column)
	}
	return b.String() + ": " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// The reasons of an Error.
var (
	ErrNoColumn       = errors.New("no such column")
	ErrColumnTwice    = errors.New("two columns have this name")
	ErrNoItem         = errors.New("no column matches the items")
	ErrNoParticipants = errors.New("no participants")
	ErrNoAnswers      = errors.New("no participant with answers")
	ErrOneParticipant = errors.New("only one participant with answers; at least two are needed")
	ErrNotNumber      = errors.New("not a number")
	ErrEncoding       = errors.New("not text in UTF-8: save it as CSV in UTF-8")
	ErrLineEnds       = errors.New("lines end in carriage returns alone, as on old Macs: save it as CSV in UTF-8")
	ErrNotFinite      = errors.New("not a finite number")
	ErrOutOfRange     = errors.New("answer out of range")
	ErrRange          = errors.New("not a range: must be low:high, two numbers with low below high")
	ErrScale          = errors.New("numbers too large or too small to calculate with")
	ErrNegative       = errors.New("the range begins below 0: --from-low counts answers from its low end")
	ErrBelow          = errors.New("an answer below 0, the lowest in the file: name a code of missing entries with --missing-code, or count answers from the lowest with --from-low")
	ErrNeverAnswered  = errors.New("nobody answered this item")
	ErrConstant       = errors.New("a constant item: all answers are the same")
	ErrNoID           = errors.New("no id")
	ErrSameID         = errors.New("the same id as on an earlier line")
	ErrNoConfound     = errors.New("a confound without a value")
	ErrOneLevel       = errors.New("a confound with only one value")
	ErrConfoundRange  = errors.New("a confound outside its given range")
	ErrNewLevel       = errors.New("a level that was not in training")
	ErrNoBin          = errors.New("a time outside all bins")
	ErrVaries         = errors.New("the confounds differ from those")
	ErrTwoRoles       = errors.New("a column with two roles")
	ErrNoCodebook     = errors.New("a codebook without items")
	ErrCodebookColumn = errors.New("not a column of a codebook")
	ErrReverse        = errors.New("must be 0, 1, no, yes, false or true")
	ErrOneClass       = errors.New("the label has only one class")
	ErrNumbered       = errors.New("its participants have no ids to match those of other questionnaires")
	ErrNotShared      = errors.New("no participant in common with the other questionnaires")
	ErrNoOwnAnswers   = errors.New("a second stage has no answers to choose a compact set from: name the fits that it was made from")
	ErrOtherScores    = errors.New("not the scores that the fit wrote")
	ErrOtherAnswers   = errors.New("not the answers that the model was fitted to: the SHA-256 differs")
)

// ErrOptions is returned for options without meaning.
var ErrOptions = errors.New("option out of range")
