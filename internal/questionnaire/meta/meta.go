// Package meta runs a second stage: it factorizes the factors of several fits, and chooses a compact set of items.
package meta

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/internal/folds"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Options says what to factorize in a second stage.
type Options struct {
	// Options are those of the second stage; Input, Table and Columns are ignored.
	fit.Options
	// Models are output folders of fits, each of a different questionnaire. Participants are matched by their ids.
	Models []string
	// Compact is the number of items to choose, 0 for none. It needs the files of answers at their paths in the fits.
	Compact int
}

// stage is a fit whose factors are items of the second stage.
type stage struct {
	*model.Model
	dir, name string
}

// Run factorizes the factors of several questionnaires: the items of the second stage are the factors of the first,
// with scores from 0 to 1, missing if a participant did not answer a questionnaire (Lam et al., section 5).
//
// The compact set is chosen one by one among the items of all questionnaires on a random half of the participants: each
// time the item that, with those before, minimizes the residual squares of the second stage's scores; missing answers
// are the item's mean. The accuracy is measured on the other half.
func Run(ctx context.Context, o Options) (*model.Fitted, error) {
	if len(o.Models) < 2 {
		return nil, questionnaire.Optionf("a second stage needs the output folders of two fits or more, not %d",
			len(o.Models))
	}
	if o.Compact < 0 {
		return nil, questionnaire.Optionf("a compact set of %d items", o.Compact)
	}
	var stages []stage
	for _, dir := range o.Models {
		s := stage{dir: dir, name: filepath.Base(filepath.Clean(dir))}
		var err error
		if s.Model, err = model.Load(dir); err != nil {
			return nil, err
		}
		if s.Numbered {
			return nil, &table.Error{File: dir, Err: questionnaire.ErrNumbered}
		}
		if s.FA != nil {
			return nil, questionnaire.Optionf("the model in %q was fitted by %s, whose scores have no bounds; meta "+
				"needs %s or %s", dir, s.Summary.Method, model.MethodICQF, model.MethodL1)
		}
		if slices.ContainsFunc(stages, func(other stage) bool { return other.name == s.name }) {
			return nil, questionnaire.Optionf("two models are in folders with the name %q", s.name)
		}
		stages = append(stages, s)
	}
	var err error
	if o.Table, err = join(stages); err != nil {
		return nil, err
	}
	var items []model.CompactItem
	var parts []*answers.Table
	if o.Compact > 0 {
		if items, parts, err = itemsOf(stages); err != nil {
			return nil, err
		}
	}
	o.Input, o.Columns = o.Table.File, answers.Columns{}
	f, err := fit.Fit(ctx, o.Options)
	if err == nil && o.Compact > 0 {
		f.Summary.Compact = compact(f.Scores, items, parts, o.Compact, o.Seed)
	}
	return f, err
}

// join returns the scores of all models as answers.
func join(stages []stage) (*answers.Table, error) {
	t := &answers.Table{}
	var names []string
	for _, s := range stages {
		names = append(names, s.name)
		for c, column := range s.Columns()[:s.Summary.Factors] {
			theme := lists.Map(column.Top[:min(len(column.Top), 3)], // the items with the largest loadings
				func(item model.Loading) string { return cmp.Or(item.Text, item.Name) })
			t.Items = append(t.Items, questionnaire.Item{
				Name: s.name + ".factor" + strconv.Itoa(c+1), Text: strings.Join(theme, "; "), Subscale: s.name,
				Range: &questionnaire.Range{High: 1},
			})
		}
	}
	t.File = strings.Join(names, ", ")
	row, at := map[string]int{}, 0
	var cells []float64
	width := len(t.Items)
	for _, s := range stages {
		scores, err := readScores(filepath.Join(s.dir, model.ScoresFile), s.Model)
		if err != nil {
			return nil, err
		}
		for _, r := range scores.Rows {
			values := r.Numbers[:s.Summary.Factors]
			if !slices.ContainsFunc(values, func(v float64) bool { return v == v }) {
				continue // none of their scores is a measurement
			}
			to, ok := row[r.ID]
			if !ok {
				to = len(t.IDs)
				row[r.ID] = to
				cells, t.IDs, t.Lines = append(cells, missing(width)...), append(t.IDs, r.ID), append(t.Lines, r.Line)
			}
			copy(cells[to*width+at:], values)
		}
		at += s.Summary.Factors
	}
	t.Answers = mat.NewDense(len(t.IDs), width, cells)
	if j := t.Unlinked(func(item questionnaire.Item) string { return item.Subscale }); j >= 0 {
		// The relation of its factors to the others would be unknown.
		return nil, &table.Error{File: t.Items[j].Subscale, Err: questionnaire.ErrNotShared}
	}
	return t, nil
}

