// Package items computes the distribution of each item, its relation to its scale, and the reliability of scales.
//
// A scale is p items that n participants answered, X n×p, NaN for a missing answer. Reversed items are turned.
//
//	symbol  shape  holds
//	C       p×p    covariances, each over the participants who answered both items (divisor: their number − 1)
//	S       p×p    C_ij/√(C_ii·C_jj)
//	R       p×p    correlations over the participants who answered both items, variances too
//	V       1      Σ_ij C_ij, the variance of the sum of the items
//
// S and R are the same unless answers are missing. Each is used where R's package psych uses it; the tests compare with
// its version 2.2.9. Undefined figures are nil, and Reliability.Warnings says why.
//
// Equal input and seed give equal bits, for any order of the participants and any number of threads.
package items

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/linalg"
)

// DefaultFactors is the number of group factors of omega, as in psych.
const DefaultFactors = 3

// Options says what to analyze.
type Options struct {
	// Input is the path of the answers.
	Input   string
	Columns answers.Columns
	// Factors is the number of group factors of omega; 0 means DefaultFactors.
	Factors int
	// Seed of the intervals of omega, and of random split halves if there are too many to try all.
	Seed uint64
	// Threads is the number of threads; 0 means one for each processor.
	Threads int
	// Remark, when not nil, receives the remarks about the input once it is read.
	Remark func(answers.Remarks)
}

// Analysis is the outcome of Run.
type Analysis struct {
	N     int    `json:"n"` // participants with answers
	Items []Item `json:"items"`
	// Reliability is that of all items that vary, as one scale. Constant are the others.
	Reliability
	Constant []string `json:"constant"`
	// Subscales are those of the codebook with two varying items or more, in the order of their first items.
	Subscales []Subscale `json:"subscales"`
	Groups    []Group    `json:"groups"`
	// Screenings are those of the labels of the columns.
	Screenings []Screening `json:"screenings,omitempty"`
}

// Item is the distribution of the answers to an item. Reversed items are turned.
type Item struct {
	Name     string   `json:"item"`
	Subscale string   `json:"subscale,omitempty"`
	Reversed bool     `json:"reversed,omitempty"`
	N        int      `json:"n"`       // participants who answered it
	Missing  float64  `json:"missing"` // share of the participants with answers who did not
	Mean     *float64 `json:"mean"`
	SD       *float64 `json:"sd"` // divisor n − 1
	// Difficulty is (mean − low)/(high − low) of the range of the item, 0 to 1. Floor and Ceiling are the shares of
	// answers at low and at high.
	Difficulty *float64 `json:"difficulty"`
	Floor      *float64 `json:"floor"`
	Ceiling    *float64 `json:"ceiling"`
	Part                // of all items as one scale
}

// Part is the relation of an item to its scale. All fields are nil for an item that does not vary.
type Part struct {
	// ItemRest is the correlation with the sum of the others, r.drop of psych, and ItemTotal that with the sum of all:
	//
	//	(t_i − C_ii)/√(C_ii·(V − 2t_i + C_ii)),   t_i/√(C_ii·V),   t_i = Σ_j C_ij
	ItemRest  *float64 `json:"item_rest"`
	ItemTotal *float64 `json:"item_total"`
	// AlphaDropped is alpha without the item; nil if only one item is left.
	AlphaDropped *float64 `json:"alpha_dropped"`
}

// Subscale is a subscale of the codebook.
type Subscale struct {
	Name  string         `json:"subscale"`
	N     int            `json:"n"` // participants who answered any of its items
	Items []SubscaleItem `json:"items"`
	Reliability
}

// SubscaleItem is an item in its subscale.
type SubscaleItem struct {
	Name string `json:"item"`
	Part
}

// Group is the missing shares of a group.
type Group struct {
	Column       string             `json:"column"`
	Group        string             `json:"group"`
	Participants int                `json:"participants"`
	Missing      float64            `json:"missing"` // share of its answers to all items
	Items        map[string]float64 `json:"items"`   // share of its answers to each item
}

