// Package score gives new participants the scores of a stored model, and reads the scores that a fit wrote.
package score

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/table"
)

// Scored are the scores of the participants in a file.
type Scored struct {
	model.Scores
	answers.Remarks
	// Beyond tells of confounds outside the range of training, which count as its nearest end.
	Beyond []answers.Beyond
}

// File scores the participants in a file like the one that the model was fitted to: every item and confound must be there,
// and other columns may be. id names the column of ids if it is not that of the fit; missing are more codes of missing
// entries. A participant's scores depend on that participant's row alone.
//
// The errors are those of answers.ReadItems, and a level of a confound that was not in training.
func File(m *model.Model, path, id string, missing []string) (*Scored, error) {
	t, err := Answers(m, path, answers.Columns{ID: id, Missing: missing})
	if err != nil {
		return nil, err
	}
	known, beyond, err := t.Encode(m.Confounds)
	if err != nil {
		return nil, err
	}
	s := &Scored{model.Scores{IDs: t.IDs}, t.Remarks, beyond}
	if s.Values, err = m.ICQF.Score(t.Answers, known); err != nil {
		return nil, fmt.Errorf("scoring %q: %w", path, err)
	}
	return s, nil
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

// Write writes scores into a file in the format of its name, as CSV if the name tells none. The file is complete or not there.
func Write(path string, s *model.Scores) error {
	f, err := table.CreateAny(path)
	if err == nil {
		defer func() { _ = f.Abort() }() // nothing is left to remove after Commit
		err = f.WriteNumbers(s.Header(), s.IDs, s.Values.RawRowView)
	}
	if err == nil {
		err = f.Commit()
	}
	if err != nil {
		return fmt.Errorf("writing %q: %w", path, err)
	}
	return nil
}

// Read reads a table that Scores.CSV gave for that many factors.
func Read(path string, factors int) (*model.Scores, error) {
	r, err := table.Open(path, table.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // it was only read
	if width := len(r.Header); width != factors+1 {
		return nil, &table.Error{File: path, Line: r.HeaderLine, Err: fmt.Errorf("%d columns, must be %d", width, factors+1)}
	}
	s := &model.Scores{}
	seen := map[string]bool{}
	var values []float64
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			s.Values = mat.NewDense(len(s.IDs), factors, values)
			return s, nil
		}
		if err != nil {
			return nil, err
		}
		id := strings.Clone(row.Cells[0])
		if seen[id] {
			return nil, &table.Error{File: path, Line: row.Line, Err: questionnaire.ErrSameID}
		}
		seen[id], s.IDs = true, append(s.IDs, id)
		for c, cell := range row.Cells[1:] {
			v, err := questionnaire.Number(cell)
			if err == nil && !(v >= 0 && v <= 1) {
				err = questionnaire.ErrOutOfRange
			}
			if err != nil {
				return nil, &table.Error{File: path, Line: row.Line, Column: r.Header[c+1], Err: err}
			}
			values = append(values, v)
		}
	}
}
