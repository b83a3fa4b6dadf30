package cfa

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/linalg"
)

var (
	// ErrUnidentified is returned if several values of the parameters fit equally well.
	ErrUnidentified = errors.New("the model is not identified")
	// ErrUnconverged is returned if the search does not end.
	ErrUnconverged = errors.New("the search did not converge")
)

// ranges of the start values, as shares of variances.
const (
	leastShare    = 0.2 // of a residual in its item's variance
	greatestShare = 0.9
	// greatestCorrelation is that of factors: the start values of all must be possible together.
	greatestCorrelation = 0.5
	leastLoading        = 0.05 // in magnitude, of standardized items where that of the unit is 1
)

// start returns start values from the covariances of the groups, p×p each, and their means: loadings by instrumental
// variables, as G. Hägglund, "Factor analysis by instrumental variables methods", 1982, and covariances of
// factors from those of their items.
func (m *model) start(covariances []*mat.SymDense, means [][]float64, thresholds [][][]float64) []float64 {
	sums, counts := make([]float64, m.free), make([]float64, m.free)
	p := len(m.items)
	loadings, variances := make([]*mat.Dense, len(m.groups)), make([][]float64, len(m.groups))
	for g, s := range covariances {
		loadings[g], variances[g] = mat.NewDense(p+len(m.factors), len(m.factors), nil), make([]float64, len(m.factors))
		for k := range m.factors {
			variances[g][k] = m.startFactor(g, k, s, loadings[g])
		}
	}
	for e := range m.cells {
		c := &m.cells[e]
		if c.free == fixed {
			continue
		}
		var v float64
		s := covariances[c.group]
		switch c.kind {
		case path:
			v = loadings[c.group].At(c.i, c.j-p)
		case covariance:
			switch {
			case c.i == c.j && c.i < p:
				rest := s.At(c.i, c.i)
				for k, l := range loadings[c.group].RawRowView(c.i) {
					rest -= l * l * variances[c.group][k]
				}
				v = max(leastShare*s.At(c.i, c.i), min(rest, greatestShare*s.At(c.i, c.i)))
			case c.i == c.j:
				v = variances[c.group][c.i-p]
			case c.i >= p:
				v = m.startCovariance(c, s, loadings[c.group])
				most := greatestCorrelation * math.Sqrt(variances[c.group][c.i-p]*variances[c.group][c.j-p])
				v = max(-most, min(v, most))
			}
		case mean:
			if c.i < p && thresholds == nil {
				v = means[c.group][c.i]
			}
		case threshold:
			v = thresholds[c.group][c.i][c.j]
		case scale:
			v = 1
		}
		if c.start != nil {
			v = *c.start
		}
		sums[c.free] += v
		counts[c.free]++
	}
	floats.Div(sums, counts)
	return sums
}

// startCovariance returns the covariance of two factors that fits those of their items best, as least squares.
func (m *model) startCovariance(c *cell, s *mat.SymDense, loadings *mat.Dense) float64 {
	p := len(m.items)
	var above, below float64
	for i := range p {
		for j := range p {
			if both := loadings.At(i, c.i-p) * loadings.At(j, c.j-p); i != j {
				above += both * s.At(i, j)
				below += both * both
			}
		}
	}
	if below == 0 {
		return 0
	}
	return above / below
}

// startFactor stores the start values of the loadings of factor k in group g, and returns that of its variance.
func (m *model) startFactor(g, k int, s *mat.SymDense, loadings *mat.Dense) float64 {
	p := len(m.items)
	var cells []*cell
	for e := range m.cells {
		if c := &m.cells[e]; c.group == g && c.kind == path && c.j == p+k {
			cells = append(cells, c)
		}
	}
	// The covariance of two indicators; a factor is represented by its first item.
	item := func(node int) int {
		for depth := 0; node >= p && depth < len(m.factors); depth++ {
			for e := range m.cells {
				if c := &m.cells[e]; c.kind == path && c.j == node {
					node = c.i
					break
				}
			}
		}
		return min(node, p-1)
	}
	cov := func(a, b *cell) float64 { return s.At(item(a.i), item(b.i)) }
	unit := cells[0]
	if at := slices.IndexFunc(cells, func(c *cell) bool { return c.free == fixed && c.value != 0 }); at >= 0 {
		unit = cells[at]
	}
	relative, numerator, denominator := make([]float64, len(cells)), 0.0, 0.0
	for e, c := range cells {
		var above, below float64
		for _, other := range cells {
			if other != c && other != unit {
				above += cov(c, other) * cov(unit, other)
				below += cov(unit, other) * cov(unit, other)
			}
		}
		switch {
		case c == unit:
			relative[e] = 1
		case below > 0:
			relative[e] = above / below
		default:
			relative[e] = math.Copysign(math.Sqrt(cov(c, c)/cov(unit, unit)), cov(c, unit))
		}
		least := leastLoading * math.Sqrt(cov(c, c)/cov(unit, unit))
		relative[e] = math.Copysign(max(least, math.Abs(relative[e])), relative[e])
		if c != unit {
			numerator += cov(c, unit) * relative[e]
			denominator += relative[e] * relative[e]
		}
	}
	variance := leastShare * cov(unit, unit)
	if denominator > 0 {
		variance = max(variance, min(numerator/denominator, greatestShare*cov(unit, unit)))
	}
	// The unit of the factor: of a fixed loading, or of a fixed variance.
	times := 1.0
	if unit.free == fixed {
		times = unit.value
	} else if at := slices.IndexFunc(m.cells, func(c cell) bool {
		return c.group == g && c.kind == covariance && c.i == p+k && c.j == p+k && c.free == fixed && c.value > 0
	}); at >= 0 {
		times = math.Sqrt(variance / m.cells[at].value)
	}
	for e, c := range cells {
		loadings.Set(c.i, k, times*relative[e])
		if c.free == fixed {
			loadings.Set(c.i, k, c.value)
		}
	}
	return variance / (times * times)
}

