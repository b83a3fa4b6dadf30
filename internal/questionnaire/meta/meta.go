// Package meta runs a second stage: it factorizes the factors of several fits, and chooses a compact set of their items.
package meta

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/score"
	"github.com/wardcast/wardcast/internal/table"
)

// Options says what to factorize in a second stage.
type Options struct {
	// Options are those of the second stage; Input, Table and Columns do not count.
	fit.Options
	// Models are output folders of fits, each of another questionnaire. Participants are matched by their ids.
	Models []string
	// Compact is the number of items to choose, 0 for none. It needs the answers of the fits where they were.
	Compact int
}

// stage is a fit whose factors are items of the second stage.
type stage struct {
	*model.Model
	dir, name string
}

// Run factorizes the factors of several questionnaires: the items of the second stage are the factors of the first, with
// scores from 0 to 1, missing if a participant did not answer a questionnaire (Lam et al., section 5).
//
// The compact set is chosen one by one among the items of all questionnaires on a random half of the participants: each time
// the item that, with those before, leaves the least of the squared scores of the second stage; missing answers are the
// item's mean. The other half tells how well it does.
func Run(ctx context.Context, o Options) (*model.Fitted, error) {
	if len(o.Models) < 2 {
		return nil, fmt.Errorf("%w: a second stage needs the output folders of two fits or more, not %d", questionnaire.ErrOptions, len(o.Models))
	}
	if o.Compact < 0 {
		return nil, fmt.Errorf("%w: a compact set of %d items", questionnaire.ErrOptions, o.Compact)
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
		if slices.ContainsFunc(stages, func(other stage) bool { return other.name == s.name }) {
			return nil, fmt.Errorf("%w: two models are in folders with the name %q", questionnaire.ErrOptions, s.name)
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
			t.Items = append(t.Items, questionnaire.Item{
				Name: s.name + ".factor" + strconv.Itoa(c+1), Text: theme(column.Top), Subscale: s.name, Range: &questionnaire.Range{High: 1},
			})
		}
	}
	t.File = strings.Join(names, ", ")
	row, at := map[string]int{}, 0
	var cells []float64
	width := len(t.Items)
	for _, s := range stages {
		path := filepath.Join(s.dir, model.ScoresFile)
		scores, err := score.Read(path, s.Summary.Factors)
		if err != nil {
			return nil, err
		}
		if n := s.Summary.Participants; len(scores.IDs) != n {
			return nil, &table.Error{File: path, Err: fmt.Errorf("%w: %d participants instead of %d", questionnaire.ErrOtherScores, len(scores.IDs), n)}
		}
		for r, id := range scores.IDs {
			to, ok := row[id]
			if !ok {
				to = len(t.IDs)
				row[id] = to
				cells, t.IDs, t.Lines = append(cells, missing(width)...), append(t.IDs, id), append(t.Lines, r+2)
			}
			copy(cells[to*width+at:], scores.Values.RawRowView(r))
		}
		at += s.Summary.Factors
	}
	t.Answers = mat.NewDense(len(t.IDs), width, cells)
	return t, checkShared(t)
}

// missing returns a row of missing answers.
func missing(width int) []float64 {
	row := make([]float64, width)
	for j := range row {
		row[j] = math.NaN()
	}
	return row
}

// theme names the items that load on a factor most.
func theme(items []model.Loading) string {
	const words = 3
	var texts []string
	for _, item := range items[:min(len(items), words)] {
		texts = append(texts, cmp.Or(item.Text, item.Name))
	}
	return strings.Join(texts, "; ")
}

// checkShared returns an error for a questionnaire that no chain of shared participants links to the first. The questionnaire
// of an item is its subscale. Nothing would tell how the factors of such a questionnaire go with the others.
func checkShared(t *answers.Table) error {
	reached := map[string]bool{t.Items[0].Subscale: true}
	for before := 0; before < len(reached); {
		before = len(reached)
		for i := range t.IDs {
			var answered []string
			for j, v := range t.Answers.RawRowView(i) {
				if !math.IsNaN(v) {
					answered = append(answered, t.Items[j].Subscale)
				}
			}
			if slices.ContainsFunc(answered, func(name string) bool { return reached[name] }) {
				for _, name := range answered {
					reached[name] = true
				}
			}
		}
	}
	for _, item := range t.Items {
		if !reached[item.Subscale] {
			return &table.Error{File: item.Subscale, Err: questionnaire.ErrNotShared}
		}
	}
	return nil
}
