package answers

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/table"
)

// Read reads the answers in a file that package table reads. It ignores spaces around cells and columns without a role.
//
// The error is a *table.Error: those of package table, a cell that is not a finite number, an answer out of its range,
// an id that is missing or comes twice, a missing confound, a column that is missing or has two roles, a value of a
// label that no participant has, and a file without answers.
func Read(path string, columns *Columns) (*Table, error) {
	t, err := ReadItems(path, columns, nil)
	if err != nil {
		return nil, err
	}
	if columns.Visits != nil {
		t.keepVarying()
	} else if err := t.checkLabels(columns); err != nil {
		return nil, err
	}
	t.findSingle()
	return t, nil
}

// ReadItems is Read for the items of a model: all of them are required; the columns' patterns, codebook and range are
// ignored. Items that do not vary are kept.
func ReadItems(path string, columns *Columns, items []questionnaire.Item) (*Table, error) {
	src, err := open(path, columns.Warn)
	if err != nil {
		return nil, err
	}
	defer func() { _ = src.Close() }() // it was only read
	t, err := readTable(src, columns, items)
	if err != nil {
		return nil, err
	}
	t.Infer()
	for k, c := range columns.Confounds {
		values, _ := t.Values(k, t.All())
		if far, ok := apart(slices.Sorted(slices.Values(values))); ok && conventional(far) {
			t.setApart(&t.ApartConfounds, values, c.Name, far)
		}
	}
	if err := t.orient(columns.FromLow); err != nil || columns.Visits == nil {
		return t, err
	}
	return t.widen(columns.Visits)
}

type reader struct {
	*layout
	Table
	answers []float64
	others  []map[string]bool // of each label: the values that count as 0
	seen    []seen            // of each item
}

// seen says whether some answers were only codes of the codebook, or only labels, and which one was either.
type seen struct {
	code, label bool
	either      string
}

type leftOut struct {
	id       string
	line     int
	answered bool // some item
}

func readTable(src *source, columns *Columns, items []questionnaire.Item) (*Table, error) {
	l, err := columns.layout(src, items)
	if err != nil {
		return nil, src.at(src.HeaderLine, err)
	}
	r := &reader{layout: l, seen: make([]seen, len(l.items))}
	r.others = lists.Make(len(l.labels), func(int) map[string]bool { return map[string]bool{} })
	r.Table = Table{File: src.File, Items: l.items, confounds: make([][]known, len(l.confounds)), Labels: make([][]int8,
		len(l.labels))}
	r.FoundID, r.Numbered = l.foundID, l.id == none
	r.Groups = lists.Map(l.groupAt, func(at int) Grouping { return Grouping{Column: strings.Clone(src.Header[at])} })
	var out []leftOut
	rows, ids := 0, src.ids(l.id, l.Missing)
	numeric := lists.Where(len(l.at), func(k int) bool { return l.confounds[k].Kind == questionnaire.Numeric })
	for row, err := range src.Rows(slices.Concat(l.itemAt, lists.Take(l.at, numeric))...) {
		if err != nil {
			return nil, err
		}
		added, answered, err := r.add(row.Cells)
		rows++
		var id string
		if err == nil {
			id, err = ids(row, rows, answered && l.visits == nil)
		}
		if err != nil {
			return nil, src.at(row.Line, err)
		}
		if added {
			r.IDs, r.Lines = append(r.IDs, id), append(r.Lines, row.Line)
		} else {
			out = append(out, leftOut{id, row.Line, answered})
		}
	}
	for j, s := range r.seen {
		if s.either != "" && !s.code {
			r.Either = append(r.Either, r.items[j].Name+": "+s.either)
		}
	}
	r.recordLeftOut(out)
	for i, values := range r.others {
		if len(values) > 1 && l.labels[i].Negative == "" {
			r.Merged = append(r.Merged, Merged{l.labels[i], len(values)})
		}
	}
	if len(r.IDs) == 0 {
		return nil, src.at(slices.Min(slices.Concat(r.Unanswered, r.Incomplete)), questionnaire.ErrNoAnswers)
	}
	r.Answers, r.SHA256 = mat.NewDense(len(r.IDs), len(r.Items), r.answers), hex.EncodeToString(src.hash.Sum(nil))
	for _, g := range r.Groups {
		r.lack(g)
	}
	return &r.Table, nil
}

