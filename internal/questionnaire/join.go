package questionnaire

import (
	"errors"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/internal/linalg"
)

// ErrNumbered is the reason of an Error about a model of participants without ids, whom nothing finds in another file.
var ErrNumbered = errors.New("its participants have no ids to match those of other questionnaires by")

// ErrNotShared is the reason of an Error about a questionnaire whose participants are none of the others': nothing would
// tell how its factors go with theirs.
var ErrNotShared = errors.New("no participant in common with the other questionnaires")

// checkIDs returns an error for an id that comes twice.
func (s *Scores) checkIDs() error {
	seen := map[string]bool{}
	for i, id := range s.IDs {
		if seen[id] {
			return &Error{Line: i + 2, Err: ErrSameID}
		}
		seen[id] = true
	}
	return nil
}

// checkShared returns an error for a questionnaire that no chain of shared participants leads to from the first; that of an
// item is its subscale.
func (t *Table) checkShared() error {
	reached := map[string]bool{t.Items[0].Subscale: true}
	for before := 0; before < len(reached); {
		before = len(reached)
		for i := range t.IDs {
			var answered []string
			for j, v := range t.Answers.RawRowView(i) {
				if !math.IsNaN(v) {
					answered = append(answered, t.Items[j].Subscale)
				}
			}
			if slices.ContainsFunc(answered, func(name string) bool { return reached[name] }) {
				for _, name := range answered {
					reached[name] = true
				}
			}
		}
	}
	for _, item := range t.Items {
		if !reached[item.Subscale] {
			return &Error{File: item.Subscale, Err: ErrNotShared}
		}
	}
	return nil
}

// inOrder returns both with the participants in the order of their scores, then their answers, so that the order of a file
// decides nothing.
func inOrder(scores, answers *mat.Dense) (*mat.Dense, *mat.Dense) {
	n, _ := scores.Dims()
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if c := slices.Compare(scores.RawRowView(a), scores.RawRowView(b)); c != 0 {
			return c
		}
		return slices.Compare(answers.RawRowView(a), answers.RawRowView(b))
	})
	return linalg.SelectRows(scores, order), linalg.SelectRows(answers, order)
}

// filled returns the answers with the mean of the item in place of each missing one.
func filled(answers *mat.Dense, means []float64) *mat.Dense {
	out := mat.DenseCopyOf(answers)
	out.Apply(func(_, j int, v float64) float64 {
		if math.IsNaN(v) {
			return means[j]
		}
		return v
	}, out)
	return out
}

// correlations returns Pearson's of each score with its linear prediction, learnt from some participants, among others. It
// is 0 where one of the two does not vary.
func correlations(x, y *mat.Dense, learn, test []int) []float64 {
	_, k := y.Dims()
	all := make([]float64, k)
	b, predicted := &mat.Dense{}, &mat.Dense{}
	if err := b.Solve(centred(linalg.SelectRows(x, learn)), centred(linalg.SelectRows(y, learn))); err != nil && !errors.As(err, new(mat.Condition)) {
		return all
	}
	predicted.Mul(linalg.SelectRows(x, test), b) // means and intercept do not matter
	truth := linalg.SelectRows(y, test)
	for t := range all {
		if r := stat.Correlation(mat.Col(nil, t, predicted), mat.Col(nil, t, truth), nil); !math.IsNaN(r) {
			all[t] = r
		}
	}
	return all
}

// cells returns numbers in full precision.
func cells(values []float64) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = strconv.FormatFloat(v, 'g', -1, 64)
	}
	return out
}