// readScores reads the scores of a model in a table written by Scores.CSV. A score that is not a measurement is NaN.
func readScores(path string, m *model.Model) (*answers.Sheet, error) {
	s, err := answers.ReadScores(path, m)
	if err != nil {
		return nil, err
	}
	fits, n := m.Summary.FactorFits, m.Summary.Participants-m.Summary.TooFew
	var other string
	switch next := "factor" + strconv.Itoa(len(fits)+1); {
	case slices.Contains(s.Header, next):
		other = fmt.Sprintf("a column %q, but the fit has %s", next, wording.Count(len(fits), "factor"))
	case len(s.Rows) != n:
		other = fmt.Sprintf("%d participants instead of %d", len(s.Rows), n)
	}
	if other != "" {
		return nil, &table.Error{File: path, Err: fmt.Errorf("%w: %s", questionnaire.ErrOtherScores, other)}
	}
	for _, row := range s.Rows {
		for t := range fits {
			v := &row.Numbers[t]
			if !(*v >= 0 && *v <= 1) {
				names := model.FactorNames(m.Loadings())
				return nil, &table.Error{File: path, Line: row.Line, Column: names[t], Err: questionnaire.ErrOutOfRange}
			}
			if len(row.Numbers) > len(fits) && !fits[t].Measures(row.Numbers[len(fits)+t]) {
				*v = math.NaN()
			}
		}
	}
	return s, nil
}

func missing(count int) []float64 { return slices.Repeat([]float64{math.NaN()}, count) }

// itemsOf reads the answers that the models were fitted to, and lists their items.
func itemsOf(stages []stage) (items []model.CompactItem, parts []*answers.Table, err error) {
	for _, s := range stages {
		if s.Summary.Settings.InputSHA256 == "" {
			return nil, nil, &table.Error{File: s.dir, Err: questionnaire.ErrNoOwnAnswers}
		}
		path := s.Summary.Settings.Input
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.dir, path)
		}
		t, err := fit.Answers(s.Model, path, answers.Columns{OmitIncomplete: true})
		if err == nil && t.SHA256 != s.Summary.Settings.InputSHA256 {
			err = &table.Error{File: path, Err: questionnaire.ErrOtherAnswers}
		}
		if err != nil {
			return nil, nil, fmt.Errorf("reading the answers of model %q: %w", s.dir, err)
		}
		for _, item := range t.Items {
			items = append(items, model.CompactItem{Questionnaire: s.name, Item: item})
		}
		parts = append(parts, t)
	}
	return items, parts, nil
}

// compact chooses up to count items that estimate the scores.
func compact(scores model.Scores, items []model.CompactItem, parts []*answers.Table, count int,
	seed uint64,
) []model.CompactItem {
	n := len(scores.IDs)
	row := map[string]int{}
	for i, id := range scores.IDs {
		row[id] = i
	}
	x := mat.NewDense(n, len(items), missing(n*len(items)))
	at := 0
	for _, t := range parts {
		for r, id := range t.IDs {
			if to, ok := row[id]; ok {
				copy(x.RawRowView(to)[at:], t.Answers.RawRowView(r))
			}
		}
		at += len(t.Items)
	}
	rows := linalg.RowOrder(scores.Values, x) // so that the order of a file has no effect
	y, x := linalg.SelectRows(scores.Values, rows), linalg.SelectRows(x, rows)
	order := rand.New(rand.NewPCG(seed, 0)).Perm(n)
	learn, test := order[:n/2], order[n/2:]
	x = linalg.Filled(x, linalg.ColumnMeans(linalg.SelectRows(x, learn)))
	learnX, learnY := linalg.SelectRows(x, learn), linalg.SelectRows(y, learn)
	testX, testY := linalg.SelectRows(x, test), linalg.SelectRows(y, test)
	var out []model.CompactItem
	chosen := forward(learnX, learnY, min(count, len(items), n/2-1))
	for i, j := range chosen {
		item, set := items[j], chosen[:i+1]
		e := estimate(linalg.SelectColumns(learnX, set), learnY, linalg.SelectColumns(testX, set), testY)
		item.Explained, item.Correlations = e.explained(nil), e.correlations
		i := e.interval(seed)
		item.Low, item.High = i.Low, i.High
		out = append(out, item)
	}
	return out
}