// ids returns a function for the id in a row, or the row's number without a column of ids. It is an error if the id is
// missing, or if it must come once and came before.
func (s *source) ids(at int, missing *questionnaire.Missing) func(table.Row, int, bool) (id string, err error) {
	lineOf := map[string]int{}
	return func(row table.Row, number int, once bool) (string, error) {
		if at == none {
			return strconv.Itoa(number), nil
		}
		id := clean(row.Cells[at])
		first, again := lineOf[id]
		switch {
		case missing.Cell(id):
			return "", inColumn(s.Header[at], questionnaire.ErrNoID)
		case once && again:
			return "", inColumn(s.Header[at], fmt.Errorf("%w, %d%s", questionnaire.ErrSameID, first, s.repeats()))
		case once:
			lineOf[id] = row.Line
		}
		return id, nil
	}
}

// repeats returns what may make ids come twice: REDCap's columns of events and repeated instruments; "" without them.
func (s *source) repeats() string {
	named := slices.DeleteFunc([]string{"redcap_event_name", "redcap_repeat_instrument", "redcap_repeat_instance"},
		func(name string) bool { return s.Index(name) < 0 })
	if len(named) == 0 {
		return ""
	}
	return fmt.Sprintf(": rows are events or repeated instruments of REDCap (%s). Keep one row with answers for each "+
		"participant, or use questionnaire retest or longitudinal", strings.Join(named, ", "))
}

func (t *Table) recordLeftOut(rows []leftOut) {
	kept, answered := map[string]bool{}, map[string]bool{}
	for _, id := range t.IDs {
		kept[id] = true
	}
	for _, r := range rows {
		answered[r.id] = answered[r.id] || r.answered
	}
	for _, r := range rows {
		some, first := answered[r.id]
		delete(answered, r.id)
		switch {
		case kept[r.id] && r.answered:
			t.Visits = append(t.Visits, r.line)
		case kept[r.id] || !first:
		case some:
			t.Incomplete = append(t.Incomplete, r.line)
		default:
			t.Unanswered = append(t.Unanswered, r.line)
		}
	}
}

// add adds a participant unless they are left out. some reports whether any item is answered.
func (r *reader) add(record []string) (added, some bool, err error) {
	row := make([]float64, len(r.items))
	for j, at := range r.itemAt {
		if row[j], err = r.value(j, record[at]); err != nil {
			return false, false, inColumn(r.items[j].Name, err)
		}
	}
	unsaved := r.uncheck(record, row)
	if !slices.ContainsFunc(row, answered) {
		return false, false, nil
	}
	values := make([]known, len(r.at))
	for k, at := range r.at {
		c, cell := &r.layout.confounds[k], strings.TrimSpace(record[at])
		if v := r.visits; v != nil && v.Events != nil && k == len(r.at)-1 {
			cell = strconv.Itoa(slices.Index(v.Events, cell)) // −1, which is in no bin, for another event
		}
		missing := r.Cell(cell)
		if c.Kind == questionnaire.Numeric {
			if values[k].number, err = r.Value(cell); err != nil {
				return false, false, inColumn(c.Name, maybeMissing(err))
			}
			missing = math.IsNaN(values[k].number)
		} else {
			values[k].level = r.Spelled(cell)
		}
		switch {
		case missing && r.omit:
			return false, true, nil
		case missing:
			return false, false, inColumn(c.Name, questionnaire.ErrNoConfound)
		}
	}
	r.answers = append(r.answers, row...)
	if unsaved {
		r.Unsaved++
	}
	for k, v := range values {
		r.Table.confounds[k] = append(r.Table.confounds[k], v)
	}
	for i, at := range r.labelAt {
		class := r.class(r.labels[i], record[at])
		r.Labels[i] = append(r.Labels[i], class)
		if class == 0 {
			r.others[i][r.Spelled(record[at])] = true
		}
	}
	for g, at := range r.groupAt {
		r.Groups[g].Values = append(r.Groups[g].Values, r.Spelled(record[at]))
	}
	return true, true, nil
}

