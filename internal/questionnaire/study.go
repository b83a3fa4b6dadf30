package questionnaire

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver/icqf"
)

// study is a table that is ready to be learnt from.
type study struct {
	*Table
	confounds []Confound
	known     *mat.Dense // C, n×c, nil without confounds
	scale     Range      // that the reconstruction keeps
	// order is that in which the solver gets the participants: by their answers, then their confounds. The order of the
	// file thus changes nothing, not even rounding.
	order []int
}

// The largest answer lies between these: sums of squares of answers are finite then, and do not vanish.
const leastScale, mostScale = 1e-100, 1e100

// newStudy checks that something can be learnt from the table.
func newStudy(t *Table, columns *Columns) (s *study, err error) {
	if err := t.checkTraining(); err != nil {
		return nil, err
	}
	s = &study{Table: t, scale: scaleOf(t.Items, columns.FromLow), order: make([]int, len(t.IDs))}
	if !(s.scale.High >= leastScale && s.scale.High <= mostScale) {
		return nil, &Error{File: t.File, Err: fmt.Errorf("%w: answers up to %v", ErrScale, s.scale.High)}
	}
	if s.confounds, err = t.learn(columns.Confounds); err != nil {
		return nil, err
	}
	if s.known, _, err = t.encode(s.confounds); err != nil {
		return nil, err
	}
	for i := range s.order {
		s.order[i] = i
	}
	slices.SortStableFunc(s.order, func(a, b int) int {
		// NaN comes before every number.
		if c := slices.Compare(t.Answers.RawRowView(a), t.Answers.RawRowView(b)); c != 0 || s.known == nil {
			return c
		}
		return slices.Compare(s.known.RawRowView(a), s.known.RawRowView(b))
	})
	return s, nil
}

// scaleOf returns the widest range of the items, as the answers count.
func scaleOf(items []Item, fromLow bool) Range {
	r := Range{math.Inf(1), math.Inf(-1)}
	for _, item := range items {
		low, high := item.Range.Low, item.Range.High
		if fromLow {
			low, high = 0, high-low
		}
		r = Range{min(r.Low, low), max(r.High, high)}
	}
	return r
}

// data returns the participants of these rows, in the order given.
func (s *study) data(order []int) icqf.Data {
	return icqf.Data{Answers: linalg.SelectRows(s.Answers, order), Confounds: linalg.SelectRows(s.known, order), Min: s.scale.Low, Max: s.scale.High}
}

// varying returns the items whose answers differ among these participants.
func (s *study) varying(rows []int) []int {
	var items []int
	for j := range s.Items {
		low, high := math.Inf(1), math.Inf(-1)
		for _, i := range rows {
			if v := s.Answers.At(i, j); !math.IsNaN(v) {
				low, high = min(low, v), max(high, v)
			}
		}
		if low < high {
			items = append(items, j)
		}
	}
	return items
}

// answering returns those of the participants with an answer to some of the items.
func (s *study) answering(rows, items []int) []int {
	return slices.DeleteFunc(slices.Clone(rows), func(i int) bool {
		return !slices.ContainsFunc(items, func(j int) bool { return !math.IsNaN(s.Answers.At(i, j)) })
	})
}

// answersOf returns the answers of these participants to these items.
func (s *study) answersOf(rows, items []int) *mat.Dense {
	return pickColumns(linalg.SelectRows(s.Answers, rows), items)
}

// without ends a message by the items that are not among these; "" where none is missing.
func (s *study) without(items []int) string {
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
	n, c := a.Dims()
	out := mat.NewDense(n, c, nil)
	for r, i := range order {
		out.SetRow(i, a.RawRowView(r))
	}
	return out
}

// largestFirst orders the factors by how much they add to all answers, Σ W·Σ Q.
func largestFirst(scores, loadings *mat.Dense) []int {
	n, k := scores.Dims()
	p, _ := loadings.Dims()
	size, order := make([]float64, k), make([]int, k)
	for t := range k {
		order[t] = t
		var w, q float64
		for i := range n {
			w += scores.At(i, t)
		}
		for j := range p {
			q += loadings.At(j, t)
		}
		size[t] = w * q
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(size[b], size[a]) })
	return order
}

// pickColumns returns these columns of a matrix.
func pickColumns(a *mat.Dense, order []int) *mat.Dense {
	r, _ := a.Dims()
	out := mat.NewDense(r, len(order), nil)
	for c, from := range order {
		for i := range r {
			out.Set(i, c, a.At(i, from))
		}
	}
	return out
}
