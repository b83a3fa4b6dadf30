package folds

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/wardcast/wardcast/internal/lists"
)

// The second words of the generators' seeds make folds independent of other uses of the same seed.
const (
	stratifiedStream = 0x666f6c6473 // "folds"
	spreadStream     = 0x666f_6c64  // "fold"
)

// Stratified assigns the rows to k folds with nearly the same share of each class; n_c is the number of rows of class
// c. Rows of one group are in one fold; nil groups make each row its own group. It returns nil unless 2 ≤ k ≤ count,
// the number of groups.
//
// Groups are taken in a random order, larger ones first, and each goes to the fold that keeps Σ_f Σ_c (rows of c in f /
// n_c)² smallest; ties go to the fold with fewer rows, then to the smaller number. Without groups the folds' numbers of
// rows of a class differ by at most one. The cost is O(n log n + groups·k·classes).
func Stratified[C comparable](y []C, groups []string, k int, seed uint64) (fold []int, count int) {
	class, classes := Numbered(y)
	total := make([]float64, classes) // rows of each class
	for _, c := range class {
		total[c]++
	}
	members := Groups(groups)
	if groups == nil {
		members = lists.Make(len(y), func(i int) []int { return []int{i} })
	}
	if k < 2 || k > len(members) {
		return nil, len(members)
	}
	random := rand.New(rand.NewPCG(seed, stratifiedStream))
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
	return assigned, len(members)
}

// Groups returns the rows of each group, groups in the order of their first row.
func Groups(groups []string) [][]int {
	numbers, count := Numbered(groups)
	members := make([][]int, count)
	for i, g := range numbers {
		members[g] = append(members[g], i)
	}
	return members
}

// Numbered numbers distinct keys in the order of their first occurrence. It returns the number of each key and their
// count.
func Numbered[K comparable](keys []K) (numbers []int, count int) {
	number := map[K]int{}
	numbers = make([]int, len(keys))
	for i, k := range keys {
		if _, seen := number[k]; !seen {
			number[k] = len(number)
		}
		numbers[i] = number[k]
	}
	return numbers, len(number)
}

// Distinct returns the number of distinct names.
func Distinct(names []string) int {
	_, count := Numbered(names)
	return count
}

// Spread assigns the rows of each class, 0 … classes−1, evenly to k folds at random. A class begins at the fold after
// the last fold of the class before it.
func Spread(y []int, classes, k int, seed uint64) []int {
	foldOf := make([]int, len(y))
	random := rand.New(rand.NewPCG(seed, spreadStream))
	next := 0
	for class := range classes {
		members := lists.Where(len(y), func(i int) bool { return y[i] == class })
		random.Shuffle(len(members), func(a, b int) { members[a], members[b] = members[b], members[a] })
		for _, i := range members {
			foldOf[i] = next % k
			next++
		}
	}
	return foldOf
}

// Random assigns n rows to k folds at random. The folds' numbers of rows differ by at most one.
func Random(random *rand.Rand, n, k int) []int {
	order, foldOf := random.Perm(n), make([]int, n)
	for f := range k {
		for _, i := range order[f*n/k : (f+1)*n/k] {
			foldOf[i] = f
		}
	}
	return foldOf
}

// Count returns the number of folds, from 2 to the number of rows. It is an error if the folds of the rows are not
// numbered from 0 or one of them has no row.
func Count(foldOf []int) (int, error) {
	count := slices.Max(foldOf) + 1
	if count < 2 || count > len(foldOf) {
		return 0, fmt.Errorf("%d folds for %d rows", count, len(foldOf))
	}
	used := make([]bool, count)
	for i, f := range foldOf {
		if f < 0 {
			return 0, fmt.Errorf("fold %d at row %d", f, i)
		}
		used[f] = true
	}
	if f := slices.Index(used, false); f >= 0 {
		return 0, fmt.Errorf("fold %d has no row", f)
	}
	return count, nil
}

// Split returns the rows outside a fold and those in it, both ascending.
func Split(foldOf []int, fold int) (outside, inside []int) {
	for i, f := range foldOf {
		if f == fold {
			inside = append(inside, i)
		} else {
			outside = append(outside, i)
		}
	}
	return outside, inside
}

// Resample draws n of the rows 0 … n−1 with replacement.
func Resample(random *rand.Rand, n int) []int {
	return lists.Make(n, func(int) int { return random.IntN(n) })
}
