package cfa

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/wardcast/wardcast/internal/table"
)

// kind is the matrix in which a cell stands.
type kind int

const (
	path       kind = iota // loading of node i on factor j: Λ or B
	covariance             // of nodes i and j: Θ or Ψ
	mean                   // of node i: ν or α
	threshold              // number j of item i, from 0: τ
	scale                  // of item i: δ
)

// cell is a parameter of a group: free, or fixed at a value. Nodes are the items, followed by the factors.
type cell struct {
	group        int
	kind         kind
	lhs, op, rhs string
	i, j         int
	free         int      // its place among the free parameters, fixed for none
	value        float64  // if it is fixed
	start        *float64 // if it is free and the model says where to begin
	candidate    bool     // fixed by the model, not for identification: it has a modification index
}

const fixed = -1

// maxFactors bounds the factors of a model, of which all pairs are looked at.
const maxFactors = 200

// frame is what a file of a model says: its terms, the items and the factors in the order of their appearance.
type frame struct {
	file           string
	terms          []term
	items, factors []string
	lines          map[string]int // where each item and factor stands first
	equal          [][2]string    // labels
}

// newFrame finds items and factors. The error is a *table.Error with the line.
func newFrame(file, text string) (*frame, error) {
	terms, err := parse(file, text)
	if err != nil {
		return nil, err
	}
	f := &frame{file: file, lines: map[string]int{}}
	add := func(list *[]string, name string, line int) {
		if !slices.Contains(*list, name) {
			*list = append(*list, name)
			f.lines[name] = line
		}
	}
	labels := map[string]bool{}
	for _, t := range terms {
		labels[t.label] = true
		if t.op == opLoading {
			add(&f.factors, t.lhs, t.line)
		}
	}
	if len(f.factors) > maxFactors {
		return nil, &table.Error{File: file, Err: fmt.Errorf("more than %d factors", maxFactors)}
	}
	for _, t := range terms {
		if t.op == opLoading && !slices.Contains(f.factors, t.rhs) {
			add(&f.items, t.rhs, t.line)
		}
	}
	for _, t := range terms {
		var err error
		switch {
		case t.op == opEqual:
			for _, label := range []string{t.lhs, t.rhs} {
				if !labels[label] {
					err = fmt.Errorf("no parameter has the label %q", label)
				}
			}
			f.equal = append(f.equal, [2]string{t.lhs, t.rhs})
		case t.op == opLoading && t.lhs == t.rhs:
			err = fmt.Errorf("%q loads on itself", t.lhs)
		case t.op == opCovariance:
			lhs, rhs := f.node(t.lhs), f.node(t.rhs)
			switch {
			case lhs < 0 || rhs < 0:
				missing := t.lhs
				if lhs >= 0 {
					missing = t.rhs
				}
				err = fmt.Errorf("%q is no item or factor of a line with =~", missing)
			case (lhs < len(f.items)) != (rhs < len(f.items)):
				err = fmt.Errorf("%s ~~ %s: a covariance of an item with a factor is not part of a measurement "+
					"model", t.lhs, t.rhs)
			}
		}
		if err != nil {
			return nil, &table.Error{File: file, Line: t.line, Err: err}
		}
		if t.op != opEqual {
			f.terms = append(f.terms, t)
		}
	}
	if len(f.items) == 0 {
		return nil, &table.Error{File: file, Err: errors.New("no line says what a factor is measured by: factor =~ " +
			"item + item + item")}
	}
	return f, f.checkOrder()
}

// checkOrder refuses factors that load on each other in a circle.
func (f *frame) checkOrder() error {
	above := map[string][]string{} // the factors on which a factor loads
	for _, t := range f.terms {
		if t.op == opLoading && slices.Contains(f.factors, t.rhs) {
			above[t.rhs] = append(above[t.rhs], t.lhs)
		}
	}
	for _, start := range f.factors {
		reached := slices.Clone(above[start])
		for at := 0; at < len(reached); at++ {
			if reached[at] == start {
				return &table.Error{File: f.file, Line: f.lines[start], Err: fmt.Errorf("factor %q is measured by "+
					"itself in a circle", start)}
			}
			for _, factor := range above[reached[at]] {
				if !slices.Contains(reached, factor) {
					reached = append(reached, factor)
				}
			}
		}
	}
	return nil
}

