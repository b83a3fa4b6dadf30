package cfa

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/files"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

// The estimators.
const (
	ML    = "ml"
	FIML  = "fiml"
	WLSMV = "wlsmv"
)

// Options says what to fit.
type Options struct {
	// Input and Model are the paths of the answers and of the model.
	Input, Model string
	// Estimator is ML, FIML or WLSMV; "" means WLSMV with ordered items and ML without.
	Estimator string
	// Ordered are the items whose answers are ordered categories: all of the model, or none; "all" means all.
	Ordered []string
	// Group is the column of the groups, "" for one group; column=A:B takes the groups A and B of it, in this order.
	Group  string
	chosen []string // the groups that Group takes, nil for all
	// Invariance is the last step of invariance over the groups; "" for none, where only labels make groups equal.
	Invariance string
	// Missing are further codes of missing answers.
	Missing []string
	// Warn is that of table.Options.
	Warn func(message string, facts ...any)
	// Remark, when not nil, is called with the remarks on the answers before the search begins.
	Remark func(answers.Remarks)
	// Threads is the number of threads; 0 means one for each processor.
	Threads int
}

// Parameter is an estimate, or a fixed value.
type Parameter struct {
	Group        string               `json:"group"`
	LHS          string               `json:"lhs"`
	Op           string               `json:"op"`
	RHS          string               `json:"rhs"`
	Estimate     float64              `json:"estimate"`
	SE           questionnaire.Figure `json:"se"` // null where the value is fixed, or follows from others
	Standardized questionnaire.Figure `json:"standardized"`
}

// Modification says what freeing a fixed parameter would do.
type Modification struct {
	Group string `json:"group"`
	LHS   string `json:"lhs"`
	Op    string `json:"op"`
	RHS   string `json:"rhs"`
	// MI is by how much chi-square would fall, to the second order, and ExpectedChange the parameter's change.
	MI             float64 `json:"mi"`
	ExpectedChange float64 `json:"expected_change"`
}

// Result is the outcome of Run.
type Result struct {
	Estimator     string         `json:"estimator"`
	N             int            `json:"n"`
	Converged     bool           `json:"converged"`
	Parameters    []Parameter    `json:"parameters"`
	Fit           Measures       `json:"fit"`
	Modifications []Modification `json:"modification_indices"`
	Steps         []Step         `json:"steps,omitempty"`
	Warnings      []string       `json:"warnings"`
}

const maxModel = 1 << 20 // bytes of a file

// Run reads answers and a model, and fits it. An error about a file is a *table.Error. ErrUnidentified and
// ErrUnconverged come with what can be said about the reason.
func Run(ctx context.Context, o Options) (*Result, error) {
	text, err := files.Read(o.Model, maxModel)
	if err != nil {
		return nil, &table.Error{File: o.Model, Err: table.Cause(err)}
	}
	f, err := newFrame(o.Model, string(text))
	if err != nil {
		return nil, err
	}
	names, err := o.choose(f)
	if err != nil {
		return nil, err
	}
	r := &Result{Estimator: o.Estimator, Warnings: []string{}}
	groups, samples, err := o.read(f, r)
	if err != nil {
		return nil, err
	}
	for _, x := range samples {
		n, _ := x.Dims()
		r.N += n
	}
	var data estimator
	if o.Estimator == WLSMV {
		data, err = newOrderedData(ctx, &o, f, groups, samples)
	} else {
		data, err = newNormalData(ctx, f, groups, samples, o.Estimator == FIML)
	}
	if err != nil {
		return nil, err
	}
	var last *fitted
	if len(names) > 0 {
		last, err = r.invariance(ctx, data, names)
	} else {
		last, err = data.fit(ctx, step{})
	}
	if err != nil {
		return nil, err
	}
	r.report(last)
	return r, nil
}

// choose completes and checks the estimator, and returns the steps of invariance.
func (o *Options) choose(f *frame) (names []string, err error) {
	if o.Estimator == "" {
		if o.Estimator = ML; len(o.Ordered) > 0 {
			o.Estimator = WLSMV
		}
	}
	switch {
	case !slices.Contains([]string{ML, FIML, WLSMV}, o.Estimator):
		return nil, questionnaire.Optionf("estimator %q must be %s, %s or %s", o.Estimator, ML, FIML, WLSMV)
	case o.Threads < 0 || o.Threads > solver.MaxThreads:
		return nil, questionnaire.Optionf("%d threads, must be 0 to %d", o.Threads, solver.MaxThreads)
	case (o.Estimator == WLSMV) != (len(o.Ordered) > 0):
		return nil, questionnaire.Optionf("wlsmv is for ordered items, which --ordered names, and the other " +
			"estimators are for numbers")
	}
	if len(o.Ordered) > 0 && !slices.Equal(o.Ordered, []string{"all"}) {
		for _, item := range f.items {
			if !slices.Contains(o.Ordered, item) {
				return nil, questionnaire.Optionf("item %q is not among --ordered %s: all items of a model are "+
					"ordered, or none", item, strings.Join(o.Ordered, ","))
			}
		}
		for _, item := range o.Ordered {
			if !slices.Contains(f.items, item) {
				return nil, questionnaire.Optionf("--ordered names %q, which is no item of the model", item)
			}
		}
	}
	if column, values, chosen := strings.Cut(o.Group, "="); chosen {
		o.chosen = strings.Split(values, ":")
		if len(o.chosen) < 2 || slices.Contains(o.chosen, "") || len(lists.Union(nil, o.chosen)) < len(o.chosen) {
			return nil, questionnaire.Optionf("--group %q: must be a column, or column=A:B of different groups",
				o.Group)
		}
		o.Group = column
	}
	if o.Invariance == "" {
		return nil, nil
	}
	if o.Group == "" {
		return nil, questionnaire.Optionf("--invariance compares groups, which --group names")
	}
	return steps(o.Invariance, o.Estimator == WLSMV)
}

