package cfa

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/linalg"
)

// ordered is half the weighted sum of squares of what the model leaves of the statistics, Σ (s − σ)²/(2·var s).
type ordered struct {
	*model
	moments []*orderedMoments // of each group
	free    []cell
}

// expected returns the statistics that a point implies for a group: δ(τ − μ), and δ_iδ_jΣ_ij.
func (im *implied) expected() (all []float64) {
	for i, cuts := range im.tau {
		for _, t := range cuts {
			all = append(all, im.delta[i]*(t-im.mu[i]))
		}
	}
	for i := range im.p {
		for j := i + 1; j < im.p; j++ {
			all = append(all, im.delta[i]*im.delta[j]*im.sigma.At(i, j))
		}
	}
	return all
}

// derive adds the derivatives of the statistics by a cell to a column of a matrix.
func (im *implied) derive(c *cell, add func(statistic int, v float64)) {
	thresholds := func(by func(i, k int) float64) (next int) {
		for i, cuts := range im.tau {
			for k := range cuts {
				if v := by(i, k); v != 0 {
					add(next, v)
				}
				next++
			}
		}
		return next
	}
	pairs := func(next int, by func(i, j int) float64) {
		for i := range im.p {
			for j := i + 1; j < im.p; j++ {
				if v := by(i, j); v != 0 {
					add(next, v)
				}
				next++
			}
		}
	}
	switch c.kind {
	case threshold:
		thresholds(func(i, k int) float64 {
			if i == c.i && k == c.j {
				return im.delta[i]
			}
			return 0
		})
	case scale:
		first := thresholds(func(i, k int) float64 {
			if i == c.i {
				return im.tau[i][k] - im.mu[i]
			}
			return 0
		})
		pairs(first, func(i, j int) float64 {
			switch c.i {
			case i:
				return im.delta[j] * im.sigma.At(i, j)
			case j:
				return im.delta[i] * im.sigma.At(i, j)
			}
			return 0
		})
	default:
		s := im.slope(c)
		first := thresholds(func(i, _ int) float64 { return -im.delta[i] * s.e * im.basis.At(i, s.u) })
		if s.c == 0 {
			return
		}
		pairs(first, func(i, j int) float64 {
			a, b := im.basis.RawRowView(i), im.basis.RawRowView(j)
			return im.delta[i] * im.delta[j] * s.c * (a[s.u]*b[s.v] + a[s.v]*b[s.u])
		})
	}
}

// residuals returns (s − σ)/√var s of all groups, one after another.
func (o *ordered) residuals(all []implied) (scaled []float64) {
	for g := range all {
		m := o.moments[g]
		for e, v := range all[g].expected() {
			scaled = append(scaled, (m.statistics[e]-v)/math.Sqrt(m.covariances.At(e, e)))
		}
	}
	return scaled
}

func (o *ordered) loss(theta []float64) (sum float64) {
	for _, v := range o.residuals(o.at(theta)) {
		sum += v * v / 2
	}
	return sum
}

// total is the number of statistics of all groups.
func (o *ordered) total() (n int) {
	for _, m := range o.moments {
		n += len(m.statistics)
	}
	return n
}

// jacobian returns the derivatives of σ/√var s by the cells, statistics×width; column says where a cell belongs.
func (o *ordered) jacobian(all []implied, cells []cell, width int, column func(e int) int) *mat.Dense {
	j := mat.NewDense(o.total(), width, nil)
	for e := range cells {
		first := 0
		for _, m := range o.moments[:cells[e].group] {
			first += len(m.statistics)
		}
		covariances, at := o.moments[cells[e].group].covariances, column(e)
		all[cells[e].group].derive(&cells[e], func(statistic int, v float64) {
			row := j.RawRowView(first + statistic)
			row[at] += v / math.Sqrt(covariances.At(statistic, statistic))
		})
	}
	return j
}

func (o *ordered) byFree(all []implied) *mat.Dense {
	return o.jacobian(all, o.free, o.model.free, func(e int) int { return o.free[e].free })
}

func (o *ordered) scoring(theta []float64, _ bool) (gradient []float64, information *mat.SymDense) {
	all := o.at(theta)
	j := o.byFree(all)
	rest := o.residuals(all)
	var slope mat.VecDense
	slope.MulVec(j.T(), mat.NewVecDense(len(rest), rest))
	slope.ScaleVec(-1, &slope)
	information = mat.NewSymDense(o.model.free, nil)
	information.SymOuterK(1, j.T())
	return slope.RawVector().Data, information
}