// node returns the place of an item or a factor, −1 for neither.
func (f *frame) node(name string) int {
	if i := slices.Index(f.items, name); i >= 0 {
		return i
	}
	if k := slices.Index(f.factors, name); k >= 0 {
		return len(f.items) + k
	}
	return -1
}

// given returns the term of a parameter, nil if the model does not name it.
func (f *frame) given(op, lhs, rhs string) *term {
	at := slices.IndexFunc(f.terms, func(t term) bool { return t.is(op, lhs, rhs) })
	if at < 0 {
		return nil
	}
	return &f.terms[at]
}

// indicators are the terms of the loadings of a factor.
func (f *frame) indicators(factor string) (all []*term) {
	for i := range f.terms {
		if t := &f.terms[i]; t.op == opLoading && t.lhs == factor {
			all = append(all, t)
		}
	}
	return all
}

// higher reports whether a factor measures factors.
func (f *frame) higher(factor string) bool {
	return slices.ContainsFunc(f.indicators(factor), func(t *term) bool { return slices.Contains(f.factors, t.rhs) })
}

// dependent reports whether a factor loads on another.
func (f *frame) dependent(factor string) bool {
	return slices.ContainsFunc(f.terms, func(t term) bool { return t.op == opLoading && t.rhs == factor })
}

// unmark returns the frame with factors whose variance is 1 where the first loading was so by default.
func (f *frame) unmark() *frame {
	g := *f
	g.terms = slices.Clone(f.terms)
	for _, factor := range f.factors {
		all := g.indicators(factor)
		if slices.ContainsFunc(all, func(t *term) bool { return t.fixed != nil }) || all[0].free ||
			all[0].label != "" || f.given(opCovariance, factor, factor) != nil {
			continue
		}
		all[0].free = true
		g.terms = append(g.terms, term{line: all[0].line, lhs: factor, op: opCovariance, rhs: factor, fixed: new(1.0)})
	}
	return &g
}

// step is a set of equalities over groups.
type step struct {
	thresholds, loadings, intercepts bool
}

// model is a frame with its parameters in all groups.
type model struct {
	*frame
	groups []string
	cells  []cell
	free   int   // the number of free parameters
	cuts   []int // thresholds of each ordered item; nil if answers are numbers
	means  bool  // means are part of the model
}

// freeCells returns the cells that are not fixed.
func (m *model) freeCells() (free []cell) {
	for _, c := range m.cells {
		if c.free != fixed {
			free = append(free, c)
		}
	}
	return free
}

// mark returns the parameters of a model with the same cells at θ, in its units of factors: those of their first
// loadings.
func (m *model) mark(to *model, theta []float64) []float64 {
	unit := func(group, node int) float64 {
		for e := range m.cells {
			c := &to.cells[e]
			if c.group == group && c.kind == path && c.j == node && c.free == fixed && c.value != 0 {
				return m.cells[e].at(theta) / c.value
			}
		}
		return 1
	}
	marked := make([]float64, to.free)
	for e := range to.cells {
		c, v := &to.cells[e], m.cells[e].at(theta)
		switch {
		case c.free == fixed:
			continue
		case c.kind == path:
			v *= unit(c.group, c.i) / unit(c.group, c.j)
		case c.kind == covariance:
			v *= unit(c.group, c.i) * unit(c.group, c.j)
		case c.kind == mean:
			v *= unit(c.group, c.i)
		}
		marked[c.free] = v
	}
	return marked
}