func maybeMissing(err error) error {
	return fmt.Errorf("%w: if it means missing, name it with --missing-code; if it is a label, export codes", err)
}

// value returns the answer in a cell. A label of the item's choices that is no code counts as its code, and so do codes
// of LimeSurvey, which are A1 or AO01 and so on.
func (r *reader) value(j int, cell string) (float64, error) {
	item, s, code := &r.items[j], &r.seen[j], cell
	v, err := r.Value(code)
	if err != nil || item.Choices != nil {
		code = r.Spelled(plain(cell))
	}
	isCode := func(c questionnaire.Choice) bool { w, e := r.Value(c.Code); return cmp.Or(err, e) == nil && w == v }
	coded := slices.ContainsFunc(item.Choices, isCode)
	c, labelled := item.Labelled(code)
	number, lime := strings.CutPrefix(strings.Replace(code, "AO", "A", 1), "A")
	switch _, e := strconv.ParseUint(number, 10, 8); {
	case coded && !labelled:
		s.code = true
	case coded && !isCode(c):
		s.either = fmt.Sprintf("%s is a code of the codebook and the label of %s", code, c.Code)
	case !coded && labelled:
		r.Labelled++
		s.label, code = true, c.Code
	case lime && e == nil && item.Choices == nil:
		r.LimeSurvey++
		code = number
	}
	if s.label && s.either != "" {
		return 0, fmt.Errorf("%s, while other answers are labels and no codes: export codes", s.either)
	}
	v, err = r.Value(code)
	if span := item.Range; err == nil && span != nil && answered(v) && !span.Holds(v) {
		err = fmt.Errorf("%w: %v", questionnaire.ErrOutOfRange, span)
	}
	if err == nil {
		return v, nil
	}
	for _, c := range item.Choices {
		if r.Spelled(c.Code) == r.Spelled(code) { // it was taken for a code of missing entries
			return v, fmt.Errorf("%w: %s is %q in the codebook: if it means missing, use --missing-code %[2]s", err,
				c.Code, c.Label)
		}
	}
	return v, maybeMissing(err)
}

// uncheck makes the boxes of a checkbox missing if none is checked and the form is not complete, and reports whether
// there are any: in a form that nobody saved, REDCap exports them as 0.
func (r *reader) uncheck(record []string, row []float64) (some bool) {
	checked := map[string]bool{}
	boxes := func(use func(j int, field string)) {
		for j, at := range r.statusAt {
			if at == none {
				continue
			}
			if s := r.Spelled(record[at]); s == "" || s == "0" || strings.EqualFold(s, "Incomplete") {
				field, _, _ := strings.Cut(r.items[j].Name, boxSign)
				use(j, field)
			}
		}
	}
	boxes(func(j int, field string) { checked[field] = checked[field] || row[j] == 1 })
	boxes(func(j int, field string) {
		if row[j] == 0 && !checked[field] {
			row[j], some = math.NaN(), true
		}
	})
	return some
}

// class returns 1 for the positive value, 0 for the negative one (any other value if none is given), else Unknown.
func (l *layout) class(label questionnaire.Label, cell string) int8 {
	switch value := l.Spelled(cell); {
	case value == "":
		return Unknown
	case value == l.Spelled(label.Positive):
		return 1
	case label.Negative == "" || value == l.Spelled(label.Negative):
		return 0
	}
	return Unknown
}

// source is a file whose columns are all known before its rows are read.
type source struct {
	*table.Reader
	hash hash.Hash
}

func open(path string, warn func(message string, facts ...any)) (s *source, err error) {
	s = &source{hash: sha256.New()}
	s.Reader, err = table.Open(path, table.Options{Hash: s.hash, Ahead: true, Warn: warn})
	return s, err
}

