package eval

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// foldStream sets the folds' random numbers apart from other uses of the same seed.
const foldStream = 0x666f6c6473 // "folds"

// StratifiedFolds deals the rows into k folds 0…k−1 that hold nearly the same share of positive outcomes, and
// returns the fold of each row. Rows of one group (patient, visit) stay in one fold; nil groups are all of one row.
//
// Groups are taken in a random order, larger ones first, and each goes to the fold that keeps Σ_f (positives_f/n₁)²
// + (negatives_f/n₀)² smallest, ties to the fold of fewer rows, then of the smaller number. Without groups the
// folds' numbers of positive rows differ by at most one, and so do those of negative rows. Equal input and seed
// give equal folds; for repeats take different seeds. The cost is O(n log n + groups·k).
//
// It returns ErrArgument unless 2 ≤ k ≤ groups, ErrOneClass unless both classes occur.
func StratifiedFolds(y []bool, groups []string, k int, seed uint64) ([]int, error) {
	if groups != nil && len(groups) != len(y) {
		return nil, fmt.Errorf("%w: %d groups for %d rows", ErrShape, len(groups), len(y))
	}
	positives, negatives, err := bothClasses(y)
	if err != nil {
		return nil, err
	}
	members := groupRows(groups, len(y))
	if k < 2 || k > len(members) {
		return nil, fmt.Errorf("%w: %d folds of %d groups", ErrArgument, k, len(members))
	}
	random := rand.New(rand.NewPCG(seed, foldStream))
	random.Shuffle(len(members), func(a, b int) { members[a], members[b] = members[b], members[a] })
	slices.SortStableFunc(members, func(a, b []int) int { return cmp.Compare(len(b), len(a)) })

	type fold struct{ positives, negatives float64 }
	folds := make([]fold, k)
	assigned := make([]int, len(y))
	for _, rows := range members {
		var add fold
		for _, i := range rows {
			if y[i] {
				add.positives++
			} else {
				add.negatives++
			}
		}
		growth := func(f fold) float64 {
			return add.positives*(2*f.positives+add.positives)/square(positives) + add.negatives*(2*f.negatives+add.negatives)/square(negatives)
		}
		best := 0
		for f := 1; f < k; f++ {
			if cmp.Or(cmp.Compare(growth(folds[f]), growth(folds[best])), cmp.Compare(folds[f].positives+folds[f].negatives, folds[best].positives+folds[best].negatives)) < 0 {
				best = f
			}
		}
		folds[best].positives += add.positives
		folds[best].negatives += add.negatives
		for _, i := range rows {
			assigned[i] = best
		}
	}
	return assigned, nil
}

func square(count int) float64 { return float64(count) * float64(count) }

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
