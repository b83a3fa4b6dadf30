package elasticnet

import (
	"context"
	"math"
)

// quasiNewton minimizes loss and penalty by OWL-QN: limited-memory BFGS within the orthant of the current estimate
// (Andrew & Gao 2007, ICML, section 3). Two things differ from the paper. The first curvature is diagonal: the mean
// squares of the columns. And coefficients that are 0 and stay there have no part in the approximation. Pairs of steps
// and gradients hold the loss alone, so that they serve one λ after the other.
type quasiNewton struct {
	loss      *loss
	alpha     float64
	factors   []float64 // of the penalty by column, 0 for the intercept
	curvature []float64 // of the loss by column
	null      float64

	notPositive []bool // by column

	lambda1, lambda2 float64
	beta             []float64 // p coefficients, then the intercept
	value            float64   // loss at beta
	slope            []float64 // its gradient
	pairs            []pair    // oldest first
	evaluations      int

	gradient, direction, next, nextSlope []float64
	free                                 []int32
}

// pair is a step and what it changed in the gradient of the loss.
type pair struct {
	step, change []float64
	weight       float64 // 1/stepᵀchange over the free coefficients, 0 if there is no curvature
	share        float64 // of the first loop
}

const (
	maxPairs       = 5    // more of them need more evaluations of the loss here, not fewer
	maxEvaluations = 2000 // at one λ
	sufficient     = 1e-4 // share of the expected fall that a step must bring
	minShare       = 1e-6 // of the curvature of an average column, in place of one that is nearly 0
)

func newQuasiNewton(l *loss, s Settings, factors, squares []float64) *quasiNewton {
	p := l.x.p
	vector := func() []float64 { return make([]float64, p+1) }
	q := &quasiNewton{
		loss: l, alpha: s.Alpha, factors: factors,
		null: -l.rate*math.Log(l.rate) - (1-l.rate)*math.Log(1-l.rate),
		beta: vector(), slope: vector(), gradient: vector(), direction: vector(), next: vector(), nextSlope: vector(),
		curvature: vector(), notPositive: make([]bool, p+1),
	}
	weight := l.rate * (1 - l.rate)
	var mean float64
	for _, v := range squares {
		mean += v / float64(p)
	}
	for j, v := range squares {
		q.curvature[j] = weight * max(v, minShare*mean)
	}
	q.curvature[p] = weight
	q.start(append(make([]float64, p), math.Log(l.rate/(1-l.rate))))
	return q
}

func (q *quasiNewton) start(beta []float64) {
	copy(q.beta, beta)
	q.value = q.loss.gradient(q.slope, q.beta)
}

// largest returns the smallest λ at which every penalized coefficient is 0, at an estimate that is best for the others.
func (q *quasiNewton) largest() float64 {
	var largest float64
	for j, f := range q.factors {
		if f > 0 && !(q.notPositive[j] && q.slope[j] < 0) {
			largest = max(largest, math.Abs(q.slope[j])/f)
		}
	}
	return largest / max(q.alpha, minAlphaLambda)
}

// solve moves the estimate to the minimum at λ, until a step promises to lower the objective by less than the
// tolerance, a share of the null model's loss.
func (q *quasiNewton) solve(ctx context.Context, lambda, tolerance float64) Status {
	q.lambda1, q.lambda2 = lambda*q.alpha, lambda*(1-q.alpha)
	for range maxEvaluations {
		if ctx.Err() != nil {
			return Unconverged
		}
		q.pseudoGradient()
		promise := q.descend()
		if math.IsNaN(promise) {
			return Diverged
		}
		if promise <= tolerance*q.null {
			return Complete
		}
		if q.move() {
			continue
		}
		if len(q.pairs) == 0 {
			return Diverged
		}
		q.pairs = q.pairs[:0]
	}
	return Unconverged
}

// pseudoGradient stores the direction of steepest ascent of the objective, and lists the coefficients that may move.
func (q *quasiNewton) pseudoGradient() {
	q.free = q.free[:0]
	for j, b := range q.beta {
		g, threshold := q.slope[j]+q.lambda2*q.factors[j]*b, q.lambda1*q.factors[j]
		switch {
		case b == 0 && g < 0 && q.notPositive[j]:
			continue
		case b > 0, b == 0 && g < -threshold:
			g += threshold
		case b < 0, g > threshold:
			g -= threshold
		default:
			continue
		}
		q.gradient[j] = g
		q.free = append(q.free, int32(j))
	}
}

