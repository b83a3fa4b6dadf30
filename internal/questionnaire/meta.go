package questionnaire

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
)

// MetaOptions says what to factorize in a second stage.
type MetaOptions struct {
	// Options are those of the second stage, but for Input and Columns.
	Options
	// Models are output folders of fits, each of another questionnaire. Participants are matched by their ids.
	Models []string
	// Compact is the number of items to choose, 0 for none. It wants the answers of the fits where they were.
	Compact int
}

// CompactItem is an item of the compact set, in the order of choice.
type CompactItem struct {
	Questionnaire string `json:"questionnaire"`
	Item
	// Explained is the share of the variance of the second stage's scores that a linear prediction from the items so far
	// explains, on participants whom neither the choice nor the prediction has seen.
	Explained float64 `json:"explained"`
	// Correlations are those of each score with its prediction, on the same participants.
	Correlations []float64 `json:"correlations"`
}

// Meta factorizes the factors of several questionnaires: the items of the second stage are the factors of the first, with
// scores from 0 to 1, missing where a participant did not answer a questionnaire (Lam et al., section 5).
//
// The compact set is chosen one by one among the items of all questionnaires on a random half of the participants: each time
// the item that, with those before, leaves least of the squared scores of the second stage, missing answers at the item's
// mean. The other half tells how well it does.
func Meta(ctx context.Context, o MetaOptions) (*Fitted, error) {
	if len(o.Models) < 2 {
		return nil, fmt.Errorf("%w: a second stage wants the output folders of two fits or more, not %d", ErrOptions, len(o.Models))
	}
	if o.Compact < 0 {
		return nil, fmt.Errorf("%w: a compact set of %d items", ErrOptions, o.Compact)
	}
	all := make([]*Model, len(o.Models))
	var names []string
	for i, dir := range o.Models {
		m, err := Load(dir)
		if err != nil {
			return nil, err
		}
		if m.Numbered {
			return nil, &Error{File: dir, Err: ErrNumbered}
		}
		name := filepath.Base(filepath.Clean(dir))
		if slices.Contains(names, name) {
			return nil, fmt.Errorf("%w: two models in folders of the name %q", ErrOptions, name)
		}
		all[i], names = m, append(names, name)
	}
	var err error
	if o.table, err = joined(o.Models, names, all); err != nil {
		return nil, err
	}
	var answers []*Table
	if o.Compact > 0 {
		if answers, err = fittedAnswers(o.Models, all); err != nil {
			return nil, err
		}
	}
	o.Input, o.Columns = o.table.File, Columns{}
	f, err := Fit(ctx, o.Options)
	if err != nil {
		return nil, err
	}
	if o.Compact > 0 {
		f.Summary.Compact, err = compact(f.Scores, names, answers, o)
	}
	return f, err
}

// joined returns the scores of all models as answers.
func joined(dirs, names []string, all []*Model) (*Table, error) {
	t := &Table{File: strings.Join(names, ", ")}
	row, at := map[string]int{}, 0
	var cells [][]float64 // of each participant
	width := 0
	for _, m := range all {
		width += m.Summary.Factors
	}
	for i, m := range all {
		for c := range m.Summary.Factors {
			t.Items = append(t.Items, Item{Name: names[i] + ".factor" + strconv.Itoa(c+1), Text: m.theme(c), Subscale: names[i], Range: &Range{0, 1}})
		}
		scores, err := readScores(filepath.Join(dirs[i], ScoresFile), m.Summary.Factors)
		if err != nil {
			return nil, err
		}
		if n := m.Summary.Participants; len(scores.IDs) != n {
			return nil, &Error{File: filepath.Join(dirs[i], ScoresFile), Err: fmt.Errorf("%w: %d participants in place of %d", ErrOtherScores, len(scores.IDs), n)}
		}
		for r, id := range scores.IDs {
			to, ok := row[id]
			if !ok {
				to = len(cells)
				row[id] = to
				empty := make([]float64, width)
				for j := range empty {
					empty[j] = math.NaN()
				}
				cells, t.IDs, t.Lines = append(cells, empty), append(t.IDs, id), append(t.Lines, r+2)
			}
			copy(cells[to][at:], scores.Values.RawRowView(r))
		}
		at += m.Summary.Factors
	}
	t.Answers = mat.NewDense(len(cells), width, slices.Concat(cells...))
	return t, t.checkShared()
}

