package eval

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// foldStream sets the folds' random numbers apart from other uses of the same seed.
const foldStream = 0x666f6c6473 // "folds"

// StratifiedFolds deals the rows into k folds 0…k−1 that hold nearly the same share of each class, and returns the fold of
// each row. y are outcomes, or numbers of classes; n_c of the rows are of class c. Rows of one group (patient, visit) stay
// in one fold; nil groups are all of one row.
//
// Groups are taken in a random order, larger ones first, and each goes to the fold that keeps Σ_f Σ_c (rows of c in f /
// n_c)² smallest, ties to the fold of fewer rows, then of the smaller number. Without groups the folds' numbers of rows of
// a class differ by at most one. Equal input and seed give equal folds; for repeats take different seeds. The cost is
// O(n log n + groups·k·classes).
//
// It returns ErrArgument unless 2 ≤ k ≤ groups, ErrOneClass unless two classes occur.
func StratifiedFolds[C comparable](y []C, groups []string, k int, seed uint64) ([]int, error) {
	if groups != nil && len(groups) != len(y) {
		return nil, fmt.Errorf("%w: %d groups for %d rows", ErrShape, len(groups), len(y))
	}
	number := map[C]int{} // of a class, in the order in which they occur
	class := make([]int, len(y))
	var total []float64 // rows of each class
	for i, c := range y {
		at, seen := number[c]
		if !seen {
			at = len(total)
			number[c] = at
			total = append(total, 0)
		}
		class[i] = at
		total[at]++
	}
	if len(total) < 2 {
		return nil, fmt.Errorf("%w: of %d rows", ErrOneClass, len(y))
	}
	members := groupRows(groups, len(y))
	if k < 2 || k > len(members) {
		return nil, fmt.Errorf("%w: %d folds of %d groups", ErrArgument, k, len(members))
	}
	random := rand.New(rand.NewPCG(seed, foldStream))
	random.Shuffle(len(members), func(a, b int) { members[a], members[b] = members[b], members[a] })
	slices.SortStableFunc(members, func(a, b []int) int { return cmp.Compare(len(b), len(a)) })

	folds := make([][]float64, k) // rows of each class
	rows := make([]int, k)
	for f := range folds {
		folds[f] = make([]float64, len(total))
	}
	assigned := make([]int, len(y))
	add := make([]float64, len(total))
	for _, group := range members {
		clear(add)
		for _, i := range group {
			add[class[i]]++
		}
		best, least := 0, math.Inf(1)
		for f, has := range folds {
			var growth float64
			for c, a := range add {
				growth += a * (2*has[c] + a) / (total[c] * total[c])
			}
			if growth < least || growth == least && rows[f] < rows[best] {
				best, least = f, growth
			}
		}
		for c, a := range add {
			folds[best][c] += a
		}
		rows[best] += len(group)
		for _, i := range group {
			assigned[i] = best
		}
	}
	return assigned, nil
}

// groupRows returns the rows of each group, groups in the order of their first row.
func groupRows(groups []string, n int) [][]int {
	var members [][]int
	at := map[string]int{}
	for i := range n {
		if groups == nil {
			members = append(members, []int{i})
			continue
		}
		g, seen := at[groups[i]]
		if !seen {
			g = len(members)
			at[groups[i]] = g
			members = append(members, nil)
		}
		members[g] = append(members[g], i)
	}
	return members
}

// TemporalSplit parts the rows into the earliest, about the given share of them, to train on and the rest to test
// on, both ascending. cut is the earliest time of the test rows: all train rows lie before it, so rows of one time
// are never parted; those at the border are tested on. It returns ErrArgument unless share is in (0,1) and both
// parts have rows.
func TemporalSplit(times []time.Time, share float64) (train, test []int, cut time.Time, err error) {
	if !(share > 0 && share < 1) {
		return nil, nil, cut, fmt.Errorf("%w: share %v is not in (0,1)", ErrArgument, share)
	}
	if len(times) == 0 {
		return nil, nil, cut, fmt.Errorf("%w: no rows", ErrShape)
	}
	cut = slices.SortedFunc(slices.Values(times), time.Time.Compare)[int(share*float64(len(times)))]
	for i, t := range times {
		if t.Before(cut) {
			train = append(train, i)
		} else {
			test = append(test, i)
		}
	}
	if len(train) == 0 {
		return nil, nil, cut, fmt.Errorf("%w: share %v leaves no row before %v", ErrArgument, share, cut)
	}
	return train, test, cut, nil
}