// forward chooses columns of x, each time the one that leaves the least of ‖Y‖², up to count or while one helps.
func forward(x, y *mat.Dense, count int) (chosen []int) {
	const nothing = 1e-9 // of squares: a column that was chosen, or depends on others
	rest, left := linalg.Centred(x, nil), linalg.Centred(y, nil)
	_, p := rest.Dims()
	_, k := left.Dims()
	for range count {
		best, gain := -1, nothing
		for j := range p {
			column := rest.ColView(j)
			norm := mat.Dot(column, column)
			if norm < nothing {
				continue
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
		if best < 0 {
			break
		}
		chosen = append(chosen, best)
		direction := mat.VecDenseCopyOf(rest.ColView(best))
		direction.ScaleVec(1/mat.Norm(direction, 2), direction)
		for _, m := range []*mat.Dense{rest, left} {
			along := &mat.VecDense{}
			along.MulVec(m.T(), direction)
			m.RankOne(m, -1, direction, along)
		}
	}
	return chosen
}

// estimation is the accuracy of predicted scores for participants whom the prediction has not seen.
type estimation struct {
	// of each participant, the squared scores about the training means: the residual, and all
	left, all    []float64
	correlations []float64 // of each score with its prediction
}

// estimate measures the linear regression of y on x in testX and testY. Undefined figures are 0.
func estimate(x, y, testX, testY *mat.Dense) estimation {
	n, k := testY.Dims()
	e := estimation{make([]float64, n), make([]float64, n), make([]float64, k)}
	b, predicted := &mat.Dense{}, &mat.Dense{}
	if err := b.Solve(linalg.Centred(x, nil), linalg.Centred(y, nil)); err != nil &&
		!errors.As(err, new(mat.Condition)) {
		return e
	}
	predicted.Mul(testX, b) // means and intercept do not matter to a correlation
	for t := range e.correlations {
		if r := stat.Correlation(mat.Col(nil, t, predicted), mat.Col(nil, t, testY), nil); !math.IsNaN(r) {
			e.correlations[t] = r
		}
	}
	testY = linalg.Centred(testY, linalg.ColumnMeans(y))
	predicted.Mul(linalg.Centred(testX, linalg.ColumnMeans(x)), b)
	predicted.Sub(testY, predicted)
	for i := range n {
		e.left[i] = mat.Dot(predicted.RowView(i), predicted.RowView(i))
		e.all[i] = mat.Dot(testY.RowView(i), testY.RowView(i))
	}
	return e
}

// explained returns the share of the squared scores that the prediction explains in these participants, nil for all.
func (e *estimation) explained(rows []int) float64 {
	left, all := floats.Sum(e.left), floats.Sum(e.all)
	if rows != nil {
		left, all = 0, 0
		for _, i := range rows {
			left, all = left+e.left[i], all+e.all[i]
		}
	}
	if !(all > 0) {
		return 0
	}
	return 1 - left/all
}

// draws is the number of samples of the participants for an interval.
const draws = 1000

// interval returns the percentile interval of the explained share, from participants drawn with
// replacement (B. Efron, "Nonparametric standard errors and confidence intervals", 1981).
func (e *estimation) interval(seed uint64) questionnaire.Interval {
	random := rand.New(rand.NewPCG(seed, 1))
	return questionnaire.Percentiles(
		lists.Make(draws, func(int) float64 { return e.explained(folds.Resample(random, len(e.all))) }))
}
