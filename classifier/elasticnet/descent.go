package elasticnet

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/wardcast/wardcast/solver/linalg"
)

// coordinate is a standardized column: (x − shift)·inverse. A dense column is centred and scaled in place, with shift 0
// and inverse 1; a sparse one implicitly.
type coordinate struct {
	// What a pass reads and writes comes first, together.
	column
	scaled           []float64 // entries times the roots of the weights of approximation number version
	rootDot, squares float64   // dot product of scaled with the roots; the curvature
	shift, inverse   float64
	factor           float64 // penalty factor
	beta             float64
	notPositive      bool

	version        int
	start          float64 // beta at the start of the approximation
	center, spread float64 // of the column as given
	gradient       float64 // |correlation with the residual| when the strong rule last needed it
	frozen         bool    // without variance; its coefficient stays 0
	strong         bool    // kept by the strong rule at this or an earlier λ
	ever           bool    // not zero at this or an earlier λ
}

// descent is the state of one path on some rows of a problem. It belongs to one goroutine.
type descent struct {
	n         int
	y         []float64
	weights   []float64 // sum 1
	columns   []coordinate
	alpha     float64
	tolerance float64 // on curvature·change², in units of the mean negative log-likelihood
	maxPasses int
	passes    int
	nullLoss  float64 // mean negative log-likelihood of the intercept alone

	intercept, interceptStart float64
	eta, step                 []float64
	residual                  []float64 // w(y − probability), at eta
	curvature                 []float64 // w·probability·(1 − probability), at eta

	// The quadratic approximation. Its weights may lag behind curvature; see maxLag. Its residual, divided by the roots
	// of the weights, is working + offset·root: intercept and implicit centres move the offset only.
	version      int
	held         []float64 // weights
	root, unroot []float64 // their roots and inverse roots
	heldSum      float64
	working      []float64
	offset       float64
	residualSum  float64
	strong, ever []int // columns that the strong rule kept; those of them that were ever not zero
	lambda1      float64
	lambda2      float64
}

const (
	minCurvature = 1e-9 // keeps the weights of saturated rows away from zero, as a share of the row's weight

	// An approximation is kept while the weights of the likelihood are at most maxLag times its own, and differ from
	// them by at most meanLag in the mean, relative to their mean. A step is not checked if it changes no row's
	// log-odds by more than maxStep: the logistic loss is self-concordant (Bach 2010, Electron. J. Stat. 4, Proposition
	// 1), so that the minimizer of the approximation, at a step d, lowers the objective if (e^R − R − 1)/R²·maxLag < 1
	// where R = max|Xd|; at R = 1 the left side is 0.9. Descent that stops short of the minimizer has no such bound; if
	// it cycles, it ends as Unconverged.
	maxLag      = 1.25
	meanLag     = 0.03
	maxStep     = 1.0
	maxHalvings = 40 // of a step that does not lower the objective; then the λ has diverged

	// innerShare of the first pass's change, in units of the objective: passes that change less are left to the next
	// approximation, which costs less than another pass.
	innerShare = 1e-1
)

// start fits intercept and unpenalized columns and returns the first λ, 0 if nothing is left to penalize.
func (d *descent) start(ctx context.Context) (float64, Status) {
	for j := range d.columns {
		if c := &d.columns[j]; !c.frozen && c.factor == 0 {
			d.admit(j)
		}
	}
	d.lambda1, d.lambda2 = 0, 0
	d.refresh()
	if status := d.converge(ctx); status != Complete {
		return 0, status
	}
	var largest float64
	for j := range d.columns {
		if c := &d.columns[j]; !c.frozen && c.factor > 0 {
			c.gradient = d.pull(c)
			largest = max(largest, c.gradient/c.factor)
		}
	}
	if largest < roundingGradient {
		return 0, Complete
	}
	return largest / max(d.alpha, minAlphaLambda), Complete
}

const roundingGradient = 1e-14 // a correlation of a standardized column with the labels that may be rounding alone