// descend stores the direction of the step and returns the fall of the objective that it promises, to first order.
func (q *quasiNewton) descend() (promise float64) {
	d := q.direction
	clear(d)
	for _, j := range q.free {
		d[j] = -q.gradient[j]
	}
	for at := len(q.pairs) - 1; at >= 0; at-- {
		r := &q.pairs[at]
		var curvature, along float64
		for _, j := range q.free {
			s := r.step[j]
			curvature += s * (r.change[j] + q.lambda2*q.factors[j]*s)
			along += s * d[j]
		}
		r.weight = 0
		if curvature > 0 {
			r.weight = 1 / curvature
		}
		r.share = along * r.weight
		for _, j := range q.free {
			d[j] -= r.share * (r.change[j] + q.lambda2*q.factors[j]*r.step[j])
		}
	}
	scale := q.scale()
	for _, j := range q.free {
		d[j] *= scale / (q.curvature[j] + q.lambda2*q.factors[j])
	}
	for at := range q.pairs {
		r := &q.pairs[at]
		var across float64
		for _, j := range q.free {
			across += (r.change[j] + q.lambda2*q.factors[j]*r.step[j]) * d[j]
		}
		share := r.share - across*r.weight
		for _, j := range q.free {
			d[j] += share * r.step[j]
		}
	}
	for _, j := range q.free {
		if d[j]*q.gradient[j] >= 0 {
			d[j] = 0
		}
		promise -= d[j] * q.gradient[j]
	}
	return promise
}

// scale returns the factor of the inverse of the first curvature, by the newest step.
func (q *quasiNewton) scale() float64 {
	if len(q.pairs) == 0 {
		return 1
	}
	r := &q.pairs[len(q.pairs)-1]
	var along, square float64
	for _, j := range q.free {
		ridge := q.lambda2 * q.factors[j]
		y := r.change[j] + ridge*r.step[j]
		along += r.step[j] * y
		square += y * y / (q.curvature[j] + ridge)
	}
	if !(along > 0 && square > 0) {
		return 1
	}
	return along / square
}

// move takes the step, or the longest half, quarter, … of it that lowers the objective enough; false if none does.
func (q *quasiNewton) move() bool {
	before := q.value + q.penalty(q.beta)
	for share, halvings := 1.0, 0; halvings < maxHalvings; share, halvings = share/2, halvings+1 {
		copy(q.next, q.beta)
		var expected float64
		for _, j := range q.free {
			b, v := q.beta[j], q.beta[j]+share*q.direction[j]
			if q.factors[j] > 0 && q.lambda1 > 0 && b*v < 0 {
				v = 0 // the orthant ends here
			}
			if q.notPositive[j] {
				v = min(v, 0)
			}
			q.next[j] = v
			expected += q.gradient[j] * (v - b)
		}
		value := q.loss.gradient(q.nextSlope, q.next)
		q.evaluations++
		if value+q.penalty(q.next) <= before+sufficient*expected {
			q.remember()
			q.beta, q.next = q.next, q.beta
			q.slope, q.nextSlope = q.nextSlope, q.slope
			q.value = value
			return true
		}
	}
	return false
}

func (q *quasiNewton) remember() {
	var r pair
	if len(q.pairs) == maxPairs {
		r = q.pairs[0]
		q.pairs = append(q.pairs[:0], q.pairs[1:]...)
	} else {
		r.step, r.change = make([]float64, len(q.beta)), make([]float64, len(q.beta))
	}
	for j, v := range q.next {
		r.step[j] = v - q.beta[j]
		r.change[j] = q.nextSlope[j] - q.slope[j]
	}
	q.pairs = append(q.pairs, r)
}

func (q *quasiNewton) penalty(beta []float64) float64 {
	var absolute, square float64
	for j, b := range beta {
		absolute += q.factors[j] * math.Abs(b)
		square += q.factors[j] * b * b
	}
	return q.lambda1*absolute + q.lambda2*square/2
}
