package questionnaire

import (
	"errors"
	"fmt"

	"github.com/wardcast/wardcast/internal/wording"
)

// MaxItems bounds the items of a file: methods hold several matrices of all pairs of them.
const MaxItems = 4096

// The reasons of a *table.Error about the files of a questionnaire, in addition to those of package table.
var (
	ErrNoItem         = errors.New("no column matches the items")
	ErrManyItems      = fmt.Errorf("more than %d items", MaxItems)
	ErrNoAnswers      = errors.New("no participant with answers")
	ErrOneParticipant = errors.New("only one participant with answers; at least two are needed")
	ErrNotNumber      = wording.ErrNotNumber
	ErrNotFinite      = wording.ErrNotFinite
	ErrOutOfRange     = errors.New("answer out of range")
	ErrRange          = errors.New("not a range: must be low:high, two numbers with low below high")
	ErrScale          = errors.New("numbers too large or too small to calculate with")
	ErrNegative       = errors.New("the range begins below 0: --from-low counts answers from its low end")
	ErrBelow          = errors.New("the lowest answer is below 0. If it means missing, name it with --missing-code; " +
		"otherwise use --from-low")
	ErrNeverAnswered = errors.New("no participant answered this item")
	ErrConstant      = errors.New("a constant item: all answers are the same")
	ErrFewItems      = errors.New("fewer than two items vary; reliability needs two")
	ErrNoID          = errors.New("no id")
	ErrSameID        = errors.New("the same id as on an earlier line")
	ErrNoConfound    = errors.New("a confound without a value (--omit-incomplete leaves such participants out)")
	ErrOneLevel      = errors.New("a confound with only one value")
	ErrConfoundRange = errors.New("a confound outside its given range")
	ErrNewLevel      = errors.New("a level that was not in training")
	ErrNoBin         = errors.New("a time outside all bins")
	ErrVaries        = errors.New("the confounds differ from those")
	ErrTwoRoles      = errors.New("a column with two roles")
	ErrNoValue       = errors.New("no participant with answers has this value")
	ErrCase          = errors.New("another value of the column differs from this one only in capitals")
	ErrOneClass      = errors.New("the label has only one class")
	ErrNumbered      = errors.New("its participants have no ids to match with other files")
	ErrNotShared     = errors.New("no participant in common with the other questionnaires")
	ErrNoOwnAnswers  = errors.New("a second stage has no answers to choose a compact set from: name the fits that it " +
		"was made from")
	ErrOtherScores  = errors.New("not the scores that the fit wrote")
	ErrOtherAnswers = errors.New("not the answers that the model was fitted to: the SHA-256 differs")
)

// ErrOptions is returned for invalid options.
var ErrOptions = errors.New("option out of range")

// Optionf returns an error that wraps ErrOptions.
func Optionf(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrOptions, fmt.Errorf(format, args...))
}