// read returns the groups in the order of the options or else of the file, and their answers, n×p. Rows without a group
// are left out, and with ML and WLSMV those with a missing answer too.
func (o *Options) read(f *frame, r *Result) (groups []string, samples []*mat.Dense, err error) {
	columns := answers.SheetColumns{Numbers: f.items, Missing: o.Missing, Warn: o.Warn}
	if o.Group != "" {
		columns.Levels = []string{o.Group}
	}
	sheet, err := answers.ReadSheet(o.Input, columns)
	if at, ok := errors.AsType[*table.Error](err); ok && errors.Is(err, table.ErrNoColumn) &&
		slices.Contains(f.items, at.Column) {
		return nil, nil, &table.Error{File: o.Model, Line: f.lines[at.Column], Err: fmt.Errorf("item %q is no column "+
			"of %s", at.Column, o.Input)}
	}
	if err != nil {
		return nil, nil, err
	}
	if o.Remark != nil && len(sheet.Rows) > 0 {
		o.Remark(answers.Remarks{Apart: f.apart(sheet)})
	}
	members, incomplete, unanswered, ungrouped, others := map[string][]int{}, 0, 0, 0, 0
	for i, row := range sheet.Rows {
		group := ""
		if o.Group != "" {
			if group = row.Levels[0]; group == "" {
				ungrouped++
				continue
			}
			if o.chosen != nil && !slices.Contains(o.chosen, group) {
				others++
				continue
			}
		}
		missing := 0
		for _, v := range row.Numbers {
			if math.IsNaN(v) {
				missing++
			}
		}
		switch {
		case missing == len(f.items):
			unanswered++
			continue
		case missing > 0 && o.Estimator != FIML:
			incomplete++
			continue
		}
		if members[group] == nil {
			groups = append(groups, group)
		}
		members[group] = append(members[group], i)
	}
	for _, left := range []struct {
		rows      int
		which, by string
	}{
		{ungrouped, "without a group", ""},
		{others, "of other groups", ""},
		{unanswered, "without an answer", ""},
		{incomplete, "with a missing answer", " (--estimator fiml, of answers as numbers, keeps them)"},
	} {
		if left.rows > 0 {
			r.Warnings = append(r.Warnings,
				fmt.Sprintf("%s left out, %s%s", wording.Count(left.rows, "row"), left.which, left.by))
		}
	}
	if o.chosen != nil {
		groups = o.chosen
	}
	for _, group := range o.chosen {
		if members[group] == nil {
			return nil, nil, &table.Error{File: o.Input, Column: o.Group, Err: fmt.Errorf("no rows that count have %q",
				group)}
		}
	}
	if len(groups) == 0 {
		err := questionnaire.ErrNoAnswers
		if incomplete > 0 {
			for j, item := range f.items {
				answered := func(r answers.SheetRow) bool { return !math.IsNaN(r.Numbers[j]) }
				if !slices.ContainsFunc(sheet.Rows, answered) {
					return nil, nil, &table.Error{File: o.Input, Column: item, Err: questionnaire.ErrNeverAnswered}
				}
			}
			err = fmt.Errorf("nobody answered all %d items of the model: --estimator fiml, of answers as numbers, "+
				"does without", len(f.items))
		}
		return nil, nil, &table.Error{File: o.Input, Err: err}
	}
	if o.Invariance != "" && len(groups) < 2 {
		return nil, nil, &table.Error{File: o.Input, Column: o.Group, Err: errors.New("only one group")}
	}
	for _, group := range groups {
		x := mat.NewDense(len(members[group]), len(f.items), nil)
		for e, i := range members[group] {
			x.SetRow(e, sheet.Rows[i].Numbers)
		}
		if err := o.check(f, group, x); err != nil {
			return nil, nil, err
		}
		samples = append(samples, x)
	}
	return groups, samples, nil
}

// apart returns answers that look like codes of missing entries, which may lead the search astray.
func (f *frame) apart(sheet *answers.Sheet) *answers.Apart {
	t := answers.Table{Answers: mat.NewDense(len(sheet.Rows), len(f.items), nil)}
	for _, item := range f.items {
		t.Items = append(t.Items, questionnaire.Item{Name: item})
	}
	for i, row := range sheet.Rows {
		t.Lines = append(t.Lines, row.Line)
		t.Answers.SetRow(i, row.Numbers)
	}
	t.Infer()
	return t.Apart
}

