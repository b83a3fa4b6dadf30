package questionnaire

import (
	"errors"
	"fmt"
	"strings"
)

// Error is bad input at a place. It quotes no cell: answers and ids are the participants'.
type Error struct {
	File   string
	Line   int    // from 1, the header's; 0 for the file as a whole
	Column string // "" where no single column is at fault
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
	ErrColumnTwice    = errors.New("two columns of this name")
	ErrNoItem         = errors.New("no column matches the items")
	ErrNoParticipants = errors.New("no participants")
	ErrNoAnswers      = errors.New("no participant with answers")
	ErrOneParticipant = errors.New("one participant with answers; at least two are wanted")
	ErrNotNumber      = errors.New("not a number")
	ErrEncoding       = errors.New("no text in UTF-8: save it as CSV in UTF-8")
	ErrLineEnds       = errors.New("lines end in carriage returns alone, as on old Macs: save it as CSV in UTF-8")
	ErrNotFinite      = errors.New("not a finite number")
	ErrOutOfRange     = errors.New("answer out of range")
	ErrRange          = errors.New("not a range: want low:high, two numbers with low below high")
	ErrScale          = errors.New("numbers too large or too small to calculate with")
	ErrNegative       = errors.New("answers below 0 are to be counted from the low end of their range: --from-low")
	ErrBelow          = errors.New("an answer below 0, the lowest: --missing-code names a code of missing entries, --from-low counts answers from the lowest")
	ErrNeverAnswered  = errors.New("an item that nobody answered")
	ErrConstant       = errors.New("a constant item: all answers are the same")
	ErrNoID           = errors.New("no id")
	ErrSameID         = errors.New("the same id as that of an earlier line")
	ErrNoConfound     = errors.New("a confound without value")
	ErrOneLevel       = errors.New("a confound of one value only")
	ErrConfoundRange  = errors.New("a confound outside its known range")
	ErrNewLevel       = errors.New("a level that was not in training")
	ErrNoBin          = errors.New("a time outside all bins")
	ErrVaries         = errors.New("confounds other than those")
	ErrTwoRoles       = errors.New("a column of two roles")
	ErrNoCodebook     = errors.New("a codebook without items")
	ErrCodebookColumn = errors.New("no column of a codebook")
	ErrReverse        = errors.New("want 0, 1, no, yes, false or true")
	ErrOneClass       = errors.New("only one class among the labels")
	ErrNoOwnAnswers   = errors.New("a compact set is of items, and a second stage has no answers of its own: name the fits that it was made from")
	ErrOtherScores    = errors.New("not the scores that the fit wrote")
	ErrOtherAnswers   = errors.New("not the answers that the model was fitted to: the SHA-256 is another")
)

// ErrOptions is returned for options without meaning.
var ErrOptions = errors.New("option out of range")
