package eval_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wardcast/wardcast/classifier/eval"
)

func TestStratifiedFolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		y, _ := sample(t)
		checkFolds(t, y)
	})
	rapid.Check(t, func(t *rapid.T) {
		y, _ := classSample(t, rapid.IntRange(2, 5).Draw(t, "classes"))
		checkFolds(t, y)
	})
}

// checkFolds holds the folds of rows that are groups of their own against what is promised.
func checkFolds[C comparable](t *rapid.T, y []C) {
	k := rapid.IntRange(2, len(y)).Draw(t, "k")
	seed := rapid.Uint64().Draw(t, "seed")
	folds, err := eval.StratifiedFolds(y, nil, k, seed)
	if err != nil {
		t.Fatal(err)
	}
	counts, rows := map[C][]int{}, make([]int, k)
	for i, f := range folds {
		if counts[y[i]] == nil {
			counts[y[i]] = make([]int, k)
		}
		counts[y[i]][f]++
		rows[f]++
	}
	for class, byFold := range counts {
		if slices.Max(byFold)-slices.Min(byFold) > 1 {
			t.Fatalf("class %v in folds %v", class, byFold)
		}
	}
	if slices.Contains(rows, 0) {
		t.Fatalf("rows of folds: %v", rows)
	}
	again, err := eval.StratifiedFolds(y, nil, k, seed)
	if err != nil || !cmp.Equal(folds, again) {
		t.Fatal("the same seed gave other folds")
	}
}

func TestGroupedFolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		y, _ := sample(t)
		groups := make([]string, len(y))
		distinct := map[string]bool{}
		for i := range groups {
			groups[i] = strconv.Itoa(rapid.IntRange(0, 20).Draw(t, "group"))
			distinct[groups[i]] = true
		}
		if len(distinct) < 2 {
			return
		}
		k := rapid.IntRange(2, len(distinct)).Draw(t, "k")
		folds, err := eval.StratifiedFolds(y, groups, k, 1)
		if err != nil {
			t.Fatal(err)
		}
		of, used := map[string]int{}, map[int]bool{}
		for i, f := range folds {
			if before, seen := of[groups[i]]; seen && before != f {
				t.Fatalf("group %s in folds %d and %d", groups[i], before, f)
			}
			of[groups[i]] = f
			used[f] = true
		}
		if len(used) != k {
			t.Fatalf("%d of %d folds used", len(used), k)
		}
	})
}

func TestFoldsDifferBySeed(t *testing.T) {
	t.Parallel()
	y := make([]bool, 100)
	for i := range y {
		y[i] = i%3 == 0
	}
	a, err := eval.StratifiedFolds(y, nil, 5, 1)
	if err != nil {
		t.Fatal(err)
	}
	b, err := eval.StratifiedFolds(y, nil, 5, 2)
	if err != nil {
		t.Fatal(err)
	}
	if cmp.Equal(a, b) {
		t.Error("two seeds gave the same folds")
	}
}

func TestTemporalCut(t *testing.T) {
	t.Parallel()
	day := func(d int) time.Time { return time.Date(2026, 1, d, 0, 0, 0, 0, time.UTC) }
	times := []time.Time{day(5), day(1), day(3), day(3), day(2)}
	cut, err := eval.TemporalCut(times, 0.6)
	if err != nil {
		t.Fatal(err)
	}
	// The third of five is a 3rd of January, and so is the fourth: both are tested on.
	if !cut.Equal(day(3)) {
		t.Errorf("cut at %v", cut)
	}
	for _, c := range []struct {
		times []time.Time
		share float64
		want  error
	}{{times, 0, eval.ErrArgument}, {times, 1, eval.ErrArgument}, {nil, 0.5, eval.ErrShape}, {
		[]time.Time{day(1), day(1)}, 0.5, eval.ErrArgument,
	}} {
		if _, err := eval.TemporalCut(c.times, c.share); !errors.Is(err, c.want) {
			t.Errorf("share %v: error %v, want %v", c.share, err, c.want)
		}
	}
}
