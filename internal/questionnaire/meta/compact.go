package meta

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/score"
	"github.com/wardcast/wardcast/internal/table"
)

// itemsOf reads the answers that the models were fitted to, without the participants who were left out, and lists their items.
func itemsOf(stages []stage) (items []model.CompactItem, parts []*answers.Table, err error) {
	for _, s := range stages {
		if s.Summary.Settings.InputSHA256 == "" {
			return nil, nil, &table.Error{File: s.dir, Err: questionnaire.ErrNoOwnAnswers}
		}
		path := s.Summary.Settings.Input
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.dir, path)
		}
		t, err := score.Answers(s.Model, path, answers.Columns{OmitIncomplete: true})
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
func compact(scores model.Scores, items []model.CompactItem, parts []*answers.Table, count int, seed uint64) []model.CompactItem {
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
	rows := linalg.RowOrder(scores.Values, x) // so that the order of a file decides nothing
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
		item.Explained, item.Correlations = estimate(linalg.SelectColumns(learnX, set), learnY, linalg.SelectColumns(testX, set), testY)
		out = append(out, item)
	}
	return out
}

// forward chooses columns of x, one by one: each time the one that leaves the least of ‖Y‖². It ends early if no column tells
// more.
func forward(x, y *mat.Dense, count int) (chosen []int) {
	const nothing = 1e-9 // of squares: a column that was chosen, or adds nothing of its own
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

// estimate measures the linear regression of y on x in testX and testY: the share of the squares of testY, about the means of
// y, that it explains, and Pearson's correlation of each column of testY with its prediction. What is undefined is 0.
func estimate(x, y, testX, testY *mat.Dense) (explained float64, correlations []float64) {
	_, k := y.Dims()
	correlations = make([]float64, k)
	b, predicted := &mat.Dense{}, &mat.Dense{}
	if err := b.Solve(linalg.Centred(x, nil), linalg.Centred(y, nil)); err != nil && !errors.As(err, new(mat.Condition)) {
		return 0, correlations
	}
	predicted.Mul(testX, b) // means and intercept do not matter to a correlation
	for t := range correlations {
		if r := stat.Correlation(mat.Col(nil, t, predicted), mat.Col(nil, t, testY), nil); !math.IsNaN(r) {
			correlations[t] = r
		}
	}
	testY = linalg.Centred(testY, linalg.ColumnMeans(y))
	if all := mat.Norm(testY, 2); all > 0 {
		predicted.Mul(linalg.Centred(testX, linalg.ColumnMeans(x)), b)
		predicted.Sub(testY, predicted)
		explained = 1 - math.Pow(mat.Norm(predicted, 2)/all, 2)
	}
	return explained, correlations
}
