package fit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/solver/icqf"
)

// Study is a table that is ready to be learnt from.
type Study struct {
	*answers.Table
	Known *mat.Dense // C, n×c, nil without confounds
	// Order is the order in which the solver gets the participants: by their answers, then their confounds. So the order of
	// the file changes nothing, not even rounding.
	Order []int

	confounds []questionnaire.Confound
	scale     questionnaire.Range // that the reconstruction keeps
}

// The largest answer lies between these: sums of squares of answers are finite then, and do not vanish.
const leastScale, mostScale = 1e-100, 1e100

// newStudy checks that something can be learnt from the table.
func newStudy(t *answers.Table, columns *answers.Columns) (s *Study, err error) {
	if err := t.CheckTraining(); err != nil {
		return nil, err
	}
	s = &Study{Table: t, scale: scaleOf(t.Items, columns.FromLow)}
	if !(s.scale.High >= leastScale && s.scale.High <= mostScale) {
		return nil, &table.Error{File: t.File, Err: fmt.Errorf("%w: answers up to %v", questionnaire.ErrScale, s.scale.High)}
	}
	if s.confounds, err = t.Learn(columns.Confounds); err != nil {
		return nil, err
	}
	if s.Known, _, err = t.Encode(s.confounds); err != nil {
		return nil, err
	}
	s.Order = linalg.RowOrder(s.Answers, s.Known)
	return s, nil
}

// scaleOf returns the widest range of the items, as the answers count.
func scaleOf(items []questionnaire.Item, fromLow bool) questionnaire.Range {
	r := questionnaire.Range{Low: math.Inf(1), High: math.Inf(-1)}
	for _, item := range items {
		low, high := item.Range.Low, item.Range.High
		if fromLow {
			low, high = 0, high-low
		}
		r.Low, r.High = min(r.Low, low), max(r.High, high)
	}
	return r
}

// Data returns the participants of these rows, in the order given.
func (s *Study) Data(order []int) icqf.Data {
	return icqf.Data{Answers: linalg.SelectRows(s.Answers, order), Confounds: linalg.SelectRows(s.Known, order), Min: s.scale.Low, Max: s.scale.High}
}

// Without ends a message with the items that are not among these; "" if none is missing.
func (s *Study) Without(items []int) string {
	var names []string
	for j, item := range s.Items {
		if !slices.Contains(items, j) {
			names = append(names, strconv.Quote(item.Name))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", without those that do not vary among the participants: " + strings.Join(names, ", ")
}

// putBack returns the rows in the order of the file: row r is that of participant order[r].
func putBack(a *mat.Dense, order []int) *mat.Dense {
	row := make([]int, len(order))
	for r, i := range order {
		row[i] = r
	}
	return linalg.SelectRows(a, row)
}

// largestFirst orders the factors by how much they add to all answers, Σ W·Σ Q.
func largestFirst(scores, loadings *mat.Dense) []int {
	_, k := scores.Dims()
	size, order := make([]float64, k), make([]int, k)
	for t := range k {
		order[t], size[t] = t, sum(mat.Col(nil, t, scores))*sum(mat.Col(nil, t, loadings))
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(size[b], size[a]) })
	return order
}
