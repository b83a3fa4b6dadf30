package invariance

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/solver/linalg"
)

// DIF holds the items that participants with the same scores answer differently in the groups.
type DIF struct {
	Items []ItemDIF `json:"items"`
	// Anchors are the items of the scores, Rounds the number of times that they were chosen.
	Anchors []string `json:"anchors"`
	Rounds  int      `json:"rounds"`
}

// figure is NaN, and null in JSON, if it could not be computed.
type figure = questionnaire.Figure

// ItemDIF is the difference of an item between the groups.
type ItemDIF struct {
	Item         string `json:"item"`
	Reversed     bool   `json:"reversed,omitempty"` // reversed
	Participants int    `json:"participants"`       // who answered it
	// Difference is the mean answer of the first group less that of the second if their factors are the same, and Low
	// and High are the ends of its 95 % interval.
	Difference figure `json:"difference"`
	Low        figure `json:"low"`
	High       figure `json:"high"`
	// UniformP is the p value of Difference, NonuniformP of one that changes with the scores, P of both.
	UniformP    figure `json:"uniform_p"`
	NonuniformP figure `json:"nonuniform_p"`
	P           figure `json:"p"`
	AdjustedP   figure `json:"adjusted_p"`
	// R2 is the share of the variance of the answers that the scores (and confounds) explain. The changes are what the
	// group adds to it, and the group times the scores.
	R2                 float64 `json:"r2"`
	UniformR2Change    figure  `json:"uniform_r2_change"`
	NonuniformR2Change figure  `json:"nonuniform_r2_change"`
	// Class is UntestableDIF, NoDIF, or by the sum of the changes NegligibleDIF, ModerateDIF or LargeDIF.
	Class string `json:"class"`
}

// The classes of DIF by Jodoin and Gierl (2001): below .035, below .07, and from there on. An item whose adjusted p
// value is .05 or above has none. DIF cannot be tested for an item that alone determines its scores, or if scores and
// confounds explain the group or leave no degree of freedom.
const (
	UntestableDIF = "untestable"

	NoDIF         = "none"
	NegligibleDIF = "negligible"
	ModerateDIF   = "moderate"
	LargeDIF      = "large"
)

const (
	// level is the significance level of the adjusted p values.
	level = .05
	// mostRounds ends the choice of anchors.
	mostRounds = 10
	// leastUnique is the lower bound of an item's uniqueness, as a share of its variance.
	leastUnique = .05
	// mostOwn is the largest share of an item in its own scores for which DIF can be tested.
	mostOwn = .999
)

func (d *ItemDIF) classify() {
	const moderate, large = .035, .07
	switch change := d.Change(); {
	case !d.P.Defined():
		d.Class = UntestableDIF
	case d.AdjustedP >= level:
		d.Class = NoDIF
	case change < moderate:
		d.Class = NegligibleDIF
	case change < large:
		d.Class = ModerateDIF
	default:
		d.Class = LargeDIF
	}
}

// Change returns the sum of the changes of R2 that are known.
func (d *ItemDIF) Change() float64 {
	if !d.NonuniformR2Change.Defined() {
		return float64(d.UniformR2Change)
	}
	return float64(d.UniformR2Change + d.NonuniformR2Change)
}

// Found reports whether the item shows DIF.
func (d *ItemDIF) Found() bool { return d.Class != NoDIF && d.Class != UntestableDIF }

// dif regresses each item on the scores, the group, and their product. The scores rest on the anchors and the item
// itself: items without DIF, found by repeating the regressions until the anchors no longer change. At most half of the
// items are not anchors; these have the least p values. Items that cannot be tested are anchors: an item that alone
// determines its scores is the only measure of a factor.
func (m *matcher) dif(ctx context.Context) (err error) {
	r := m.run
	anchors, seen := r.items(), map[string]bool{}
	for {
		if r.DIF.Items, err = m.test(ctx, anchors); err != nil {
			return err
		}
		r.DIF.Rounds++
		r.DIF.Anchors = r.study.Names(anchors)
		next := r.items()
		p := func(j int) figure {
			if d := &r.DIF.Items[j]; d.Class != UntestableDIF {
				return d.P
			}
			return 1
		}
		slices.SortStableFunc(next, func(a, b int) int { return cmp.Compare(p(b), p(a)) })
		clean := lists.Count(r.DIF.Items, func(d ItemDIF) bool { return !d.Found() })
		next = next[:max(clean, (len(next)+1)/2)]
		slices.Sort(next)
		seen[fmt.Sprint(anchors)] = true
		if r.DIF.Rounds == mostRounds || seen[fmt.Sprint(next)] {
			return nil
		}
		anchors = next
	}
}

