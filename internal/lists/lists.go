package lists

import "slices"

// Make returns f(0) … f(n−1). It is never nil.
func Make[T any](n int, f func(i int) T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

// Map returns what f makes of each entry of a list. It is never nil.
func Map[T, U any](all []T, f func(T) U) []U {
	return Make(len(all), func(i int) U { return f(all[i]) })
}

// Where returns which of the numbers 0 … n−1 the condition holds for, nil if it holds for none.
func Where(n int, holds func(i int) bool) (at []int) {
	for i := range n {
		if holds(i) {
			at = append(at, i)
		}
	}
	return at
}

// Count returns how many entries of a list the condition holds for.
func Count[T any](all []T, holds func(T) bool) (n int) {
	for _, v := range all {
		if holds(v) {
			n++
		}
	}
	return n
}

// Union returns a list with the entries of another one that it lacks, each once, behind its own.
func Union[T comparable](all, more []T) []T {
	for _, v := range more {
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// Take returns these entries of a list, nil for a nil list.
func Take[T any](all []T, at []int) []T {
	if all == nil {
		return nil
	}
	return Map(at, func(i int) T { return all[i] })
}

// Set returns the entries of a list, each true.
func Set[T comparable](all []T) map[T]bool {
	set := make(map[T]bool, len(all))
	for _, v := range all {
		set[v] = true
	}
	return set
}
