package smf

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
)

// foldStream is the second word of the seed of the folds.
const foldStream = 0x666f_6c64

// spread returns the fold of each document, at random, each class evenly over all.
func spread(data Data, folds int, seed uint64) []int {
	of := make([]int, len(data.Labels))
	random := rand.New(rand.NewPCG(seed, foldStream))
	next := 0
	for class := range data.Classes {
		var members []int
		for i, y := range data.Labels {
			if y == class {
				members = append(members, i)
			}
		}
		random.Shuffle(len(members), func(a, b int) { members[a], members[b] = members[b], members[a] })
		for _, i := range members {
			of[i] = next % folds
			next++
		}
	}
	return of
}

// checkFolds returns the number of folds. None may be empty, and no class may lie in one alone, since a model that has never
// seen a class says nothing of it.
func checkFolds(of []int, data Data) (folds int, err error) {
	if len(of) != len(data.Labels) {
		return 0, fmt.Errorf("%w: folds of %d documents, labels of %d", solver.ErrShape, len(of), len(data.Labels))
	}
	folds = slices.Max(of) + 1
	if folds < 2 || folds > len(of) {
		return 0, fmt.Errorf("%w: %d folds of %d documents", solver.ErrSettings, folds, len(of))
	}
	used := make([]bool, folds)
	count, in := make([]int, data.Classes), slices.Repeat([]int{-1}, data.Classes) // the fold of a class, folds for several
	for i, f := range of {
		if f < 0 {
			return 0, fmt.Errorf("%w: fold %d of document %d", solver.ErrSettings, f, i)
		}
		used[f] = true
		y := data.Labels[i]
		count[y]++
		switch in[y] {
		case -1:
			in[y] = f
		case f:
		default:
			in[y] = folds
		}
	}
	if f := slices.Index(used, false); f >= 0 {
		return 0, fmt.Errorf("%w: no document in fold %d", solver.ErrSettings, f)
	}
	for class, f := range in {
		if f < folds {
			return 0, fmt.Errorf("%w: class %d is in one fold alone, with %d documents", ErrLabels, class, count[class])
		}
	}
	return folds, nil
}

// part is some documents, by their rows in the whole, with their data.
type part struct {
	rows []int
	x    mat.Matrix
	data Data
}

// split returns the documents outside a fold and those in it.
func split(x mat.Matrix, data Data, of []int, fold int) (train, test part) {
	for i, f := range of {
		if f == fold {
			test.rows = append(test.rows, i)
		} else {
			train.rows = append(train.rows, i)
		}
	}
	for _, p := range []*part{&train, &test} {
		p.data = data.selectRows(p.rows)
		if dense, sparse := linalg.Stored(x); sparse != nil {
			p.x = sparse.SelectRows(p.rows)
		} else {
			p.x = linalg.SelectRows(dense, p.rows)
		}
	}
	return train, test
}

func (d *Data) selectRows(rows []int) Data {
	s := Data{Classes: d.Classes, Aux: linalg.SelectRows(d.Aux, rows)}
	for _, i := range rows {
		s.Labels = append(s.Labels, d.Labels[i])
		if d.Weights != nil {
			s.Weights = append(s.Weights, d.Weights[i])
		}
	}
	return s
}