// matcher scores the participants of both groups by any of the items.
type matcher struct {
	run *run
	// rest are the answers less their means and the confounds' effects, n×p; answers are the original ones.
	answers, rest *mat.Dense
	first         []float64  // 1 for the first group, otherwise 0
	known         *mat.Dense // the confounds, n×c, or nil
	loadings      *mat.Dense // p×k, for factors of variance 1
	unique        []float64  // the unique variance of each item
}

// newMatcher uses the loadings and variances of the factors of both groups together, except empty ones.
func (r *run) newMatcher(both *fit.Learnt) (*matcher, error) {
	m := &matcher{
		run: r, answers: r.study.AnswersOf(r.both, r.items()), known: linalg.SelectRows(r.study.Known, r.both),
	}
	m.first = lists.Map(r.both, func(i int) float64 { return float64(r.study.Labels[0][i]) })
	b := newBasis(len(m.first))
	b.addAll(m.known)
	if !b.add(m.first) {
		return nil, questionnaire.Optionf("the confounds determine the groups of %q", r.Group)
	}
	var err error
	if m.rest, err = r.rest(r.both, r.items()); err != nil {
		return nil, err
	}
	means, deviations := linalg.SampleMoments(m.rest)
	vary := lists.Where(len(deviations), func(j int) bool { return deviations[j] > 0 })
	if err := cmp.Or(r.study.CheckLeft(vary), r.study.CheckLeft(both.Items)); err != nil {
		return nil, fmt.Errorf("%q: %w", r.study.File, err)
	}
	m.rest = linalg.Centred(m.rest, means)
	covariance, err := r.factorCovariance(both)
	if err != nil {
		return nil, err
	}
	units := r.units(both)
	p, k := both.Loadings.Dims()
	filled := lists.Where(k, func(t int) bool {
		return covariance.At(t, t) > 0 && mat.Norm(both.Loadings.ColView(t), 2) > 0
	})
	if len(filled) == 0 {
		return nil, questionnaire.Optionf("all factors of both groups are empty, so there are no scores")
	}
	m.loadings, m.unique = mat.NewDense(p, len(filled), nil), make([]float64, p)
	for j := range p {
		row := mat.NewVecDense(k, nil)
		for t := range k {
			row.SetVec(t, both.Loadings.At(j, t)*units[j])
		}
		variance := deviations[j] * deviations[j]
		m.unique[j] = max(leastUnique*variance, variance-mat.Inner(row, covariance, row))
		for c, t := range filled {
			m.loadings.Set(j, c, row.AtVec(t)*math.Sqrt(covariance.At(t, t)))
		}
	}
	return m, nil
}

// factorCovariance returns the covariance of the factors for factor analysis, otherwise of the scores, k×k.
func (r *run) factorCovariance(both *fit.Learnt) (*mat.Dense, error) {
	if fa, ok := both.Factors().(*fit.FA); ok {
		return fa.Phi, nil
	}
	scores, err := both.Score(r.both)
	if err != nil {
		return nil, err
	}
	var covariance mat.SymDense
	stat.CovarianceMatrix(&covariance, scores, nil)
	return mat.DenseCopyOf(&covariance), nil
}

// own returns the share of a group difference in one item that enters the scores by these items, and so vanishes at
// equal scores: Lⱼ(LᵀΨ⁻¹L)⁻¹Lⱼᵀ/ψⱼ, in [0, 1].
func (m *matcher) own(j int, items []int) float64 {
	_, k := m.loadings.Dims()
	gram, along := mat.NewSymDense(k, nil), &mat.VecDense{}
	for _, i := range items {
		gram.SymRankOne(gram, 1/m.unique[i], m.loadings.RowView(i))
	}
	var factor mat.Cholesky
	if !factor.Factorize(gram) || factor.SolveVecTo(along, m.loadings.RowView(j)) != nil {
		return 1
	}
	return min(1, mat.Dot(m.loadings.RowView(j), along)/m.unique[j])
}

