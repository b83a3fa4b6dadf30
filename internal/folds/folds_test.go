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

func TestRandom(t *testing.T) {
	t.Parallel()
	of := folds.Random(rand.New(rand.NewPCG(1, 2)), 11, 3)
	for f := range 3 {
		if _, in := folds.Split(of, f); len(in) < 3 || len(in) > 4 {
			t.Errorf("fold %d has rows %v", f, in)
		}
	}
	if len(of) != 11 {
		t.Errorf("folds of %d rows", len(of))
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
