package answers

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/table"
)

// widen returns the table with one row for each participant, in the order of their first visits, and an item for each
// item and bin, bin by bin: missing if there was no visit, the mean of the answers if there were several. It returns an
// error for a time outside all bins, and for a confound that changes from visit to visit.
func (t *Table) widen(v *questionnaire.Visits) (*Table, error) {
	last := len(t.confounds) - 1 // the time
	m := len(t.Items)
	width := v.Bins() * m
	w := &Table{File: t.File, Remarks: t.Remarks, SHA256: t.SHA256, VisitItems: t.Items, confounds: make([][]known, last)}
	for b := range v.Bins() {
		for _, item := range t.Items {
			item.Name, item.Subscale = v.ItemName(item.Name, b), v.Time+" "+v.Label(b)
			w.Items = append(w.Items, item)
		}
	}
	row, first := map[string]int{}, []int{}
	var sums, counts []float64
	for i, id := range t.IDs {
		fail := func(column string, err error) (*Table, error) {
			return nil, &table.Error{File: t.File, Line: t.Lines[i], Column: column, Err: err}
		}
		b, ok := v.Bin(t.confounds[last][i].number)
		if !ok {
			return fail(v.Time, questionnaire.ErrNoBin)
		}
		r, ok := row[id]
		if !ok {
			r = len(first)
			row[id], first = r, append(first, i)
			sums, counts = append(sums, make([]float64, width)...), append(counts, make([]float64, width)...)
			w.IDs, w.Lines = append(w.IDs, id), append(w.Lines, t.Lines[i])
		}
		for c := range w.confounds {
			if !ok {
				w.confounds[c] = append(w.confounds[c], t.confounds[c][i])
			} else if w.confounds[c][r] != t.confounds[c][i] {
				return fail("", fmt.Errorf("%w on line %d", questionnaire.ErrVaries, t.Lines[first[r]]))
			}
		}
		for j, x := range t.Answers.RawRowView(i) {
			if answered(x) {
				sums[r*width+b*m+j] += x
				counts[r*width+b*m+j]++
			}
		}
	}
	for at := range sums {
		sums[at] /= counts[at] // 0/0 is missing
	}
	w.Answers = mat.NewDense(len(w.IDs), width, sums)
	return w, nil
}

// keepVarying drops the items that do not vary, and those of visits that vary in no bin.
func (t *Table) keepVarying() {
	varying := t.Varying(t.all())
	for j, item := range t.Items {
		if !slices.Contains(varying, j) {
			t.Dropped = append(t.Dropped, item.Name)
		}
	}
	if len(varying) == 0 {
		return
	}
	var visits []int
	for j := range t.VisitItems {
		if slices.ContainsFunc(varying, func(k int) bool { return k%len(t.VisitItems) == j }) {
			visits = append(visits, j)
		}
	}
	_ = t.Keep(questionnaire.Names(picked(t.Items, varying))) // all of them are there
	t.VisitItems = picked(t.VisitItems, visits)
}