const (
	// moved ends the search: the last step, in standard errors by the information of the search, is shorter. Newton's
	// next one would have the length of its square.
	moved = 1e-3
	// nearby is the length of a step from which the second derivatives themselves are better than their expectation.
	nearby = 4
	// dependence is the least eigenvalue of the information, scaled to a diagonal of 1, of an identified model.
	dependence = 1e-9
	// damping is added to the scaled information where it has no inverse.
	damping = 1e-3
	// settled bounds the step that is left at the end.
	settled = 1e-3
)

// minimize moves θ to the minimum by scoring: Newton's steps with the expectation of the second derivatives, and near
// the end with these themselves, halved until they lower the function. Parameters are in units in which the information
// has a diagonal of 1.
func (m *model) minimize(ctx context.Context, o objective, theta []float64) error {
	length := math.Inf(1)
	newton := linalg.Newton{
		Loss: o.loss, Rounding: 1e-14, Shortest: 1e-6,
		Step: func(step, theta []float64) bool {
			gradient, information, solve, ok := solved(o, theta, length < nearby)
			if !ok { // on the way, or where the model is not identified, which is judged at the end
				solve, ok = scaledInverse(information, damping)
			}
			if !ok || ctx.Err() != nil {
				return false
			}
			floats.Scale(-1, gradient)
			mat.NewVecDense(len(step), step).MulVec(solve, mat.NewVecDense(len(step), gradient))
			length = math.Sqrt(max(0, floats.Dot(step, gradient)))
			return true
		},
		Done: func(_, _ []float64) bool { return length < moved },
	}
	if math.IsInf(o.loss(theta), 1) {
		return fmt.Errorf("%w: the start values imply no covariance matrix; start(value)* gives others", ErrUnconverged)
	}
	converged := newton.Minimize(theta)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !converged || length > settled {
		if err := m.checkBounded(theta); err != nil {
			return err
		}
		_, information := o.scoring(theta, false)
		if err := m.checkIdentified(information); err != nil {
			return err
		}
		return fmt.Errorf("%w: the last step was %.2g standard errors long", ErrUnconverged, length)
	}
	return nil
}

// solved returns the gradient, and the information with its inverse if it has one: near the minimum the second
// derivatives if they have one, otherwise their expectation.
func solved(o objective, theta []float64, near bool) (gradient []float64, information, inverse *mat.SymDense, ok bool) {
	gradient, information = o.scoring(theta, near)
	if inverse, ok = scaledInverse(information, 0); !ok && near {
		return solved(o, theta, false)
	}
	return gradient, information, inverse, ok
}

// search returns the minimum from the start values. Where Newton's steps find none, damped ones look for it from the
// minimum of the model with factors of variance 1: the loading of an item of 1 cannot change its sign.
func (m *model) search(ctx context.Context, equal step, of func(*model) objective, start func(*model) []float64,
) ([]float64, error) {
	theta := start(m)
	first := m.minimize(ctx, of(m), theta)
	if first == nil || ctx.Err() != nil {
		return theta, first
	}
	if other, err := m.frame.unmark().newModel(m.groups, m.cuts, m.means, equal); err == nil {
		at := start(other)
		if damped(ctx, of(other), at) {
			if at = other.mark(m, at); damped(ctx, of(m), at) {
				return at, nil
			}
		}
	}
	for _, theta := range [][]float64{start(m), m.weaken(start(m))} {
		if damped(ctx, of(m), theta) {
			return theta, nil
		}
	}
	return nil, cmp.Or(context.Cause(ctx), first)
}

// weaken returns θ with small variances of factors, which are uncorrelated. From there the search may find a minimum
// near by where it otherwise runs away.
func (m *model) weaken(theta []float64) []float64 {
	const share = 0.1
	for _, c := range m.freeCells() {
		if c.kind == covariance && c.i >= len(m.items) {
			if theta[c.free] *= share; c.i != c.j {
				theta[c.free] = 0
			}
		}
	}
	return theta
}

const (
	// mostDamped bounds the steps of damped.
	mostDamped = 100
	// leastDamping is the least share of the diagonal that is added, and mostDamping leaves no step.
	leastDamping, mostDamping = 1e-4, 1e6
	firstDamping              = 1.0 // small steps find a minimum near by
)