func (o *ordered) candidates(theta []float64, cells []cell) (gradient []float64, cross *mat.Dense, own []float64) {
	all := o.at(theta)
	j, c := o.byFree(all), o.jacobian(all, cells, len(cells), func(e int) int { return e })
	rest := o.residuals(all)
	var slope mat.VecDense
	slope.MulVec(c.T(), mat.NewVecDense(len(rest), rest))
	slope.ScaleVec(-1, &slope)
	cross = &mat.Dense{}
	cross.Mul(c.T(), j)
	return slope.RawVector().Data, cross, linalg.ColumnSquares(c)
}

// correlations returns the correlations of the statistics of all groups times m.
func (o *ordered) correlations(m *mat.Dense) *mat.Dense {
	rows, columns := m.Dims()
	out := mat.NewDense(rows, columns, nil)
	first := 0
	for _, of := range o.moments {
		n := len(of.statistics)
		out.Slice(first, first+n, 0, columns).(*mat.Dense).Mul(of.scaled(), m.Slice(first, first+n, 0, columns))
		first += n
	}
	return out
}

// Apart says why a polychoric correlation may be 1 or −1.
const Apart = "some of their answers never come together, or the items repeat each other; merge categories, or leave " +
	"out one of the items"

// extremes returns warnings about polychoric correlations of 1 or −1 but for their bound.
func (o *ordered) extremes() (all []string) {
	for g, m := range o.moments {
		var names []string
		for _, pair := range factoranalysis.Extreme(m.r) {
			names = append(names, o.items[pair[0]]+" and "+o.items[pair[1]])
		}
		if names != nil {
			all = append(all, fmt.Sprintf("polychoric correlations of 1 or -1%s: %s; %s", within(o.groups[g]),
				strings.Join(names, ", "), Apart))
		}
	}
	return all
}

// scaled returns the correlations of the statistics of a group.
func (m *orderedMoments) scaled() *mat.Dense {
	n := len(m.statistics)
	c := mat.NewDense(n, n, nil)
	c.Apply(func(i, j int, _ float64) float64 {
		return m.covariances.At(i, j) / math.Sqrt(m.covariances.At(i, i)*m.covariances.At(j, j))
	}, c)
	return c
}

// scaledTest makes the mean and the variance of a quadratic form in normal variables those of a chi-square. With the
// traces t₁ = tr(UΓ) and t₂ = tr(UΓUΓ) of the form and a = √(df/t₂), it is a·T + df − a·t₁: T. Asparouhov and B.
// Muthén, "Simple second order chi-square correction", 2010.
func scaledTest(t test, mean, square float64) test {
	if t.df <= 0 {
		return t
	}
	df := float64(t.df)
	a := math.Sqrt(df / square)
	return test{a*t.chiSquare + df - a*mean, t.df}
}

// mostStatistics bounds the statistics of a group: their covariances take half a gigabyte, as do some products of them.
const mostStatistics = 8000

// orderedData is what the fits of all steps share.
type orderedData struct {
	frame   *frame
	groups  []string
	cuts    []int
	moments []*orderedMoments
	n       float64
	base    test // of the model without correlations, scaled
	// square is tr(ΓΓ) in units of the standard errors of the statistics.
	square float64
}

func newOrderedData(ctx context.Context, o *Options, f *frame, groups []string, samples []*mat.Dense,
) (*orderedData, error) {
	values, err := o.categoriesOf(f, groups, samples)
	if err != nil {
		return nil, err
	}
	d := &orderedData{frame: f, groups: groups}
	count := len(f.items) * (len(f.items) - 1) / 2
	for _, v := range values {
		d.cuts, count = append(d.cuts, len(v)-1), count+len(v)-1
	}
	if count > mostStatistics {
		return nil, &table.Error{File: o.Input, Err: fmt.Errorf("%d items have %d thresholds and correlations, and %d "+
			"are the most: take fewer items", len(f.items), count, mostStatistics)}
	}
	var chiSquare, mean, square float64
	for g, x := range samples {
		m, err := newOrderedMoments(ctx, x, linalg.Threads(o.Threads))
		if at, ok := errors.AsType[*factoranalysis.ItemError](err); ok {
			err = &table.Error{File: o.Input, Column: f.items[at.Item], Err: errors.New(at.Reason)}
		}
		if err != nil {
			return nil, err
		}
		d.moments, d.n = append(d.moments, m), d.n+float64(m.n)
		c := m.scaled()
		total := len(m.statistics)
		for e := m.first; e < total; e++ {
			if !(m.covariances.At(e, e) > 0) {
				pair := pairs(len(f.items))[e-m.first]
				return nil, &table.Error{File: o.Input, Column: f.items[pair[0]], Err: fmt.Errorf("its polychoric "+
					"correlation with %q%s has no standard error: %s", f.items[pair[1]], within(groups[g]), Apart)}
			}
			chiSquare += m.statistics[e] * m.statistics[e] / m.covariances.At(e, e)
		}
		mean += float64(total - m.first)
		square += math.Pow(mat.Norm(c.Slice(m.first, total, m.first, total), 2), 2)
		d.square += math.Pow(mat.Norm(c, 2), 2)
	}
	d.base = scaledTest(test{chiSquare, int(mean)}, mean, square)
	return d, nil
}

