package train

import (
	"fmt"
	"slices"
	"time"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/lists"
)

const latestShare = 0.2 // the share of the notes that a first model is judged on

// HoldLatest sets Latest to the arrival of the first of the latest fifth of the notes, unless an arrival is unknown, or
// one of the two parts has too few notes of an outcome to be judged or learned from.
func (d *Data) HoldLatest() {
	times := lists.Make(len(d.Rows), func(i int) time.Time { return d.Rows[i].Arrived })
	cut, err := eval.TemporalCut(times, 1-latestShare)
	if err != nil || slices.ContainsFunc(times, time.Time.IsZero) {
		return
	}
	before, _ := parts(d.Rows, patients(d.Rows), cut)
	early := Group{Data: d.subset(before)}
	if early.enough(1, minClass) && rarer(lists.Take(d.Rows, from(d.Rows, cut))) >= enoughLater {
		d.Latest = cut
	}
}

// from returns the positions of the rows that arrived at a time or later.
func from(all []Row, cut time.Time) (at []int) {
	for i := range all {
		if !all[i].Arrived.Before(cut) {
			at = append(at, i)
		}
	}
	return at
}

// parts returns the positions of the rows of patients who came before a time only, and of all others.
func parts(all []Row, who []string, cut time.Time) (before, after []int) {
	came := map[string]bool{}
	for _, i := range from(all, cut) {
		came[who[i]] = true
	}
	for i := range all {
		if came[who[i]] {
			after = append(after, i)
		} else {
			before = append(before, i)
		}
	}
	return before, after
}

// folds deals the rows into the parts of a cross-validation. The last one is that of Data.Latest, if there are notes
// enough to learn from without it.
func (r *rows) folds(s *Settings) ([]int, error) {
	k, before, after := s.Folds-1, []int(nil), []int(nil)
	if !r.latest.IsZero() {
		before, after = parts(r.all, r.patients, r.latest)
	}
	enough := func(at []int) bool { return fewest(lists.Take(r.classes, at), r.kappa()+1) >= minClass }
	if len(after) > 0 && enough(before) && (k > 1 || enough(after)) {
		early, err := make([]int, len(before)), error(nil)
		if k > 1 {
			early, err = eval.StratifiedFolds(lists.Take(r.classes, before), lists.Take(r.patients, before), k, s.Seed)
		}
		if err == nil {
			of := slices.Repeat([]int{k}, len(r.all))
			for n, i := range before {
				of[i] = early[n]
			}
			return of, nil
		}
	}
	of, err := eval.StratifiedFolds(r.classes, r.patients, s.Folds, s.Seed)
	if err != nil {
		return nil, fmt.Errorf("choosing folds: %w", err)
	}
	return of, nil
}
