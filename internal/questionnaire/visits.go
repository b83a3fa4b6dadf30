package questionnaire

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
)

// Visits says how rows of one participant differ: by the time in a column, which falls into one of several bins.
type Visits struct {
	Time string `json:"time"`
	// Edges part the time: bin b is from Edges[b] to below Edges[b+1], the last one to its upper edge.
	Edges []float64 `json:"edges"`
}

// check returns an error for bins without meaning.
func (v *Visits) check() error {
	ok := v.Time != "" && len(v.Edges) >= 2
	for b, e := range v.Edges {
		ok = ok && !math.IsNaN(e) && !math.IsInf(e, 0) && (b == 0 || e > v.Edges[b-1])
	}
	if !ok {
		return fmt.Errorf("%w: edges %v of the bins of time %q, want at least two, ascending", ErrOptions, v.Edges, v.Time)
	}
	return nil
}

// bin returns that of a time, none outside all.
func (v *Visits) bin(x float64) int {
	last := len(v.Edges) - 1
	if x == v.Edges[last] {
		return last - 1
	}
	b := sort.Search(len(v.Edges), func(i int) bool { return v.Edges[i] > x }) - 1
	if b == last {
		return none
	}
	return b
}

// label names a bin, as in "6-9".
func (v *Visits) label(bin int) string {
	return strconv.FormatFloat(v.Edges[bin], 'g', -1, 64) + "-" + strconv.FormatFloat(v.Edges[bin+1], 'g', -1, 64)
}

// widen returns the table with one row for each participant, in the order of their first visits, and an item for each
// item and bin, "q1@6-9", bin by bin: missing where there was no visit, the mean of the answers where there were several.
// It returns an error for a time outside all bins, and for a confound that changes from visit to visit.
func (t *Table) widen(v *Visits) (*Table, error) {
	last := len(t.confounds) - 1
	times := t.confounds[last].numbers
	bins, m := len(v.Edges)-1, len(t.Items)
	w := &Table{File: t.File, Remarks: t.Remarks, sha256: t.sha256, visitItems: t.visitItems, confounds: make([]values, last)}
	for b := range bins {
		for _, item := range t.Items {
			item.Name += "@" + v.label(b)
			item.Subscale = v.Time + " " + v.label(b)
			w.Items = append(w.Items, item)
		}
	}
	row, first := map[string]int{}, []int{}
	var sums, counts [][]float64
	for i, id := range t.IDs {
		b := v.bin(times[i])
		if b == none {
			return nil, &Error{File: t.File, Line: t.Lines[i], Column: v.Time, Err: ErrNoBin}
		}
		r, ok := row[id]
		if !ok {
			r = len(first)
			row[id], first = r, append(first, i)
			sums, counts = append(sums, make([]float64, bins*m)), append(counts, make([]float64, bins*m))
			w.IDs, w.Lines = append(w.IDs, id), append(w.Lines, t.Lines[i])
			for c := range w.confounds {
				if from := &t.confounds[c]; from.levels != nil {
					w.confounds[c].levels = append(w.confounds[c].levels, from.levels[i])
				} else {
					w.confounds[c].numbers = append(w.confounds[c].numbers, from.numbers[i])
				}
			}
		}
		for c := range w.confounds {
			if from, f := &t.confounds[c], first[r]; from.levels != nil && from.levels[i] != from.levels[f] || from.numbers != nil && from.numbers[i] != from.numbers[f] {
				return nil, &Error{File: t.File, Line: t.Lines[i], Err: fmt.Errorf("%w of line %d", ErrVaries, t.Lines[f])}
			}
		}
		for j, x := range t.Answers.RawRowView(i) {
			if !math.IsNaN(x) {
				sums[r][b*m+j] += x
				counts[r][b*m+j]++
			}
		}
	}
	w.Answers = mat.NewDense(len(w.IDs), bins*m, nil)
	w.Answers.Apply(func(i, j int, _ float64) float64 { return sums[i][j] / counts[i][j] }, w.Answers) // 0/0 is missing
	return w, nil
}

// keepVarying drops the items that do not vary, and those of visits that vary in no bin.
func (t *Table) keepVarying() {
	var kept []string
	visits := make([]bool, len(t.visitItems))
	for j, item := range t.Items {
		low, high := math.Inf(1), math.Inf(-1)
		for i := range t.IDs {
			if x := t.Answers.At(i, j); !math.IsNaN(x) {
				low, high = min(low, x), max(high, x)
			}
		}
		if low < high {
			kept = append(kept, item.Name)
			visits[j%len(visits)] = true
		} else {
			t.Dropped = append(t.Dropped, item.Name)
		}
	}
	if len(kept) == 0 {
		return
	}
	_ = t.keep(kept) // all of them are there
	var items []Item
	for j, item := range t.visitItems {
		if visits[j] {
			items = append(items, item)
		}
	}
	t.visitItems = items
}

// keep keeps these items, and leaves participants out who answered none of them.
func (t *Table) keep(names []string) error {
	var columns []int
	var items []Item
	for _, name := range names {
		j := slices.IndexFunc(t.Items, func(i Item) bool { return i.Name == name })
		if j < 0 {
			return &Error{File: t.File, Column: name, Err: ErrNoColumn}
		}
		columns, items = append(columns, j), append(items, t.Items[j])
	}
	t.Items, t.Answers = items, pickColumns(t.Answers, columns)
	var rows []int
	for i := range t.IDs {
		if slices.ContainsFunc(t.Answers.RawRowView(i), func(x float64) bool { return !math.IsNaN(x) }) {
			rows = append(rows, i)
		} else {
			t.Unanswered = append(t.Unanswered, t.Lines[i])
		}
	}
	if len(rows) == 0 {
		return &Error{File: t.File, Err: ErrNoAnswers}
	}
	t.Answers, t.IDs, t.Lines = linalg.SelectRows(t.Answers, rows), picked(t.IDs, rows), picked(t.Lines, rows)
	for c := range t.confounds {
		v := &t.confounds[c]
		if v.levels != nil {
			v.levels = picked(v.levels, rows)
		} else {
			v.numbers = picked(v.numbers, rows)
		}
	}
	return nil
}

// picked returns these elements.
func picked[T any](all []T, at []int) []T {
	out := make([]T, len(at))
	for i, j := range at {
		out[i] = all[j]
	}
	return out
}

// ParseVisits reads the edges of bins, as in "6,9,12".
func ParseVisits(time string, edges []string) (*Visits, error) {
	v := &Visits{Time: strings.TrimSpace(time)}
	for _, s := range edges {
		x, err := number(s)
		if err != nil {
			return nil, fmt.Errorf("%w: edge %q of a bin: %w", ErrOptions, s, err)
		}
		v.Edges = append(v.Edges, x)
	}
	return v, v.check()
}