// theme names the items that load on a factor most.
func (m *Model) theme(factor int) string {
	const words = 3
	var texts []string
	for _, item := range m.columns()[factor].Top {
		if item.Text == "" {
			item.Text = item.Name
		}
		if texts = append(texts, item.Text); len(texts) == words {
			break
		}
	}
	return strings.Join(texts, "; ")
}

// readScores reads a table that Scores.CSV gave, of so many factors.
func readScores(path string, factors int) (s *Scores, err error) {
	defer func() {
		if at, ok := errors.AsType[*Error](err); ok {
			at.File = path
		}
	}()
	records, err := openTable(path)
	if err != nil {
		return nil, err
	}
	defer records.close()
	s = &Scores{}
	var values []float64
	for first := true; ; first = false {
		record, err := records.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		line, _ := records.FieldPos(0)
		if len(record) != factors+1 {
			return nil, &Error{Line: line, Err: csv.ErrFieldCount}
		}
		if first {
			continue
		}
		s.IDs = append(s.IDs, strings.Clone(record[0]))
		for c, cell := range record[1:] {
			v, err := number(cell)
			if err == nil && (v < 0 || v > 1) {
				err = ErrOutOfRange
			}
			if err != nil {
				return nil, &Error{Line: line, Column: "factor" + strconv.Itoa(c+1), Err: err}
			}
			values = append(values, v)
		}
	}
	if len(s.IDs) == 0 {
		return nil, &Error{Err: ErrNoParticipants}
	}
	s.Values = mat.NewDense(len(s.IDs), factors, values)
	return s, s.checkIDs()
}

// fittedAnswers reads the answers that the models in these folders were fitted to, of those who were not left out.
func fittedAnswers(dirs []string, all []*Model) ([]*Table, error) {
	tables := make([]*Table, len(all))
	for i, m := range all {
		if m.Summary.Settings.InputSHA256 == "" {
			return nil, &Error{File: dirs[i], Err: ErrNoOwnAnswers}
		}
		path := m.Summary.Settings.Input
		if !filepath.IsAbs(path) {
			path = filepath.Join(dirs[i], path)
		}
		t, err := m.read(path, Columns{OmitIncomplete: true})
		if err == nil && t.sha256 != m.Summary.Settings.InputSHA256 {
			err = &Error{File: path, Err: ErrOtherAnswers}
		}
		if err != nil {
			return nil, fmt.Errorf("reading the answers of model %q: %w", dirs[i], err)
		}
		tables[i] = t
	}
	return tables, nil
}

// compact chooses the items that estimate the scores.
func compact(scores Scores, names []string, answers []*Table, o MetaOptions) ([]CompactItem, error) {
	row := map[string]int{}
	for i, id := range scores.IDs {
		row[id] = i
	}
	var items []CompactItem
	var parts []*mat.Dense
	for i, t := range answers {
		part := mat.NewDense(len(scores.IDs), len(t.Items), nil)
		part.Apply(func(_, _ int, _ float64) float64 { return math.NaN() }, part)
		for r, id := range t.IDs {
			if to, ok := row[id]; ok {
				part.SetRow(to, t.Answers.RawRowView(r))
			}
		}
		parts = append(parts, part)
		for _, item := range t.Items {
			items = append(items, CompactItem{Questionnaire: names[i], Item: item})
		}
	}
	x := mat.NewDense(len(scores.IDs), len(items), nil)
	at := 0
	for _, part := range parts {
		_, p := part.Dims()
		x.Slice(0, len(scores.IDs), at, at+p).(*mat.Dense).Copy(part)
		at += p
	}
	scores.Values, x = inOrder(scores.Values, x)
	order := rand.New(rand.NewPCG(o.Seed, 0)).Perm(len(scores.IDs))
	half := len(order) / 2
	learn, test := order[:half], order[half:]
	x = filled(x, columnMeans(linalg.SelectRows(x, learn)))
	chosen, explained := forward(linalg.SelectRows(x, learn), linalg.SelectRows(scores.Values, learn), linalg.SelectRows(x, test), linalg.SelectRows(scores.Values, test), min(o.Compact, len(items), half-1))
	out := make([]CompactItem, len(chosen))
	for i, j := range chosen {
		out[i] = items[j]
		out[i].Explained = explained[i]
		out[i].Correlations = correlations(pickColumns(x, chosen[:i+1]), scores.Values, learn, test)
	}
	return out, nil
}