// solve moves the estimate from λ = last to lambda. At the end it checks the columns that the strong rule dropped, and
// goes on with those that violate the conditions.
func (d *descent) solve(ctx context.Context, lambda, last float64) Status {
	d.lambda1, d.lambda2 = lambda*d.alpha, lambda*(1-d.alpha)
	for j := range d.columns {
		c := &d.columns[j]
		if !c.strong && !c.frozen && c.gradient > d.alpha*c.factor*(2*lambda-last) {
			d.admit(j)
		}
	}
	for {
		if status := d.converge(ctx); status != Complete {
			return status
		}
		violated := false
		for j := range d.columns {
			c := &d.columns[j]
			if c.strong || c.frozen {
				continue
			}
			c.gradient = d.pull(c)
			if c.gradient > d.lambda1*c.factor {
				d.admit(j)
				violated = true
			}
		}
		if !violated {
			return Complete
		}
	}
}

func (d *descent) admit(j int) {
	d.columns[j].strong = true
	d.strong = append(d.strong, j)
}

// converge approximates until no coefficient moves by more than the tolerance. When ctx ends it is Unconverged.
func (d *descent) converge(ctx context.Context) Status {
	for {
		if d.passes >= d.maxPasses || ctx.Err() != nil {
			return Unconverged
		}
		d.interceptStart = d.intercept
		for _, j := range d.strong {
			c := &d.columns[j]
			c.start = c.beta
			if c.version != d.version {
				d.rescale(c)
			}
		}
		d.descend()
		largest := d.heldSum * square(d.intercept-d.interceptStart)
		for _, j := range d.strong {
			c := &d.columns[j]
			largest = max(largest, c.squares*square(c.beta-c.start))
		}
		if !d.accept() {
			return Diverged
		}
		d.refresh()
		if largest < d.tolerance {
			return Complete
		}
	}
}

// descend minimizes the approximation plus penalty: passes over the columns that were ever not zero, until they come to
// rest, between passes over all strong ones.
func (d *descent) descend() {
	rest := d.tolerance
	for first := true; ; first = false {
		change := d.pass(d.strong)
		if first {
			rest = max(rest, innerShare*change)
		}
		if change < rest {
			return
		}
		for change >= rest {
			if d.passes >= d.maxPasses {
				return
			}
			change = d.pass(d.ever)
		}
	}
}

// pass updates the columns of a set and the intercept once. It returns the largest curvature·change².
func (d *descent) pass(set []int) float64 {
	d.passes++
	var largest float64
	for _, j := range set {
		c := &d.columns[j]
		var gradient float64
		if c.rows == nil {
			gradient = floats.Dot(c.scaled, d.working) + d.offset*c.rootDot
		} else {
			gradient = c.inverse * (gather(c.rows, c.scaled, d.working) + d.offset*c.rootDot - c.shift*d.residualSum)
		}
		var beta float64
		u, threshold := gradient+c.squares*c.beta, d.lambda1*c.factor
		switch {
		case u > threshold:
			beta = (u - threshold) / (c.squares + d.lambda2*c.factor)
		case u < -threshold:
			beta = (u + threshold) / (c.squares + d.lambda2*c.factor)
		}
		if c.notPositive {
			beta = min(beta, 0)
		}
		change := beta - c.beta
		if change == 0 {
			continue
		}
		c.beta = beta
		if !c.ever {
			c.ever = true
			d.ever = append(d.ever, j)
		}
		largest = max(largest, c.squares*change*change)
		if c.rows == nil {
			floats.AddScaled(d.working, -change, c.scaled)
			d.residualSum -= change * c.rootDot
			continue
		}
		change *= c.inverse
		scatter(-change, c.rows, c.scaled, d.working)
		d.offset += change * c.shift
		d.residualSum -= change * (c.rootDot - c.shift*d.heldSum)
	}
	change := d.residualSum / d.heldSum
	d.intercept += change
	d.offset -= change
	d.residualSum = 0
	return max(largest, d.heldSum*change*change)
}

