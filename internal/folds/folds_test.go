package folds_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/internal/folds"
)

// Each class is spread evenly over the folds, and the parts of a split hold every row once.
func TestSpreadAndSplit(t *testing.T) {
	t.Parallel()
	y := make([]int, 23)
	for i := range y {
		y[i] = i % 3
	}
	of := folds.Spread(y, 3, 4, 1)
	if count, err := folds.Count(of); err != nil || count != 4 {
		t.Fatalf("%d folds, error %v", count, err)
	}
	var all []int
	for f := range 4 {
		outside, inside := folds.Split(of, f)
		if !slices.IsSorted(outside) || len(outside)+len(inside) != len(y) {
			t.Errorf("fold %d: %v and %v", f, outside, inside)
		}
		var classes [3]int
		for _, i := range inside {
			classes[y[i]]++
		}
		if slices.Max(classes[:])-slices.Min(classes[:]) > 1 {
			t.Errorf("fold %d holds %v of the classes", f, classes)
		}
		all = append(all, inside...)
	}
	slices.Sort(all)
	for i, row := range all {
		if i != row {
			t.Fatalf("rows %v", all)
		}
	}
	if diff := cmp.Diff(of, folds.Spread(y, 3, 4, 1)); diff != "" {
		t.Errorf("equal seeds (-first +second):\n%s", diff)
	}
}

func TestPartition(t *testing.T) {
	t.Parallel()
	parts := folds.Partition(rand.New(rand.NewPCG(1, 2)), 11, 3)
	var all []int
	for _, part := range parts {
		if !slices.IsSorted(part) || len(part) < 3 || len(part) > 4 {
			t.Errorf("part %v", part)
		}
		all = append(all, part...)
	}
	slices.Sort(all)
	if len(slices.Compact(all)) != 11 {
		t.Errorf("parts %v", parts)
	}
}

func TestCountRefuses(t *testing.T) {
	t.Parallel()
	for _, of := range [][]int{{0, 0}, {0, 2}, {1, 1}, {-1, 1}, {0, 1, 3, 3}} {
		if count, err := folds.Count(of); err == nil {
			t.Errorf("%v: %d folds", of, count)
		}
	}
}