// Run reads and analyzes a file of answers. Items that do not vary belong to no scale, and the remarks name them.
//
// The error is one of answers.Read, or a *table.Error if fewer than two items vary or answers are too large or too
// small to calculate with, or wraps questionnaire.ErrOptions. When ctx ends, it is the context's cause.
func Run(ctx context.Context, o Options) (*Analysis, error) {
	o.Factors = cmp.Or(o.Factors, DefaultFactors)
	switch {
	case o.Factors < 1:
		return nil, questionnaire.Optionf("%d factors", o.Factors)
	case o.Threads < 0 || o.Threads > solver.MaxThreads:
		return nil, questionnaire.Optionf("%d threads, must be 0 to %d", o.Threads, solver.MaxThreads)
	}
	t, err := answers.Read(o.Input, &o.Columns)
	if err != nil {
		return nil, err
	}
	varying := t.Varying(t.All())
	t.Dropped = append(t.Dropped, t.Names(t.Except(varying))...)
	t.Opposed = fit.Opposed(t, o.Threads)
	if o.Remark != nil {
		o.Remark(t.Remarks)
	}
	if len(varying) < 2 {
		return nil, &table.Error{File: t.File, Err: questionnaire.ErrFewItems}
	}
	a := &Analysis{
		N: len(t.IDs), Constant: append([]string{}, t.Dropped...), Subscales: []Subscale{}, Groups: groups(t),
	}
	for j := range t.Items {
		a.Items = append(a.Items, describe(t, j, o.Columns.FromLow))
	}
	a.Screenings = screenings(t, &o.Columns, linalg.Threads(o.Threads))
	whole, err := o.scale(ctx, t, varying)
	if err != nil {
		return nil, err
	}
	if a.Reliability, err = whole.reliability(ctx, &o); err != nil {
		return nil, err
	}
	for i, j := range varying {
		a.Items[j].Part = whole.part(i)
	}
	for _, scale := range questionnaire.ScalesOf(t.Items, varying, false) {
		if scale.Name == "" || len(scale.Items) < 2 {
			continue
		}
		s, err := o.scale(ctx, t, scale.Items)
		if err != nil {
			return nil, err
		}
		sub := Subscale{Name: scale.Name, N: s.n}
		if sub.Reliability, err = s.reliability(ctx, &o); err != nil {
			return nil, err
		}
		for i, name := range s.names {
			sub.Items = append(sub.Items, SubscaleItem{name, s.part(i)})
		}
		a.Subscales = append(a.Subscales, sub)
	}
	return a, nil
}

func describe(t *answers.Table, j int, fromLow bool) Item {
	item := &t.Items[j]
	known := slices.DeleteFunc(mat.Col(nil, j, t.Answers), math.IsNaN)
	slices.Sort(known) // for the same sum in any order of the participants
	n := float64(len(known))
	d := Item{Name: item.Name, Subscale: item.Subscale, Reversed: item.Reversed, N: len(known), Missing: float64(
		len(t.IDs)-len(known)) / float64(len(t.IDs))}
	if len(known) == 0 {
		return d
	}
	mean := floats.Sum(known) / n
	var squares, floor, ceiling float64
	low, high := item.Range.Low, item.Range.High
	if fromLow {
		low, high = 0, high-low
	}
	for _, v := range known {
		squares += (v - mean) * (v - mean)
		if v <= low {
			floor++
		}
		if v >= high {
			ceiling++
		}
	}
	d.Mean, d.SD = &mean, finite(math.Sqrt(squares/(n-1)))
	if low < high { // a range that is taken from equal answers has no width
		d.Difficulty, d.Floor, d.Ceiling = finite((mean-low)/(high-low)), finite(floor/n), finite(ceiling/n)
	}
	return d
}

// groups returns the missing shares of the groups, except of a missing value and of groups below answers.LeastGroup.
func groups(t *answers.Table) []Group {
	all := []Group{}
	for _, column := range t.Groups {
		rows := map[string][]int{}
		for i, group := range column.Values {
			rows[group] = append(rows[group], i)
		}
		for _, name := range slices.Sorted(maps.Keys(rows)) {
			members := rows[name]
			if name == "" || len(members) < answers.LeastGroup {
				continue
			}
			g := Group{Column: column.Column, Group: name, Participants: len(members), Items: map[string]float64{}}
			total := 0
			for j, item := range t.Items {
				missing := floats.Count(math.IsNaN, lists.Take(mat.Col(nil, j, t.Answers), members))
				total += missing
				g.Items[item.Name] = float64(missing) / float64(len(members))
			}
			g.Missing = float64(total) / float64(len(members)*len(t.Items))
			all = append(all, g)
		}
	}
	return all
}

// scale returns the items of a scale, all of which vary.
func (o *Options) scale(ctx context.Context, t *answers.Table, items []int) (*scale, error) {
	rows := t.Answering(t.All(), items)
	x := t.AnswersOf(rows, items)
	x = linalg.SelectRows(x, linalg.RowOrder(x, nil))
	s := &scale{x: x, n: len(rows), t: make([]float64, len(items)), threads: linalg.Threads(o.Threads)}
	var err error
	if s.r, err = factoranalysis.Correlate(ctx, x, factoranalysis.Pearson, o.Threads); err != nil {
		return nil, &table.Error{File: t.File, Err: fmt.Errorf("%w: %w", questionnaire.ErrScale, err)}
	}
	s.c, s.pairs = s.threads.Covariances(x)
	for i, item := range items {
		s.names = append(s.names, t.Items[item].Name)
		for j := range items {
			s.t[i] += s.c.At(i, j)
		}
	}
	s.v = floats.Sum(s.t)
	return s, nil
}

func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