func (d *orderedData) fit(ctx context.Context, equal step) (*fitted, error) {
	m, err := d.frame.newModel(d.groups, d.cuts, len(d.groups) > 1, equal)
	if err != nil {
		return nil, err
	}
	of := func(m *model) *ordered { return &ordered{model: m, moments: d.moments, free: m.freeCells()} }
	o := of(m)
	var correlations []*mat.SymDense
	var thresholds [][][]float64
	for _, moments := range d.moments {
		correlations, thresholds = append(correlations, moments.r), append(thresholds, moments.thresholds)
	}
	df := o.total() - m.free
	if err := m.checkDF(df); err != nil {
		return nil, err
	}
	f := &fitted{model: m, objective: o}
	f.theta, err = m.search(ctx, equal, func(m *model) objective { return of(m) },
		func(m *model) []float64 { return m.start(correlations, nil, thresholds) })
	if err != nil {
		return nil, err
	}
	_, information := o.scoring(f.theta, false)
	var ok bool
	if f.bread, ok = scaledInverse(information, 0); !ok {
		if err := m.checkIdentified(information); err != nil {
			return nil, err
		}
		return nil, ErrUnconverged
	}
	all := o.at(f.theta)
	j := o.byFree(all)
	f.jacobian, f.axes = j, axes(j, f.bread)
	// Standard errors: E·JᵀΓJ·E.
	var along, meat, half mat.Dense
	along.Mul(j, f.bread)
	moved := o.correlations(&along)
	meat.Mul(along.T(), moved)
	f.errors = mat.NewSymDense(m.free, nil)
	for a := range m.free {
		for b := range a + 1 {
			f.errors.SetSym(a, b, meat.At(a, b))
		}
	}
	// U is I less the projection on the axes.
	turned := o.correlations(f.axes)
	half.Mul(f.axes.T(), turned)
	mean := float64(o.total()) - mat.Trace(&half)
	square := d.square - 2*math.Pow(mat.Norm(turned, 2), 2) + math.Pow(mat.Norm(&half, 2), 2)
	f.test = test{2 * o.loss(f.theta), df}
	scaled := scaledTest(f.test, mean, square)
	nan := questionnaire.Figure(math.NaN())
	f.measures = Measures{
		ChiSquare: questionnaire.Figure(f.test.chiSquare), ChiSquareScaled: questionnaire.Figure(scaled.chiSquare),
		DF: df, SRMR: questionnaire.Figure(d.srmr(all)), LogLikelihood: nan, AIC: nan, BIC: nan,
	}
	f.measures.compare(scaled, d.base, d.n-float64(len(d.groups)), len(d.groups))
	return f, nil
}

// axes returns orthonormal columns that span those of J, given (JᵀJ)⁻¹.
func axes(j *mat.Dense, inverse *mat.SymDense) *mat.Dense {
	var factor mat.Cholesky
	if !factor.Factorize(inverse) {
		return j
	}
	var lower mat.TriDense
	factor.LTo(&lower)
	var q mat.Dense
	q.Mul(j, &lower)
	return &q
}

// srmr returns the root of the mean squared residual correlation, the diagonal counted. Groups count by participants.
func (d *orderedData) srmr(all []implied) (sum float64) {
	for g, m := range d.moments {
		var squares float64
		for e, v := range all[g].expected()[m.first:] {
			squares += (m.statistics[m.first+e] - v) * (m.statistics[m.first+e] - v)
		}
		p := float64(all[g].p)
		sum += float64(m.n) / d.n * math.Sqrt(squares/(p*(p+1)/2))
	}
	return sum
}
