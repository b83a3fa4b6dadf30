package smf

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/folds"
	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
)

// checkFolds returns the number of folds. It refuses an empty fold, and a class whose documents all lie in one fold: a model
// that never saw a class cannot predict it.
func checkFolds(of []int, data Data) (count int, err error) {
	if len(of) != len(data.Labels) {
		return 0, fmt.Errorf("%w: %d folds for %d labels", solver.ErrShape, len(of), len(data.Labels))
	}
	if count, err = folds.Count(of); err != nil {
		return 0, fmt.Errorf("%w: %w", solver.ErrSettings, err)
	}
	documents, in := make([]int, data.Classes), slices.Repeat([]int{-1}, data.Classes) // the fold of each class; count if it is in several
	for i, y := range data.Labels {
		documents[y]++
		if in[y] < 0 {
			in[y] = of[i]
		} else if in[y] != of[i] {
			in[y] = count
		}
	}
	for class, f := range in {
		if f < count {
			return 0, fmt.Errorf("%w: class %d occurs in one fold only, with %d documents", ErrLabels, class, documents[class])
		}
	}
	return count, nil
}

// selectRows returns some documents of a stored matrix and their data.
func selectRows(x mat.Matrix, data Data, rows []int) (mat.Matrix, Data) {
	s := Data{Classes: data.Classes, Aux: linalg.SelectRows(data.Aux, rows)}
	for _, i := range rows {
		s.Labels = append(s.Labels, data.Labels[i])
		if data.Weights != nil {
			s.Weights = append(s.Weights, data.Weights[i])
		}
	}
	dense, sparse := linalg.Stored(x)
	if sparse != nil {
		return sparse.SelectRows(rows), s
	}
	return linalg.SelectRows(dense, rows), s
}