// damped moves θ to the minimum as minimize, but shortens a step that does not lower the function by adding to the
// diagonal of the information: D. W. Marquardt, "An algorithm for least-squares estimation of nonlinear parameters",
// 1963. It reports whether there is a minimum.
func damped(ctx context.Context, o objective, theta []float64) bool {
	loss, damp, near := o.loss(theta), firstDamping, false
	if math.IsInf(loss, 1) || math.IsNaN(loss) {
		return false
	}
	next, step := make([]float64, len(theta)), mat.NewVecDense(len(theta), nil)
	for range mostDamped {
		gradient, information, solve, ok := solved(o, theta, near)
		slope := mat.NewVecDense(len(gradient), gradient)
		near = ok && mat.Inner(slope, solve, slope) < nearby*nearby
		last := ok && mat.Inner(slope, solve, slope) < moved*moved
		for lower := false; !lower; {
			if damp > mostDamping || ctx.Err() != nil {
				return false
			}
			if damp > 0 || !ok {
				damp = max(damp, leastDamping)
				if solve, ok = scaledInverse(information, damp); !ok {
					damp *= 4
					continue
				}
			}
			step.MulVec(solve, slope)
			floats.SubTo(next, theta, step.RawVector().Data)
			to := o.loss(next)
			if lower = to <= loss+1e-14*math.Abs(loss); lower {
				loss = to
				copy(theta, next)
			} else if last {
				return true // only rounding is left to gain
			} else {
				damp = max(leastDamping, 4*damp)
			}
		}
		if last {
			return true
		}
		if damp /= 10; damp < leastDamping {
			damp = 0
		}
	}
	return false
}

// checkBounded returns an error if the search has driven the residual variance of an item far below 0.
func (m *model) checkBounded(theta []float64) error {
	for g, im := range m.at(theta) {
		for i, item := range m.items {
			if im.theta.At(i, i) < -im.sigma.At(i, i) {
				return fmt.Errorf("%w: the residual variance of %q%s falls below 0 without end: other items of its "+
					"factor hardly correlate; leave out an item, or fix a loading", ErrUnconverged, item,
					within(m.groups[g]))
			}
		}
	}
	return nil
}

// scaledInverse returns the inverse of a matrix by way of its form with a diagonal of 1, to which it adds damp.
func scaledInverse(a *mat.SymDense, damp float64) (*mat.SymDense, bool) {
	n := a.SymmetricDim()
	scaled, roots := mat.NewSymDense(n, nil), make([]float64, n)
	for i := range n {
		if roots[i] = math.Sqrt(a.At(i, i)); !(roots[i] > 0) {
			return nil, false
		}
	}
	for i := range n {
		for j := range i + 1 {
			scaled.SetSym(i, j, a.At(i, j)/(roots[i]*roots[j]))
		}
		scaled.SetSym(i, i, 1+damp)
	}
	var factor mat.Cholesky
	if !factor.Factorize(scaled) || factor.Cond() > 1/dependence || factor.InverseTo(scaled) != nil {
		return nil, false
	}
	for i := range n {
		for j := range i + 1 {
			scaled.SetSym(i, j, scaled.At(i, j)/(roots[i]*roots[j]))
		}
	}
	return scaled, true
}

// checkIdentified returns an error that names the parameters that can change without changing the fit.
func (m *model) checkIdentified(information *mat.SymDense) error {
	if _, ok := scaledInverse(information, 0); ok {
		return nil
	}
	n := m.free
	scaled := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			if d := math.Sqrt(information.At(i, i) * information.At(j, j)); d > 0 {
				scaled.SetSym(i, j, information.At(i, j)/d)
			}
		}
	}
	values, vectors, ok := linalg.Eigen(scaled)
	if !ok || !(values[0] < 1e3*dependence) {
		return nil
	}
	const visible, most = 0.1, 4
	order := linalg.Order(n, func(a, b int) int {
		return cmp.Compare(math.Abs(vectors.At(b, 0)), math.Abs(vectors.At(a, 0)))
	})
	var names []string
	for _, at := range order[:min(n, most)] {
		if math.Abs(vectors.At(at, 0)) > visible {
			names = append(names, m.nameOf(at))
		}
	}
	err := fmt.Errorf("%w: the fit stays the same while these change: %s", ErrUnidentified, strings.Join(names, ", "))
	for _, factor := range m.factors {
		if all := m.indicators(factor); m.cuts != nil && len(all) == 1 && slices.Contains(m.items, all[0].rhs) {
			return fmt.Errorf("%w; a factor of one ordered item needs a fixed variance: %s ~~ 1*%s", err, factor,
				factor)
		}
	}
	return err
}

// nameOf returns a free parameter as the syntax writes it.
func (m *model) nameOf(free int) string {
	c := m.cells[slices.IndexFunc(m.cells, func(c cell) bool { return c.free == free })]
	text := c.lhs + " " + c.op
	if c.rhs != "" {
		text += " " + c.rhs
	}
	if len(m.groups) > 1 {
		text += " (" + m.groups[c.group] + ")"
	}
	return text
}
