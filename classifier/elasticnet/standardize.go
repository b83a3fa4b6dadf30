package elasticnet

import (
	"fmt"
	"math"
)

// newDescent returns the state for the rows to keep that have a weight, at the estimate of the null model.
func newDescent(p Problem, s Settings, keep func(row int) bool) (*descent, error) {
	x := p.Design
	rows := make([]int32, 0, x.n)
	position := make([]int32, x.n)
	for i := range x.n {
		position[i] = -1
		if p.weight(i) > 0 && keep(i) {
			position[i] = int32(len(rows))
			rows = append(rows, int32(i))
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
	for _, r := range rows {
		d.totalWeight += p.weight(int(r))
	}
	var positive float64
	positives := 0
	for i, r := range rows {
		d.weights[i] = p.weight(int(r)) / d.totalWeight
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

	factors := s.factors(len(x.columns))
	for j, c := range x.columns {
		if n < x.n || c.rows == nil {
			c = c.take(rows, position)
		}
		d.columns[j] = d.standardize(c, s.Standardize)
		d.columns[j].factor = factors[j]
	}
	return d, nil
}

// standardize returns the column centred to weighted mean 0 and, if asked, scaled to weighted variance 1. It changes
// the values of a dense column.
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