// forward chooses columns of x, one by one, that leave least of ‖Y‖², and tells what share of the variance of the test rows
// each set explains there.
func forward(x, y, testX, testY *mat.Dense, count int) (chosen []int, explained []float64) {
	means := columnMeans(y)
	rest, left := centred(x), centred(y)
	_, p := rest.Dims()
	_, k := left.Dims()
	for range count {
		best, gain := none, 1e-9
		for j := range p {
			column := rest.ColView(j)
			norm := mat.Dot(column, column)
			if norm < 1e-9 {
				continue // chosen, or nothing of its own
			}
			g := 0.0
			for t := range k {
				d := mat.Dot(column, left.ColView(t))
				g += d * d / norm
			}
			if g > gain {
				best, gain = j, g
			}
		}
		if best == none {
			return chosen, explained
		}
		chosen = append(chosen, best)
		direction := mat.VecDenseCopyOf(rest.ColView(best))
		direction.ScaleVec(1/mat.Norm(direction, 2), direction)
		for _, m := range []*mat.Dense{rest, left} {
			along := &mat.VecDense{}
			along.MulVec(m.T(), direction)
			m.RankOne(m, -1, direction, along)
		}
		explained = append(explained, predicts(pickColumns(centred(x), chosen), centred(y), shifted(pickColumns(testX, chosen), columnMeans(pickColumns(x, chosen))), shifted(testY, means)))
	}
	return chosen, explained
}

// predicts returns the share of the test rows' squares that the least-squares prediction explains.
func predicts(x, y, testX, testY *mat.Dense) float64 {
	b, predicted := &mat.Dense{}, &mat.Dense{}
	if err := b.Solve(x, y); err != nil && !errors.As(err, new(mat.Condition)) {
		return 0
	}
	predicted.Mul(testX, b)
	all := mat.Norm(testY, 2)
	if all == 0 {
		return 0
	}
	predicted.Sub(testY, predicted)
	return 1 - math.Pow(mat.Norm(predicted, 2)/all, 2)
}

// columnMeans returns the means of what is not NaN, 0 of nothing.
func columnMeans(a *mat.Dense) []float64 {
	n, c := a.Dims()
	means := make([]float64, c)
	for j := range means {
		seen := 0.0
		for i := range n {
			if v := a.At(i, j); !math.IsNaN(v) {
				means[j] += v
				seen++
			}
		}
		means[j] /= max(seen, 1)
	}
	return means
}

// shifted returns the matrix less these means of its columns.
func shifted(a *mat.Dense, means []float64) *mat.Dense {
	out := mat.DenseCopyOf(a)
	out.Apply(func(_, j int, v float64) float64 { return v - means[j] }, out)
	return out
}

// compactCSV returns the compact set as a table.
func (m *Model) compactCSV() ([]byte, error) {
	rows := [][]string{append([]string{"rank", "questionnaire", "item", "text", "explained"}, factorNames(m.factors.Loadings)...)}
	for i, item := range m.Summary.Compact {
		rows = append(rows, append([]string{strconv.Itoa(i + 1), item.Questionnaire, item.Name, item.Text, strconv.FormatFloat(item.Explained, 'g', -1, 64)}, cells(item.Correlations)...))
	}
	var b bytes.Buffer
	err := csv.NewWriter(&b).WriteAll(rows)
	return b.Bytes(), err
}
