package questionnaire

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"
)

// Scores are the factors' degrees of presence, in [0,1].
type Scores struct {
	IDs    []string
	Values *mat.Dense // n×k
	Remarks
	// Beyond tells of confounds outside the range of training, which count as its nearest end.
	Beyond []Beyond
}

// Score scores the participants in a file in the form of the one that the model was fitted to: every item and confound must
// be there, other columns may. id names the column of ids where it is not that of the training, missing are more codes of
// missing entries. A participant's scores depend on that participant's row alone.
//
// The errors are those of Read, of a level of a confound that was not in training, and of no model.
func (m *Model) Score(path, id string, missing []string) (*Scores, error) {
	t, err := m.read(path, Columns{ID: id, Missing: missing})
	if err != nil {
		return nil, err
	}
	s := &Scores{IDs: t.IDs, Remarks: t.Remarks}
	known, beyond, err := t.encode(m.Confounds)
	if err != nil {
		return nil, err
	}
	s.Beyond = beyond
	if s.Values, err = m.factors.Score(t.Answers, known); err != nil {
		return nil, fmt.Errorf("scoring %q: %w", path, err)
	}
	return s, nil
}

// read reads the items and confounds of the model, which fills in what the columns leave to it.
func (m *Model) read(path string, columns Columns) (*Table, error) {
	items := m.Items
	if m.Visits != nil {
		items = m.VisitItems
	}
	columns.ID, columns.Missing = cmp.Or(columns.ID, m.ID), slices.Concat(columns.Missing, m.Missing)
	columns.Confounds, columns.Visits = m.Confounds, m.Visits
	t, err := readTable(path, func(names []string) (*layout, error) {
		h := header(names)
		l, err := h.roles(&columns)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			at, err := h.find(item.Name)
			if err != nil {
				return nil, err
			}
			l.items, l.itemAt = append(l.items, item), append(l.itemAt, at)
		}
		return l, nil
	})
	if err != nil {
		return nil, err
	}
	if err := t.orient(m.FromLow); err != nil || m.Visits == nil {
		return t, err
	}
	if t, err = t.widen(m.Visits); err != nil {
		return nil, err
	}
	return t, t.keep(namesOf(m.Items))
}

// CSV returns the scores as a table: id, factor1, factor2 …, in full precision.
func (s *Scores) CSV() ([]byte, error) {
	return table(append([]string{"id"}, factorNames(s.Values)...), s.IDs, s.Values)
}

// Write writes the table into a file, whole or not at all.
func (s *Scores) Write(path string) error {
	data, err := s.CSV()
	if err != nil {
		return err
	}
	return replace(path, data)
}

// factorNames are those of the columns of a matrix with a column for each factor.
func factorNames(a *mat.Dense) []string {
	_, k := a.Dims()
	names := make([]string, k)
	for t := range names {
		names[t] = "factor" + strconv.Itoa(t+1)
	}
	return names
}

// loadingsCSV returns the loadings as a table: item, the factors, the confounds, the intercept.
func (m *Model) loadingsCSV() ([]byte, error) {
	all, names := m.allLoadings()
	return table(append([]string{"item"}, names...), namesOf(m.Items), all)
}

// allLoadings returns those of the factors and then of the confounds, with their names.
func (m *Model) allLoadings() (*mat.Dense, []string) {
	names := append(factorNames(m.factors.Loadings), confoundColumns(m.Confounds)...)
	if m.factors.ConfoundLoadings == nil {
		return m.factors.Loadings, names
	}
	all := &mat.Dense{}
	all.Augment(m.factors.Loadings, m.factors.ConfoundLoadings)
	return all, names
}

// table returns named rows of numbers under a header.
func table(header, rows []string, values *mat.Dense) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write(header) // Flush tells
	record := make([]string, len(header))
	for i, name := range rows {
		record[0] = name
		for j, v := range values.RawRowView(i) {
			record[j+1] = strconv.FormatFloat(v, 'g', -1, 64)
		}
		_ = w.Write(record)
	}
	w.Flush()
	return b.Bytes(), w.Error()
}
