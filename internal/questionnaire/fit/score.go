package fit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Scored are the scores of the participants in a file.
type Scored struct {
	model.Scores
	answers.Remarks
	// Beyond are the confounds outside the range of training, which are replaced by its nearest end.
	Beyond []answers.Beyond
	// TooFew are the lines of the participants with fewer answers than Table.MinAnswers.
	TooFew []int
	// Vague are the lines, for each factor, of participants whose scores are not measurements.
	Vague [][]int
}

// Scoring says what Score reads, with the columns of Answers, and what it writes.
type Scoring struct {
	answers.Columns
	Table
}

// Table says what a table of scores holds.
type Table struct {
	// Sums adds the sums of subscales, prorated sums, their standard errors and reliable changes.
	Sums bool
	// MinAnswers is the fewest answers of a participant with scores; 0 is 1.
	MinAnswers int
}

// Score scores the participants in a file like that of the fit: every item and confound is required, other columns are
// ignored. A participant's scores depend on that participant's row alone.
//
// The errors are those of answers.ReadItems, and a level of a confound that was not in training.
func Score(m *model.Model, path string, o Scoring) (*Scored, error) {
	if o.Sums && m.Summary.Sums == nil {
		return nil, questionnaire.Optionf("--sums requires a model that was fitted with --sums: it has the errors")
	}
	t, err := Answers(m, path, o.Columns)
	if err != nil {
		return nil, err
	}
	known, beyond, err := t.Encode(m.Confounds)
	if err != nil {
		return nil, err
	}
	values, errs, err := ScoreErrors(m, t.Answers, known)
	if err != nil {
		return nil, fmt.Errorf("scoring %q: %w", path, err)
	}
	s := &Scored{Remarks: t.Remarks, Beyond: beyond}
	if s.Scores, s.TooFew, err = o.scores(t, values, errs, m.Summary.Sums); err != nil {
		return nil, err
	}
	s.Vague = vagueLines(m.Summary.FactorFits, t.Lines, s.TooFew, errs)
	return s, nil
}

// scores returns the table of these scores, with their standard errors, and sums if asked for, and the lines of omitted
// participants.
func (o *Table) scores(t *answers.Table, values, errs *mat.Dense, sums []model.SumScale) (s model.Scores, few []int,
	err error,
) {
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
		return s, few, &table.Error{File: t.File, Err: questionnaire.Optionf("no participant answered %d items",
			o.MinAnswers)}
	}
	s.Values, s.Answered, s.Errors = linalg.SelectRows(values, rows), counts, linalg.SelectRows(errs, rows)
	if o.Sums {
		s.Sums, s.SumNames = model.SumsOf(sums, t.Items, linalg.SelectRows(t.Answers, rows))
	}
	return s, few, nil
}

// Answers reads the items and confounds of the model. Of the columns, ID, if it differs from that of the fit, Missing,
// further codes of missing entries, OmitIncomplete, Labels, Groups, Warn and, unless the model has them, Visits count.
func Answers(m *model.Model, path string, columns answers.Columns) (*answers.Table, error) {
	items := m.Items
	if m.Visits != nil {
		items = m.VisitItems
	}
	columns.ID, columns.Missing = cmp.Or(columns.ID, m.ID), slices.Concat(columns.Missing, m.Missing)
	columns.Confounds, columns.FromLow, columns.Visits = m.Confounds, m.FromLow, cmp.Or(m.Visits, columns.Visits)
	t, err := answers.ReadItems(path, &columns, items)
	if err != nil || m.Visits == nil {
		return t, err
	}
	return t, t.Keep(questionnaire.Names(m.Items))
}

// Measured says which scores are measurements: the standard error, for known loadings, is at most Limit.
type Measured struct {
	Participants []bool
	Limit        float64
}

// LargestError is the standard error of a score without answers, for known loadings: that of the kind of scores, for
// ICQF half of the range of scores.
func LargestError(m *model.Model) float64 {
	if m.FA != nil {
		return factoranalysis.ScoreKind(m.FA.Scores).LargestError()
	}
	return 0.5
}

