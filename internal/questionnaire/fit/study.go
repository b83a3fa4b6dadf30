package fit

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/solver/icqf"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Study is a table prepared for fitting.
type Study struct {
	*answers.Table
	Known *mat.Dense // C, n×c, nil without confounds
	// Order is the order in which the solver gets the participants: by their answers, then their confounds. So the
	// order of the file changes nothing, not even rounding.
	Order []int

	confounds []questionnaire.Confound
	scale     questionnaire.Range // that the reconstruction keeps
	stretches []float64           // multiply the answers to each item for the fit; nil if all are 1
	intercept bool                // the last of the known columns is an intercept, whose loadings are not penalized
}

// leastScale is the least largest answer: sums of squares of answers do not vanish then, and with MostScale are finite.
const leastScale = 1e-100

// newStudy checks that the table can be fitted.
func newStudy(t *answers.Table, columns *answers.Columns) (s *Study, err error) {
	if err := t.CheckTraining(); err != nil {
		return nil, err
	}
	s = &Study{Table: t, scale: scaleOf(t.Items, columns.FromLow)}
	if !(s.scale.High >= leastScale && s.scale.High <= questionnaire.MostScale) {
		return nil,
			&table.Error{File: t.File, Err: fmt.Errorf("%w: answers up to %v", questionnaire.ErrScale, s.scale.High)}
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

// scaleOf returns the widest range of the items, as they are scored.
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

// stretches returns the ratio of the widest range to that of each item; nil if all are equal.
func stretches(items []questionnaire.Item, fromLow bool, most float64) []float64 {
	all, some := make([]float64, len(items)), false
	for j := range items {
		all[j] = most / scaleOf(items[j:j+1], fromLow).High
		some = some || all[j] != 1
	}
	if !some {
		return nil
	}
	return all
}

// Data returns the participants of these rows, in the order given, with stretched answers.
func (s *Study) Data(order []int) icqf.Data {
	d := icqf.Data{
		Answers: linalg.SelectRows(s.Answers, order), Confounds: linalg.SelectRows(s.Known, order),
		Intercept: s.intercept, Min: s.scale.Low, Max: s.scale.High,
	}
	if s.stretches != nil {
		// rounding may lead beyond
		d.Answers.Apply(func(_, j int, v float64) float64 { return min(v*s.stretches[j], s.scale.High) }, d.Answers)
	}
	return d
}

// unstretch turns the loadings of stretched answers to these items into those of the answers, and gives the model the
// weights that the items had in the fit.
func (s *Study) unstretch(m *icqf.Model, items []int) {
	if s.stretches == nil {
		return
	}
	m.Weights = lists.Map(items, func(j int) float64 { return s.stretches[j] })
	for _, loadings := range []*mat.Dense{m.Loadings, m.ConfoundLoadings} {
		if loadings != nil {
			loadings.Apply(func(j, _ int, q float64) float64 { return q / m.Weights[j] }, loadings)
		}
	}
	floats.Mul(m.Weights, m.Weights) // the squared error is that of stretched answers
}

// CheckLeft returns an error unless these are all items: of the others, confounds leave nothing.
func (s *Study) CheckLeft(items []int) error {
	if gone := s.Except(items); len(gone) > 0 {
		return questionnaire.Optionf("without the confounds' effects, the answers to %s do not vary: %s",
			wording.Count(len(gone), "item"), s.WithoutItems(gone))
	}
	return nil
}

// without returns the end of a message that names the items not among these; "" if there are none.
func (s *Study) without(items []int) string {
	names := s.others(items)
	if len(names) == 0 {
		return ""
	}
	return ", without those that do not vary among the participants: " + strings.Join(names, ", ")
}

// others returns the names, in quotation marks, of the items that are not among these.
func (s *Study) others(items []int) []string {
	return lists.Map(s.Names(s.Except(items)), strconv.Quote)
}
