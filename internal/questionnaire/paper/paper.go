// Package paper writes tables of loadings and scores: in full precision as CSV and JSON, rounded as Markdown and LaTeX.
package paper

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Table is a table of words and numbers.
type Table struct {
	Caption string   // a sentence without its stop
	Notes   []string // sentences below the table
	Columns []Column
	Rows    []Row
	Foot    []Row // on whole columns, below a rule
}

// Column is a column of a Table. Columns of words come first.
type Column struct {
	Name  string // as in a file
	Title string // as in a paper
	Short string // the title where there is little room, "" for the same
	Words bool
}

// Row is a row of a Table, in the order of its columns: the words, then the numbers, NaN for one that is not shown.
type Row struct {
	Words   []string
	Numbers []float64
}

// Loadings returns the loadings of a model in full, with text and subscale of each item, and "yes" if it is reversed.
func Loadings(m *model.Model) *Table {
	t := &Table{Columns: []Column{{
		Name: "item", Words: true,
	}, {Name: "text", Words: true}, {Name: "subscale", Words: true}, {Name: "reversed", Words: true}}}
	all, names := m.AllLoadings()
	for _, name := range names {
		t.Columns = append(t.Columns, Column{Name: name})
	}
	for j, item := range m.Items {
		reversed := ""
		if item.Reversed {
			reversed = "yes"
		}
		t.Rows = append(t.Rows, Row{[]string{item.Name, item.Text, item.Subscale, reversed}, all.RawRowView(j)})
	}
	return t
}

// LoadingsToPrint returns the loadings of a model for a paper. Items stand under the factor on which they load most, by
// descending loading; (R) marks those that are reversed. Loadings on the factors are shown from cut on, in absolute
// value; 0 means a tenth of the largest. For both, items of narrower ranges count as if stretched to the widest
// (Model.AllStretched). Those on confounds are left out. For factor analysis the communalities follow, and at the foot
// stand the sum of squared loadings of each factor, ΦΛᵀΛ if factors correlate, and its share of all variance.
func LoadingsToPrint(m *model.Model, cut float64) *Table {
	loadings, s := m.Loadings(), &m.Summary
	p, k := loadings.Dims()
	sizes := mat.DenseCopyOf(m.AllStretched().Slice(0, p, 0, k))
	if cut == 0 {
		cut = model.TopShare * max(mat.Max(sizes), -mat.Min(sizes))
	}
	below := strconv.FormatFloat(cut, 'f', printedDigits, 64)
	if m.ICQF.Weights != nil {
		below += ", on the widest range of the items,"
	}
	t := &Table{
		Caption: fmt.Sprintf("Loadings of %d items on %d factors", len(m.Items), s.Factors),
		Notes: []string{fmt.Sprintf("%d participants; method: %s. Loadings below %s are not shown.", s.Participants,
			s.MethodInFull(), below)},
		Columns: []Column{{Title: "Item", Words: true}},
	}
	hasText := slices.ContainsFunc(m.Items, func(i questionnaire.Item) bool { return i.Text != "" })
	if hasText {
		t.Columns = append(t.Columns, Column{Title: "Text", Words: true})
	}
	for f := range s.Factors {
		t.Columns = append(t.Columns, Column{Title: "Factor " + strconv.Itoa(f+1), Short: "F" + strconv.Itoa(f+1)})
	}
	if m.FA != nil {
		t.Columns = append(t.Columns, Column{Title: "Communality", Short: "Comm."})
	}
	if slices.ContainsFunc(m.Items, func(i questionnaire.Item) bool { return i.Reversed }) {
		t.Notes = append(t.Notes, "(R): scored from the other end.")
	}
	if s.EmptyFactors > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%d factors are empty.", s.EmptyFactors))
	}
	if m.FA != nil {
		words := make([]string, len(t.Columns)-s.Factors-1)
		sums, shares := Row{Words: slices.Clone(words)}, Row{Words: words}
		sums.Words[0], shares.Words[0] = "SS loadings", "Proportion"
		var sum, share float64
		for _, a := range s.Accounted {
			sums.Numbers, shares.Numbers = append(sums.Numbers, a.SSLoadings), append(shares.Numbers, a.Proportion)
			sum, share = sum+a.SSLoadings, share+a.Proportion
		}
		sums.Numbers, shares.Numbers = append(sums.Numbers, sum), append(shares.Numbers, share)
		t.Foot = []Row{sums, shares}
	}
	for _, j := range byFactor(sizes) {
		item, row := m.Items[j], Row{Numbers: slices.Clone(loadings.RawRowView(j))}
		name := item.Name
		if item.Reversed {
			name += " (R)"
		}
		if row.Words = []string{name}; hasText {
			row.Words = append(row.Words, item.Text)
		}
		for f, size := range sizes.RawRowView(j) {
			if math.Abs(size) < cut {
				row.Numbers[f] = math.NaN()
			}
		}
		if m.FA != nil {
			row.Numbers = append(row.Numbers, 1-m.FA.Uniquenesses[j])
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// byFactor orders the items by the factor on which they load most, and by that loading; those without any come last.
func byFactor(loadings *mat.Dense) []int {
	factors, sizes := model.Strongest(loadings)
	return linalg.Order(len(sizes), func(a, b int) int {
		if sizes[a] == 0 || sizes[b] == 0 {
			return cmp.Compare(sizes[b], sizes[a])
		}
		return cmp.Or(cmp.Compare(factors[a], factors[b]), cmp.Compare(sizes[b], sizes[a]))
	})
}

// Scores reads a table of scores: ids, then numbers. The error is a *table.Error.
func Scores(path string) (*Table, error) {
	src, err := table.Open(path, table.Options{Ahead: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = src.Close() }() // it was only read
	t := &Table{}
	for i, name := range src.Header {
		t.Columns = append(t.Columns, Column{Name: name, Title: name, Words: i == 0})
	}
	for row, err := range src.Rows() {
		if err != nil {
			return nil, err
		}
		r := Row{Words: []string{strings.Clone(row.Cells[0])}}
		for i, cell := range row.Cells[1:] {
			v, err := (&questionnaire.Missing{}).Value(cell)
			if err != nil {
				return nil, &table.Error{File: path, Line: row.Line, Column: src.Header[i+1], Err: err}
			}
			r.Numbers = append(r.Numbers, v)
		}
		t.Rows = append(t.Rows, r)
	}
	t.Caption = fmt.Sprintf("Scores of %d participants", len(t.Rows))
	return t, nil
}