// newModel returns the cells of a frame in these groups, with lavaan's defaults: the first loading of a factor is 1,
// residual variances and the variances and covariances of factors that load on no other are free, and the residual
// variance of the only item of a factor is 0. Means begin with free intercepts and factors of mean 0; where intercepts
// are equal, the factor means of the groups after the first are free. Ordered answers: see orderedCells.
func (f *frame) newModel(groups []string, cuts []int, means bool, equal step) (*model, error) {
	m := &model{frame: f, groups: groups, cuts: cuts, means: means}
	b := &builder{model: m, equal: equal, fixedKeys: map[string]float64{}, same: f.merged()}
	for g := range groups {
		if err := b.group(g); err != nil {
			return nil, err
		}
	}
	b.number()
	return m, b.err
}

// merged returns for each label that a == b names the label that stands for all that are equal to it.
func (f *frame) merged() map[string]string {
	same := map[string]string{}
	find := func(label string) string {
		for same[label] != "" {
			label = same[label]
		}
		return label
	}
	for _, pair := range f.equal {
		if a, b := find(pair[0]), find(pair[1]); a != b {
			same[b] = a
		}
	}
	all := map[string]string{}
	for label := range same {
		all[label] = find(label)
	}
	return all
}

// builder makes the cells of a model. Cells of the same key are equal.
type builder struct {
	*model
	equal     step
	names     []string // the key of each cell
	fixedKeys map[string]float64
	same      map[string]string
	err       error // of equal parameters with different values
}

// add adds a cell. It is free unless value is given; t is the term of the model, if any, which goes before value.
// shared makes it equal in all groups.
func (b *builder) add(c cell, value *float64, t *term, shared bool) {
	key := c.lhs + " " + c.op + " " + c.rhs
	if !shared {
		key = strconv.Itoa(c.group) + " " + key
	}
	if t != nil {
		c.start = t.start
		if t.label != "" {
			key = "label " + t.label
			if other := b.same[t.label]; other != "" {
				key = "label " + other
			}
		}
		switch {
		case t.fixed != nil:
			c.candidate, value = c.kind != path || *t.fixed != 1, t.fixed
		case t.free:
			value = nil
		}
	}
	c.free = 0
	if value != nil {
		c.free, c.value = fixed, *value
		if t != nil && t.label != "" {
			if other, is := b.fixedKeys[key]; is && other != *value {
				b.err = &table.Error{File: b.file, Line: t.line, Err: fmt.Errorf("parameters with the label %q are "+
					"fixed at %v and %v", t.label, other, *value)}
			}
			b.fixedKeys[key] = *value
		}
	}
	b.cells, b.names = append(b.cells, c), append(b.names, key)
}

// number numbers the free parameters: a cell that is equal to a fixed one is fixed too.
func (b *builder) number() {
	places := map[string]int{}
	for e := range b.cells {
		c, key := &b.cells[e], b.names[e]
		if v, is := b.fixedKeys[key]; is {
			c.free, c.value = fixed, v
		}
		if c.free == fixed {
			continue
		}
		at, known := places[key]
		if !known {
			at = b.free
			places[key] = at
			b.free++
		}
		c.free = at
	}
}