// accept moves eta to the minimizer of the approximation, halving a step above maxStep until the objective falls, or
// fails.
func (d *descent) accept() bool {
	var longest float64
	for i, r := range d.residual {
		d.step[i] = (r*d.unroot[i]-d.working[i])*d.unroot[i] - d.offset
		longest = max(longest, math.Abs(d.step[i])) // NaN stays NaN
	}
	if math.IsNaN(longest) || math.IsInf(longest, 0) {
		return false
	}
	if longest > maxStep {
		before := d.loss(d.eta) + d.penalty(0)
		next := make([]float64, d.n)
		for share, halvings := 1.0, 0; ; share, halvings = share/2, halvings+1 {
			for i, v := range d.eta {
				next[i] = v + share*d.step[i]
			}
			if d.loss(next)+d.penalty(share) <= before {
				if share < 1 {
					d.shrink(share)
				}
				break
			}
			if halvings == maxHalvings {
				return false
			}
		}
	}
	for i, s := range d.step {
		d.eta[i] += s
	}
	return true
}

func (d *descent) penalty(share float64) float64 {
	var sum float64
	for _, j := range d.strong {
		c := &d.columns[j]
		beta := c.start + share*(c.beta-c.start)
		sum += c.factor * (d.lambda1*math.Abs(beta) + d.lambda2*beta*beta/2)
	}
	return sum
}

// shrink takes a share of the step.
func (d *descent) shrink(share float64) {
	floats.Scale(share, d.step)
	d.intercept = d.interceptStart + share*(d.intercept-d.interceptStart)
	for _, j := range d.strong {
		c := &d.columns[j]
		c.beta = c.start + share*(c.beta-c.start)
	}
}

// refresh computes the gradient at eta, and a new approximation if the old one lags too far behind.
func (d *descent) refresh() {
	d.residualSum, d.offset = 0, 0
	var sum, difference, ratio float64
	for i, eta := range d.eta {
		w, p := d.weights[i], linalg.Sigmoid(eta)
		d.residual[i] = w * (d.y[i] - p)
		d.residualSum += d.residual[i]
		v := w * max(p*(1-p), minCurvature)
		d.curvature[i] = v
		sum += v
		difference += math.Abs(v - d.held[i])
		ratio = max(ratio, v*d.unroot[i]*d.unroot[i])
	}
	if d.version == 0 || ratio > maxLag || difference > meanLag*sum {
		d.version++
		d.heldSum = sum
		for i, v := range d.curvature {
			d.held[i] = v
			d.root[i] = math.Sqrt(v)
			d.unroot[i] = 1 / d.root[i]
		}
	}
	for i, r := range d.residual {
		d.working[i] = r * d.unroot[i]
	}
}

// rescale brings a column to the current approximation.
func (d *descent) rescale(c *coordinate) {
	c.version = d.version
	if c.scaled == nil {
		c.scaled = make([]float64, len(c.values))
	}
	if c.rows == nil {
		for i, v := range c.values {
			c.scaled[i] = v * d.root[i]
		}
		c.rootDot = floats.Dot(c.scaled, d.root)
		c.squares = floats.Dot(c.scaled, c.scaled)
		return
	}
	var sum, squares float64
	for e, i := range c.rows {
		v := c.values[e] * d.root[i]
		c.scaled[e] = v
		sum += v * d.root[i]
		squares += v * v
	}
	c.rootDot = sum
	c.squares = c.inverse * c.inverse * (squares - 2*c.shift*sum + c.shift*c.shift*d.heldSum)
}

// exactGradient returns the derivative of the log-likelihood by the coefficient of c at eta.
func (d *descent) exactGradient(c *coordinate) float64 {
	if c.rows == nil {
		return floats.Dot(c.values, d.residual)
	}
	return c.inverse * (gather(c.rows, c.values, d.residual) - c.shift*d.residualSum)
}

// pull returns how strongly the likelihood draws the coefficient of c from 0, to where it may go.
func (d *descent) pull(c *coordinate) float64 {
	gradient := d.exactGradient(c)
	if c.notPositive {
		gradient = min(gradient, 0)
	}
	return math.Abs(gradient)
}

// loss returns the mean negative log-likelihood −Σ w [yη − ln(1+e^η)].
func (d *descent) loss(eta []float64) float64 {
	var sum float64
	for i, e := range eta {
		// linalg.Softplus with log in place of log1p: to an absolute 1e-16, which no sum over rows shows
		sum += d.weights[i] * (max(e, 0) + math.Log(1+math.Exp(-math.Abs(e))) - d.y[i]*e)
	}
	return sum
}

func square(v float64) float64 { return v * v }