// check refuses answers without a covariance matrix. It does not name a group that may be a participant.
func (o *Options) check(f *frame, group string, x *mat.Dense) error {
	where := within(group)
	n, p := x.Dims()
	if group != "" && (n <= p || n < answers.LeastGroup) {
		return &table.Error{File: o.Input, Column: o.Group, Err: fmt.Errorf("%s in one of the groups: each must have "+
			"more rows than the model has items, %d, and at least %d", wording.Count(n, "row"), p, answers.LeastGroup)}
	}
	column := make([]float64, n)
	for j, item := range f.items {
		if low, high := linalg.Extremes(mat.Col(column, j, x)); !(low < high) {
			err := questionnaire.ErrConstant
			if low > high {
				err = questionnaire.ErrNeverAnswered
			}
			return &table.Error{File: o.Input, Column: item, Err: fmt.Errorf("%w%s", err, where)}
		}
	}
	if n <= p {
		return &table.Error{File: o.Input, Err: fmt.Errorf("%s for %d items: there must be more rows than items",
			wording.Count(n, "row"), p)}
	}
	return nil
}

// report fills in parameters, fit and modification indices of a fitted model.
func (r *Result) report(f *fitted) {
	r.Converged, r.Fit = true, f.measures
	all := f.at(f.theta)
	for e := range f.cells {
		c := &f.cells[e]
		if f.cuts != nil && c.free == fixed && (c.kind == scale || c.kind == mean && c.i < len(f.items)) {
			continue // 1 and 0 are what identifies thresholds
		}
		v := c.at(f.theta)
		p := Parameter{
			Group: f.groups[c.group], LHS: c.lhs, Op: c.op, RHS: c.rhs, Estimate: v,
			SE:           questionnaire.Figure(math.NaN()),
			Standardized: questionnaire.Figure(all[c.group].standardized(c, v)),
		}
		if c.free != fixed {
			p.SE = questionnaire.Figure(math.Sqrt(f.errors.At(c.free, c.free)))
		}
		r.Parameters = append(r.Parameters, p)
	}
	if o, ok := f.objective.(*ordered); ok {
		r.addResiduals(f, all)
		r.Warnings = append(r.Warnings, o.extremes()...)
	}
	r.Modifications = f.modifications()
	for g := range all {
		r.Warnings = append(r.Warnings, f.improper(g, &all[g])...)
	}
}

// addResiduals adds the residual variances of ordered items, which follow from the other parameters.
func (r *Result) addResiduals(f *fitted, all []implied) {
	for g := range all {
		for i, item := range f.items {
			c := cell{group: g, kind: covariance, i: i, j: i}
			r.Parameters = append(r.Parameters, Parameter{
				Group: f.groups[g], LHS: item, Op: opCovariance, RHS: item, Estimate: all[g].theta.At(i, i),
				SE:           questionnaire.Figure(math.NaN()),
				Standardized: questionnaire.Figure(all[g].standardized(&c, all[g].theta.At(i, i))),
			})
		}
	}
}

// deviation returns the standard deviation of a node.
func (im *implied) deviation(node int) float64 {
	if node < im.p {
		return math.Sqrt(im.sigma.At(node, node))
	}
	return math.Sqrt(im.omega.At(node-im.p, node-im.p))
}

// residual returns the residual covariance of two nodes.
func (im *implied) residual(i, j int) float64 {
	if i < im.p {
		return im.theta.At(i, j)
	}
	return im.psi.At(i-im.p, j-im.p)
}

// standardized returns a parameter as it is where items and factors have variance 1.
func (im *implied) standardized(c *cell, v float64) float64 {
	switch {
	case c.kind == path:
		return v * im.deviation(c.j) / im.deviation(c.i)
	case c.kind == covariance && c.i == c.j:
		return v / (im.deviation(c.i) * im.deviation(c.i))
	case c.kind == covariance:
		return v / math.Sqrt(im.residual(c.i, c.i)*im.residual(c.j, c.j))
	case c.kind == scale:
		return 1
	default:
		return v / im.deviation(c.i)
	}
}

// improper returns warnings about variances and covariances of a group that no variables have.
func (f *fitted) improper(g int, im *implied) (all []string) {
	where := within(f.groups[g])
	var negative []string
	for i := range im.p + im.m {
		if im.residual(i, i) < 0 {
			negative = append(negative, slices.Concat(f.items, f.factors)[i])
		}
	}
	if len(negative) > 0 {
		return []string{fmt.Sprintf("variances below 0%s: %s", where, strings.Join(negative, ", "))}
	}
	for e, covariances := range []*mat.SymDense{im.psi, im.theta} {
		if values, _, ok := linalg.Eigen(covariances); ok && values[0] < -1e-8*values[len(values)-1] {
			all = append(all, fmt.Sprintf("the covariances of the %s%s are not those of any variables: correlations "+
				"are too large", []string{"factors", "residuals"}[e], where))
		}
	}
	return all
}