// group adds the cells of a group.
func (b *builder) group(g int) error {
	p := len(b.items)
	for _, factor := range b.factors {
		for e, t := range b.indicators(factor) {
			var value *float64
			if e == 0 {
				value = new(1.0)
			}
			b.add(cell{
				group: g, kind: path, lhs: factor, op: opLoading, rhs: t.rhs, i: b.node(t.rhs), j: b.node(factor),
			}, value, t, b.equal.loadings)
		}
	}
	nodes := slices.Concat(b.items, b.factors)
	for i, lhs := range nodes {
		t := b.given(opCovariance, lhs, lhs)
		if b.cuts != nil && i < p {
			if t != nil {
				return &table.Error{File: b.file, Line: t.line, Err: fmt.Errorf("the residual variance of the ordered "+
					"item %q follows from its loadings", lhs)}
			}
			continue
		}
		var value *float64
		if i < p && b.alone(lhs) {
			value = new(0.0)
		}
		if i >= p && g > 0 && b.equal.loadings && b.unmarked(lhs) {
			t = nil // the variance is the factor's unit in the first group alone
		}
		b.add(cell{group: g, kind: covariance, lhs: lhs, op: opCovariance, rhs: lhs, i: i, j: i}, value, t, false)
	}
	for i, lhs := range nodes {
		for j, rhs := range nodes[:i] {
			t := b.given(opCovariance, lhs, rhs)
			if t == nil && (j < p || b.dependent(lhs) || b.dependent(rhs)) {
				continue
			}
			c := cell{group: g, kind: covariance, lhs: rhs, op: opCovariance, rhs: lhs, i: j, j: i}
			if t != nil {
				c.lhs, c.rhs = t.lhs, t.rhs
			}
			b.add(c, nil, t, false)
		}
	}
	switch {
	case b.cuts != nil:
		b.orderedCells(g)
	case b.means:
		for i, item := range b.items {
			b.add(cell{group: g, kind: mean, lhs: item, op: opMean, i: i}, nil, nil, b.equal.intercepts)
		}
	}
	if b.means {
		for k, factor := range b.factors {
			value := new(0.0)
			if g > 0 && b.equal.intercepts && !b.higher(factor) {
				value = nil
			}
			b.add(cell{group: g, kind: mean, lhs: factor, op: opMean, i: p + k}, value, nil, false)
		}
	}
	return nil
}

// alone reports whether an item is the only one of a factor, and loads on no other.
func (b *builder) alone(item string) bool {
	only := false
	for _, factor := range b.factors {
		for _, t := range b.indicators(factor) {
			if t.rhs == item {
				if only || len(b.indicators(factor)) > 1 {
					return false
				}
				only = true
			}
		}
	}
	return only
}

// unmarked reports whether no loading gives a factor its unit, so that its fixed variance does.
func (b *builder) unmarked(factor string) bool {
	t := b.given(opCovariance, factor, factor)
	return t != nil && t.fixed != nil && !slices.ContainsFunc(b.cells, func(c cell) bool {
		return c.group == 0 && c.kind == path && c.lhs == factor && c.free == fixed
	})
}

// orderedCells adds thresholds, intercepts and scales of a group, identified as by H. Wu and R. Estabrook,
// "Identification of confirmatory factor analysis models of different levels of invariance for ordered categorical
// outcomes", 2016. Intercepts are 0 and scales 1 in the first group. In the others they are so too until an equality
// frees them: equal thresholds free the intercepts, and the scales of items with two thresholds or more; equal loadings
// free the scales of items with one threshold as well, but one of each factor that has no other items; equal intercepts
// are 0, and free factor means and all scales.
func (b *builder) orderedCells(g int) {
	var units []string // items of one threshold whose scale is the unit of their factor
	for _, factor := range b.factors {
		all := b.indicators(factor)
		if !slices.ContainsFunc(all, func(t *term) bool {
			i := b.node(t.rhs)
			return i >= len(b.cuts) || b.cuts[i] > 1
		}) {
			units = append(units, all[0].rhs)
		}
	}
	for i, item := range b.items {
		for k := range b.cuts[i] {
			b.add(cell{
				group: g, kind: threshold, lhs: item, op: opThreshold, rhs: "t" + strconv.Itoa(k+1), i: i, j: k,
			}, nil, nil, b.equal.thresholds)
		}
	}
	for i, item := range b.items {
		intercept, unit := new(0.0), new(1.0)
		if g > 0 && b.equal.thresholds {
			if !b.equal.intercepts {
				intercept = nil
			}
			if b.cuts[i] > 1 || b.equal.loadings && (b.equal.intercepts || !slices.Contains(units, item)) {
				unit = nil
			}
		}
		b.add(cell{group: g, kind: mean, lhs: item, op: opMean, i: i}, intercept, nil, false)
		b.add(cell{group: g, kind: scale, lhs: item, op: opScale, rhs: item, i: i}, unit, nil, false)
	}
}