// scores returns n×k
//
//	s = (LᵀΨ⁻¹L + I)⁻¹ LᵀΨ⁻¹ r
//
// by the answers r of each participant to these items less their means, with the rows of L and Ψ for the items that
// they answered. If a linear model with normal errors holds and no answer is missing, LᵀΨ⁻¹r is sufficient for the
// factors: given s, no answer, that to an item of s included, depends on anything else that the group changes (Meredith
// and Millsap 1992).
func (m *matcher) scores(items []int) (*mat.Dense, error) {
	n, _ := m.rest.Dims()
	_, k := m.loadings.Dims()
	s := mat.NewDense(n, k, nil)
	var factor mat.Cholesky
	for i := range n {
		gram, moments := mat.NewSymDense(k, nil), mat.NewVecDense(k, nil)
		for t := range k {
			gram.SetSym(t, t, 1)
		}
		for _, j := range items {
			if v := m.rest.At(i, j); !math.IsNaN(v) {
				gram.SymRankOne(gram, 1/m.unique[j], m.loadings.RowView(j))
				moments.AddScaledVec(moments, v/m.unique[j], m.loadings.RowView(j))
			}
		}
		if !factor.Factorize(gram) {
			return nil, fmt.Errorf("scoring participants: %w", questionnaire.ErrScale)
		}
		if err := factor.SolveVecTo(moments, moments); err != nil {
			return nil, fmt.Errorf("scoring participants: %w", err)
		}
		s.SetRow(i, moments.RawVector().Data)
	}
	return s, nil
}

