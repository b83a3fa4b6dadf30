package train

import (
	"fmt"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/folds"
)

// Split holds the rows that models are trained on and those that they are tested on. No patient is in both.
type Split struct{ Train, Test []int }

// Repeats holds for each repetition the splits that together test every row once.
type Repeats [][]Split

// CrossValidation returns k stratified folds for each repetition, which never split a patient.
func CrossValidation(all []Row, k, repeats int, seed uint64) (Repeats, error) {
	type outcome struct {
		class    int
		admitted bool
	}
	outcomes := make([]outcome, len(all))
	for i, r := range all {
		outcomes[i] = outcome{r.Class, r.Positive}
	}
	out := make(Repeats, repeats)
	for r := range out {
		of, err := eval.StratifiedFolds(outcomes, patients(all), k, seed+uint64(r))
		if err != nil {
			return nil, fmt.Errorf("choosing folds: %w", err)
		}
		out[r] = make([]Split, k)
		for f := range out[r] {
			out[r][f].Train, out[r][f].Test = folds.Split(of, f)
		}
	}
	return out, nil
}

// Holdout returns one split that trains on the rows that inTraining selects and tests on the others, except those whose
// patient is trained on; dropped counts these. It is an error if either part is empty.
func Holdout(all []Row, inTraining func(i int) bool) (_ Repeats, dropped int, err error) {
	var split Split
	who, trained := patients(all), map[string]bool{}
	for i, patient := range who {
		if inTraining(i) {
			split.Train = append(split.Train, i)
			trained[patient] = true
		}
	}
	for i, patient := range who {
		switch {
		case inTraining(i):
		case trained[patient]:
			dropped++
		default:
			split.Test = append(split.Test, i)
		}
	}
	if len(split.Train) == 0 || len(split.Test) == 0 {
		return nil, dropped, fmt.Errorf("%w: no notes to train on, or no notes to test on", ErrSettings)
	}
	return Repeats{{split}}, dropped, nil
}
