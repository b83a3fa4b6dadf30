package eval

import (
	"fmt"
	"slices"
	"time"

	"github.com/wardcast/wardcast/internal/folds"
)

// StratifiedFolds deals the rows into k folds 0 … k−1 that hold nearly the same share of each class, and returns the
// fold of each row; see folds.Stratified. y are outcomes, or numbers of classes. Rows of one group (patient, visit)
// stay in one fold; nil groups are all of one row. Equal input and seed give equal folds.
//
// It returns ErrShape if groups and y differ in length, ErrArgument unless 2 ≤ k ≤ groups, and ErrOneClass unless two
// classes occur.
func StratifiedFolds[C comparable](y []C, groups []string, k int, seed uint64) ([]int, error) {
	if groups != nil && len(groups) != len(y) {
		return nil, fmt.Errorf("%w: %d groups for %d rows", ErrShape, len(groups), len(y))
	}
	if !slices.ContainsFunc(y, func(c C) bool { return c != y[0] }) {
		return nil, fmt.Errorf("%w: of %d rows", ErrOneClass, len(y))
	}
	of, count := folds.Stratified(y, groups, k, seed)
	if of == nil {
		return nil, fmt.Errorf("%w: %d folds of %d groups", ErrArgument, k, count)
	}
	return of, nil
}

// TemporalCut returns the earliest time of the rows to test on, so that about the given share of the rows lies before
// it, to train on. It returns ErrArgument unless share is in (0,1) and both parts have rows.
func TemporalCut(times []time.Time, share float64) (cut time.Time, err error) {
	if !(share > 0 && share < 1) {
		return cut, fmt.Errorf("%w: share %v is not in (0,1)", ErrArgument, share)
	}
	if len(times) == 0 {
		return cut, fmt.Errorf("%w: no rows", ErrShape)
	}
	cut = slices.SortedFunc(slices.Values(times), time.Time.Compare)[int(share*float64(len(times)))]
	if !slices.ContainsFunc(times, cut.After) {
		return cut, fmt.Errorf("%w: share %v leaves no row before %v", ErrArgument, share, cut)
	}
	return cut, nil
}