// measuredBy returns the Measured of each factor from the standard errors e of the participants, n×k. The answers of a
// participant hold the information
//
//	I = 1/e² − 1/e₀²,
//
// where e₀ is the standard error without answers. A score is a measurement if I is at least a quarter of the median
// among those who have a tenth of the largest I or more: the others were hardly asked, and may be the majority.
func measuredBy(m *model.Model, errs *mat.Dense) []Measured {
	const enough, asked = 1. / 4, 1. / 10
	largest := LargestError(m)
	nothing := 1 / (largest * largest)
	_, k := errs.Dims()
	all := make([]Measured, k)
	for t := range all {
		e := mat.Col(nil, t, errs)
		information := lists.Map(e, func(v float64) float64 {
			if v != v { // no score
				return 0
			}
			return 1/(v*v) - nothing
		})
		least := asked * floats.Max(information)
		usual := slices.DeleteFunc(slices.Sorted(slices.Values(information)), func(v float64) bool { return v < least })
		limit := largest
		if len(usual) > 0 {
			if v := 1 / math.Sqrt(nothing+enough*max(0, stat.Quantile(0.5, stat.Empirical, usual, nil))); v > 0 {
				limit = v
			}
		}
		all[t] = Measured{Participants: make([]bool, len(e)), Limit: limit}
		for i, v := range e {
			all[t].Participants[i] = v <= limit
		}
	}
	return all
}

// factorFits describes scores, and their standard errors with loadings that count as known.
func factorFits(m *model.Model, scores, errs *mat.Dense, measured []Measured) []model.FactorFit {
	fits := make([]model.FactorFit, len(measured))
	for t := range fits {
		f := &fits[t]
		var w []float64
		var squares float64
		for i, ok := range measured[t].Participants {
			if !ok {
				continue
			}
			w = append(w, scores.At(i, t))
			squares += errs.At(i, t) * errs.At(i, t)
		}
		n := float64(max(1, len(w)))
		f.Participants, f.Mean = len(w), floats.Sum(w)/n
		f.Absent = float64(floats.Count(func(v float64) bool { return v == 0 }, w)) / n
		f.High = float64(floats.Count(func(v float64) bool { return v > 0.5 }, w)) / n
		if len(w) > 1 {
			f.Deviation = stat.StdDev(w, nil)
		}
		switch variance := f.Deviation * f.Deviation; {
		case m.FA != nil:
			f.Reliability = max(0, factoranalysis.ScoreKind(m.FA.Scores).Reliability(squares/n))
		case variance > squares/n:
			f.Reliability = 1 - squares/n/variance
		}
		f.Limit, f.StandardError = m.WithLoadings(t, measured[t].Limit), m.WithLoadings(t, math.Sqrt(squares/n))
	}
	return fits
}

// vague warns of factors for which more than 1 % of the participants' scores are not measurements.
func vague(fits []model.FactorFit, participants int) []string {
	var factors []string
	for t, f := range fits {
		if few := participants - f.Participants; few*100 > participants {
			factors = append(factors, fmt.Sprintf("those of %s on factor%d", wording.Count(few, "participant"), t+1))
		}
	}
	if factors == nil {
		return nil
	}
	return []string{fmt.Sprintf("some scores are not measurements: their answers hold less than a quarter of "+
		"the usual information: %s. They do not count for the mean, the shares and the reliability of the factor; "+
		"their standard errors are large", strings.Join(factors, ", "))}
}

// unreliable warns of factors, except empty ones, whose scores hold more error than differences between people.
func unreliable(fits []model.FactorFit) (warnings []string) {
	const least = 0.5
	for t, f := range fits {
		if f.Deviation > 0 && f.Reliability < least {
			warnings = append(warnings, fmt.Sprintf("the scores of factor%d have a reliability of %.2f: more than "+
				"half of their variance is error, so they say little of a person", t+1, f.Reliability))
		}
	}
	return warnings
}

// vagueLines returns, for each factor, the lines of participants whose scores are not measurements.
func vagueLines(fits []model.FactorFit, lines, without []int, errs *mat.Dense) [][]int {
	all, out := make([][]int, len(fits)), map[int]bool{}
	for _, line := range without {
		out[line] = true
	}
	for t, f := range fits {
		for i, line := range lines {
			if !out[line] && !f.Measures(errs.At(i, t)) {
				all[t] = append(all[t], line)
			}
		}
	}
	return all
}