// gather returns Σ_e values_e · y[rows_e].
func gather[V float32 | float64](rows []int32, values []V, y []float64) float64 {
	values = values[:len(rows)]
	var even, odd float64
	e := 0
	for ; e+2 <= len(rows); e += 2 {
		even += float64(values[e]) * y[rows[e]]
		odd += float64(values[e+1]) * y[rows[e+1]]
	}
	if e < len(rows) {
		even += float64(values[e]) * y[rows[e]]
	}
	return even + odd
}

// scatter adds a·values_e to y[rows_e].
func scatter[V float32 | float64](a float64, rows []int32, values []V, y []float64) {
	values = values[:len(rows)]
	for e, i := range rows {
		y[i] += a * float64(values[e])
	}
}

// newDescent returns the state for the rows to keep that have a weight, at the estimate of the null model.
func newDescent(p Problem, s Settings, keep func(row int) bool) (*descent, error) {
	x := p.Design
	rows := make([]int32, 0, x.n)
	position := make([]int32, x.n)
	var totalWeight float64
	for i := range x.n {
		position[i] = -1
		if p.weight(i) > 0 && keep(i) {
			position[i] = int32(len(rows))
			rows = append(rows, int32(i))
			totalWeight += p.weight(i)
		}
	}
	n := len(rows)
	vector := func() []float64 { return make([]float64, n) }
	d := &descent{
		n: n, y: vector(), weights: vector(), alpha: s.Alpha, maxPasses: s.MaxPasses,
		columns: make([]coordinate, len(x.columns)),
		eta:     vector(), step: vector(), residual: vector(), curvature: vector(),
		held: vector(), root: vector(), unroot: vector(), working: vector(),
	}
	var positive float64
	positives := 0
	for i, r := range rows {
		d.weights[i] = p.weight(int(r)) / totalWeight
		if p.Y[r] {
			d.y[i] = 1
			positive += d.weights[i]
			positives++
		}
	}
	if positives == 0 || positives == n {
		return nil, fmt.Errorf("%w: %d of %d rows with weight are positive", ErrOneClass, positives, n)
	}
	d.intercept = math.Log(positive / (1 - positive))
	for i := range d.eta {
		d.eta[i] = d.intercept
	}
	d.nullLoss = d.loss(d.eta)
	if p.Offset != nil {
		for i, r := range rows {
			d.eta[i] += p.Offset[r]
		}
	}
	d.tolerance = s.Tolerance * d.nullLoss

	sums := [2][]float64{make([]float64, len(x.columns)), make([]float64, len(x.columns))}
	for j, c := range x.columns {
		if n < x.n || c.rows == nil {
			c = c.take(rows, position)
		}
		for e, v := range c.values {
			i := c.row(e)
			sums[int(d.y[i])][j] += float64(n) * d.weights[i] * v
		}
		d.columns[j] = d.standardize(c, s.Standardize)
		d.columns[j].notPositive = s.NotPositive != nil && s.NotPositive[j]
	}
	perClass := [2]float64{float64(n) * (1 - positive), float64(n) * positive}
	for j, factor := range s.factors(len(x.columns), sums, perClass) {
		d.columns[j].factor = factor
	}
	return d, nil
}

// standardize returns the column with weighted mean 0 and, if scale, variance 1. It changes a dense column in place.
func (d *descent) standardize(c column, scale bool) coordinate {
	frozen := coordinate{column: c, frozen: true, inverse: 1, spread: 1}
	if c.constant(d.n) {
		return frozen
	}
	weight := func(e int) float64 { return d.weights[c.row(e)] }
	var mean, inside float64
	for e, v := range c.values {
		mean += weight(e) * v
		inside += weight(e)
	}
	// Two passes, because a difference of squares loses the variance of a column with a large mean.
	variance := max(0, 1-inside) * mean * mean
	for e, v := range c.values {
		variance += weight(e) * square(v-mean)
	}
	spread := 1.0
	if scale {
		spread = math.Sqrt(variance)
	}
	if variance == 0 { // underflow
		return frozen
	}
	if c.rows != nil {
		return coordinate{column: c, shift: mean, inverse: 1 / spread, center: mean, spread: spread}
	}
	for i := range c.values {
		c.values[i] = (c.values[i] - mean) / spread
	}
	return coordinate{column: c, inverse: 1, center: mean, spread: spread}
}