// test tests each item with scores by the anchors and the item.
func (m *matcher) test(ctx context.Context, anchors []int) ([]ItemDIF, error) {
	items, errs := make([]ItemDIF, len(m.run.study.Items)), make([]error, len(m.run.study.Items))
	shared, err := m.scores(anchors)
	if err != nil {
		return nil, err
	}
	linalg.Threads(m.run.o.Threads).Parallel(len(items), math.MaxInt, func(from, to int) {
		for j := from; j < to && ctx.Err() == nil; j++ {
			by, scores := anchors, shared
			if !slices.Contains(anchors, j) {
				by = append(slices.Clone(anchors), j)
				scores, errs[j] = m.scores(by)
			}
			if errs[j] == nil {
				items[j] = m.item(j, scores, m.own(j, by))
			}
		}
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := cmp.Or(errs...); err != nil {
		return nil, err
	}
	adjust(items)
	for j := range items {
		items[j].classify()
	}
	return items, nil
}

// adjust fills in the p values of Benjamini and Hochberg (1995), which control the share of false ones among the items
// with DIF. Items that cannot be tested are ignored.
func adjust(items []ItemDIF) {
	order := linalg.Order(len(items), func(a, b int) int { return cmp.Compare(items[a].P, items[b].P) })
	order = slices.DeleteFunc(order, func(j int) bool { return !items[j].P.Defined() }) // their AdjustedP stays NaN
	least := figure(1)
	for at, j := range slices.Backward(order) {
		least = min(least, items[j].P*figure(len(order))/figure(at+1))
		items[j].AdjustedP = least
	}
}

// item regresses the answers to an item, y, in three steps (Zumbo 1999, with a linear regression):
//
//	y ~ 1 + s + s² + c,  then + g,  then + g·u.
//
// The scores s, with their squares, and the confounds c come first, then the group g, then its product with u, the part
// of y that s and s² explain: one degree of freedom for any number of factors (after Tukey 1949). The p values are
// those of Wald tests with standard errors HC3 (MacKinnon and White 1985), which hold if the variance differs between
// groups or scores. The effect of g, divided by 1 − own, is the difference.
func (m *matcher) item(j int, scores *mat.Dense, own float64) ItemDIF {
	rows := lists.Where(len(m.first), func(i int) bool { return !math.IsNaN(m.answers.At(i, j)) })
	item, nan := m.run.study.Items[j], figure(math.NaN())
	d := ItemDIF{
		Item: item.Name, Reversed: item.Reversed, Participants: len(rows), Difference: nan, Low: nan, High: nan,
		UniformP: nan, NonuniformP: nan, P: nan, AdjustedP: nan, UniformR2Change: nan, NonuniformR2Change: nan,
	}
	y, g := mat.Col(nil, j, linalg.SelectRows(m.answers, rows)), lists.Take(m.first, rows)
	b := newBasis(len(rows))
	y = b.residual(y)
	total := floats.Dot(y, y)
	scores = linalg.SelectRows(scores, rows)
	_, k := scores.Dims()
	for t := range k {
		s := mat.Col(nil, t, scores)
		b.add(s)
		floats.Mul(s, s)
		b.add(s)
	}
	u := slices.Clone(y)
	floats.Sub(u, b.residual(y)) // of mean 0
	b.addAll(linalg.SelectRows(m.known, rows))
	y = b.residual(y)
	left := floats.Dot(y, y)
	d.R2 = 1 - left/total
	at := len(b.columns)
	if own > mostOwn || !b.add(g) {
		return d
	}
	uniform := b.test(y, at)
	if math.IsNaN(uniform.p) {
		return d
	}
	length := floats.Dot(b.columns[at], g) * (1 - own)
	d.Difference = figure(uniform.effects[0] / length)
	free := distuv.StudentsT{Sigma: 1, Nu: max(1, float64(len(rows)-len(b.columns)))}
	half := figure(free.Quantile(.975) * math.Sqrt(uniform.covariance.At(0, 0)) / length)
	d.Low, d.High = d.Difference-half, d.Difference+half
	d.UniformP, d.UniformR2Change, d.P = figure(uniform.p), figure(uniform.squares/total), figure(uniform.p)
	floats.Mul(u, g)
	if !b.add(u) {
		return d
	}
	nonuniform, joint := b.test(y, at+1), b.test(y, at)
	if !math.IsNaN(nonuniform.p) && !math.IsNaN(joint.p) {
		d.NonuniformP, d.NonuniformR2Change = figure(nonuniform.p), figure(nonuniform.squares/total)
		d.P = figure(joint.p)
	}
	return d
}

// basis holds the columns of a linear regression made orthonormal, in their order.
type basis struct{ columns [][]float64 }

// newBasis returns the basis of an intercept.
func newBasis(rows int) *basis {
	b := &basis{}
	b.add(slices.Repeat([]float64{1}, rows))
	return b
}

// addAll adds the columns of a matrix, which may be nil.
func (b *basis) addAll(x *mat.Dense) {
	for t := 0; x != nil && t < x.RawMatrix().Cols; t++ {
		b.add(mat.Col(nil, t, x))
	}
}

// dependent is the share of a column's length below which the residual counts as 0: earlier columns explain the column.
const dependent = 1e-8

// add adds a column, unless the other columns explain it.
func (b *basis) add(x []float64) bool {
	rest := b.residual(x)
	length := floats.Norm(rest, 2)
	if !(length > dependent*floats.Norm(x, 2)) {
		return false
	}
	rest = b.residual(rest) // the second time removes rounding errors
	floats.Scale(1/floats.Norm(rest, 2), rest)
	b.columns = append(b.columns, rest)
	return true
}

// residual returns the part that the columns do not explain.
func (b *basis) residual(x []float64) []float64 {
	rest := slices.Clone(x)
	for _, q := range b.columns {
		floats.AddScaled(rest, -floats.Dot(q, rest), q)
	}
	return rest
}

// wald is the test of the last columns of a basis.
type wald struct {
	effects    []float64
	covariance *mat.SymDense // of the effects, HC3
	squares    float64       // sum of squares that the columns explain
	p          float64
}

// test tests the columns from one on, against all before them. The p value is that of effectsᵀ·covariance⁻¹·effects / q
// under F with q and n − (all columns) degrees of freedom; NaN if undefined.
func (b *basis) test(y []float64, from int) wald {
	last := b.columns[from:]
	e := b.residual(y)
	for i := range e {
		leverage := 0.0
		for _, q := range b.columns {
			leverage += q[i] * q[i]
		}
		if leverage < 1-dependent {
			e[i] /= 1 - leverage
		}
	}
	w := wald{effects: make([]float64, len(last)), covariance: mat.NewSymDense(len(last), nil), p: math.NaN()}
	for s, q := range last {
		w.effects[s] = floats.Dot(q, y)
		w.squares += w.effects[s] * w.effects[s]
		for t, other := range last[:s+1] {
			var sum float64
			for i, v := range e {
				sum += q[i] * other[i] * v * v
			}
			w.covariance.SetSym(s, t, sum)
		}
	}
	free := float64(len(y) - len(b.columns))
	var factor mat.Cholesky
	if free < 1 || !factor.Factorize(w.covariance) {
		return w
	}
	effects, along := mat.NewVecDense(len(last), w.effects), &mat.VecDense{}
	if err := factor.SolveVecTo(along, effects); err != nil {
		return w
	}
	f := mat.Dot(effects, along) / float64(len(last))
	if !math.IsNaN(f) {
		w.p = distuv.F{D1: float64(len(last)), D2: free}.Survival(f)
	}
	return w
}