func (s *source) at(line int, err error) error {
	at, ok := errors.AsType[*table.Error](err)
	if !ok {
		at = &table.Error{Err: err}
	}
	at.File, at.Line = s.File, line
	return at
}

func inColumn(column string, err error) error { return &table.Error{Column: column, Err: err} }

func (s *source) find(name string) (int, error) {
	if at := s.Index(name); at >= 0 {
		return at, nil
	}
	return none, s.NoColumn(name, nil)
}

func (s *source) places(names []string) (at []int, err error) {
	for _, name := range names {
		i, err := s.find(name)
		if err != nil {
			return nil, err
		}
		at = append(at, i)
	}
	return at, nil
}

func clean(cell string) string { return strings.Clone(strings.TrimSpace(cell)) }

// SheetColumns says which columns of a table about participants are read.
type SheetColumns struct {
	ID      string                             // as in Columns
	Numbers []string                           // such as an age or scores
	Levels  []string                           // such as a sex
	Missing []string                           // further codes of missing entries
	Warn    func(message string, facts ...any) // that of table.Options

	optional []string // further numbers, if the table has any of these columns
}

// Sheet is a table with one row for each participant.
type Sheet struct {
	File     string
	Header   []string // of all columns
	Rows     []SheetRow
	Numbered bool // no column of ids: participants are numbered from 1, like in Read
}

// SheetRow is a participant of a Sheet, with the columns in the order of SheetColumns.
type SheetRow struct {
	ID      string
	Line    int
	Numbers []float64 // NaN if missing
	Levels  []string  // in one spelling of their values, "" if missing
}

// ReadSheet reads a table about participants. The error is a *table.Error: those of package table, a missing column, a
// cell that is not a finite number, an id that is missing or comes twice.
func ReadSheet(path string, c SheetColumns) (*Sheet, error) {
	src, err := open(path, c.Warn)
	if err != nil {
		return nil, err
	}
	defer func() { _ = src.Close() }() // it was only read
	id, _, errID := src.idColumn(c.ID)
	if slices.ContainsFunc(c.optional, func(name string) bool { return src.Index(name) >= 0 }) {
		c.Numbers = slices.Concat(c.Numbers, c.optional)
	}
	at, err := src.places(slices.Concat(c.Numbers, c.Levels))
	if err = cmp.Or(errID, err); err != nil {
		return nil, src.at(src.HeaderLine, err)
	}
	s, missing := &Sheet{File: src.File, Header: src.Header, Numbered: id == none}, questionnaire.NewMissing(c.Missing)
	ids := src.ids(id, missing)
	for row, err := range src.Rows(at[:len(c.Numbers)]...) {
		if err != nil {
			return nil, err
		}
		r := SheetRow{Line: row.Line, Numbers: make([]float64, len(c.Numbers))}
		if r.ID, err = ids(row, len(s.Rows)+1, true); err != nil {
			return nil, src.at(row.Line, err)
		}
		for i, name := range c.Numbers {
			if r.Numbers[i], err = missing.Value(row.Cells[at[i]]); err != nil {
				return nil, src.at(row.Line, inColumn(name, err))
			}
		}
		r.Levels = lists.Map(at[len(c.Numbers):], func(i int) string { return missing.Spelled(row.Cells[i]) })
		s.Rows = append(s.Rows, r)
	}
	return s, nil
}

// ReadScores is ReadSheet for scores of a model: the numbers are the factors, then their standard errors if any.
func ReadScores(path string, m *model.Model) (*Sheet, error) {
	names := model.FactorNames(m.Loadings())
	return ReadSheet(path, SheetColumns{ID: DefaultID, Numbers: names, optional: lists.Map(names, model.ErrorName)})
}

// ByID returns the rows by their ids.
func (s *Sheet) ByID() map[string]*SheetRow {
	rows := make(map[string]*SheetRow, len(s.Rows))
	for i := range s.Rows {
		rows[s.Rows[i].ID] = &s.Rows[i]
	}
	return rows
}
