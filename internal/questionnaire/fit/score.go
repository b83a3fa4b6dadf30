package fit

import (
	"cmp"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Scored are the scores of the participants in a file.
type Scored struct {
	model.Scores
	answers.Remarks
	// Beyond tells of confounds outside the range of training, which count as its nearest end.
	Beyond []answers.Beyond
	// TooFew are the lines of the participants with fewer answers than Table.MinAnswers.
	TooFew []int
	// Vague are the lines, for each factor, of those whose scores are no measurements; see Scoring.Judge.
	Vague [][]int
}

// Scoring says what Score reads and writes. Zero values mean what the fields say.
type Scoring struct {
	// ID names the column of ids if it is not that of the fit; Missing are more codes of missing entries.
	ID      string
	Missing []string
	// OmitIncomplete leaves out participants who lack a confound; otherwise they are an error.
	OmitIncomplete bool
	// Judge asks for Scored.Vague by the standard errors of all. Otherwise, unless the table has them, those are taken
	// for measurements who answered half of every factor.
	Judge bool
	Table
}

// Table says what a table of scores holds.
type Table struct {
	// StandardErrors asks for those and the numbers of answers, which methods other than ICQF always have.
	StandardErrors bool
	// MinAnswers is the fewest answers of a participant with scores; 0 is 1.
	MinAnswers int
}

// Score scores the participants in a file like the one that the model was fitted to: every item and confound must be
// there, and other columns may be. A participant's scores depend on that participant's row alone.
//
// The errors are those of answers.ReadItems, and a level of a confound that was not in training.
func Score(m *model.Model, path string, o Scoring) (*Scored, error) {
	t, err := Answers(m, path, answers.Columns{ID: o.ID, Missing: o.Missing, OmitIncomplete: o.OmitIncomplete})
	if err != nil {
		return nil, err
	}
	known, beyond, err := t.Encode(m.Confounds)
	if err != nil {
		return nil, err
	}
	var values, errs *mat.Dense
	if o.errors(m) || o.Judge {
		values, errs, err = scoreErrors(m, t.Answers, known)
	} else if values, err = FactorsOf(m).Score(t.Answers, known); err == nil {
		errs, err = errorsOfFew(m, t.Answers)
	}
	if err != nil {
		return nil, fmt.Errorf("scoring %q: %w", path, err)
	}
	s := &Scored{Remarks: t.Remarks, Beyond: beyond}
	shown := errs
	if !o.errors(m) {
		shown = nil
	}
	if s.Scores, s.TooFew, err = o.scores(t, values, shown); err != nil {
		return nil, err
	}
	s.Vague = vagueLines(m.Summary.FactorFits, t.Lines, s.TooFew, errs)
	return s, nil
}

// errorsOfFew returns the standard errors of the scores of those who answered less than half of some factor, by the
// squares of its loadings as the fit weighs them, and 0 for others: all errors would take longer than the scores.
func errorsOfFew(m *model.Model, answers *mat.Dense) (*mat.Dense, error) {
	n, p := answers.Dims()
	_, k := m.Loadings().Dims()
	squares := mat.NewDense(p, k, nil)
	squares.Apply(func(j, t int, _ float64) float64 {
		return m.ICQF.Weight(j) * m.Loadings().At(j, t) * m.Loadings().At(j, t)
	}, squares)
	whole := make([]float64, k)
	for j := range p {
		floats.Add(whole, squares.RawRowView(j))
	}
	var few []int
	left := make([]float64, k) // unanswered
	for i := range n {
		clear(left)
		for j, v := range answers.RawRowView(i) {
			if v != v {
				floats.Add(left, squares.RawRowView(j))
			}
		}
		for t, v := range left {
			if v > whole[t]/2 {
				few = append(few, i)
				break
			}
		}
	}
	all := mat.NewDense(n, k, nil)
	if len(few) == 0 {
		return all, nil
	}
	errs, err := m.ICQF.StandardErrors(linalg.SelectRows(answers, few))
	if err != nil {
		return nil, err
	}
	m.CountLoadings(errs)
	for row, i := range few {
		all.SetRow(i, errs.RawRowView(row))
	}
	return all, nil
}

// errors reports whether the table holds the standard errors of the model's scores.
func (o *Table) errors(m *model.Model) bool {
	return o.StandardErrors || m.Summary.Method != model.MethodICQF
}

// scores returns the table of these scores, with their standard errors if any, and the lines of those left out of it.
func (o *Table) scores(t *answers.Table, values, errs *mat.Dense) (s model.Scores, few []int, err error) {
	var rows, counts []int
	for i := range t.IDs {
		n := floats.Count(func(v float64) bool { return v == v }, t.Answers.RawRowView(i))
		if n < o.MinAnswers {
			few = append(few, t.Lines[i])
			continue
		}
		rows, counts, s.IDs = append(rows, i), append(counts, n), append(s.IDs, t.IDs[i])
	}
	if len(rows) == 0 {
		return s, few, &table.Error{File: t.File, Err: fmt.Errorf("%w: nobody answered %d items",
			questionnaire.ErrOptions, o.MinAnswers)}
	}
	s.Values = linalg.SelectRows(values, rows)
	if errs != nil {
		s.Answered, s.Errors = counts, linalg.SelectRows(errs, rows)
	}
	return s, few, nil
}

// Answers reads the items and confounds of the model, which fills in what the columns leave out.
func Answers(m *model.Model, path string, columns answers.Columns) (*answers.Table, error) {
	items := m.Items
	if m.Visits != nil {
		items = m.VisitItems
	}
	columns.ID, columns.Missing = cmp.Or(columns.ID, m.ID), slices.Concat(columns.Missing, m.Missing)
	columns.Confounds, columns.Visits, columns.FromLow = m.Confounds, m.Visits, m.FromLow
	t, err := answers.ReadItems(path, &columns, items)
	if err != nil || m.Visits == nil {
		return t, err
	}
	return t, t.Keep(questionnaire.Names(m.Items))
}
