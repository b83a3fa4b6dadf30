package eval

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/solver/linalg"
)

// CurvePoint is one point of a smooth curve with its pointwise 95 % band.
type CurvePoint struct {
	Predicted float64 `json:"predicted"`
	Observed  float64 `json:"observed"`
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
}

// SmoothCalibration returns the share of positive outcomes against the prediction, at the given number of points, at
// least two, equally spaced over the predictions between their 1st and 99th percentile. It is the logistic regression
//
//	logit P(y) = β₀ + Σ_j β_j·s_j(logit p)
//
// on a restricted cubic spline (Harrell 2015, Regression Modeling Strategies, section 2.4.5), whose tails are straight.
// The rarer class decides on the number of knots: 5 from 200 rows on, 4 from 50, 3 from 20, at Harrell's quantiles of
// the logits; below, or if knots coincide, the curve is the straight line of calibration intercept and slope. The band
// is that of the sandwich over patients, on the logit scale. It is nil if there is no fit: one class only, or classes
// that p separates.
func SmoothCalibration(y []bool, p []float64, groups []string, points int) ([]CurvePoint, error) {
	c, err := checked(y, p, groups)
	if err != nil {
		return nil, err
	}
	s := smooth(y, LogOdds(p))
	if s == nil {
		return nil, nil
	}
	covariance := s.covariance(c)
	sorted := slices.Sorted(slices.Values(p))
	from, to := stat.Quantile(.01, stat.Empirical, sorted, nil), stat.Quantile(.99, stat.Empirical, sorted, nil)
	curve := make([]CurvePoint, points)
	row := mat.NewVecDense(len(s.theta), nil)
	for j := range curve {
		v := from + (to-from)*float64(j)/float64(points-1)
		s.row(row.RawVector().Data, logit(v))
		eta := mat.Dot(row, mat.NewVecDense(len(s.theta), s.theta))
		half := normal975 * math.Sqrt(mat.Inner(row, covariance, row))
		low, high := linalg.Sigmoid(eta-half), linalg.Sigmoid(eta+half)
		curve[j] = CurvePoint{Predicted: v, Observed: linalg.Sigmoid(eta), Low: low, High: high}
	}
	return curve, nil
}

// harrellQuantiles are those at which knots stand, by their number minus 3 (Harrell 2015, table 2.3).
var harrellQuantiles = [][]float64{{.1, .5, .9}, {.05, .35, .65, .95}, {.05, .275, .5, .725, .95}}

// rowsForKnots are the rows of the rarer class from which on there are 3, 4 and 5 knots.
var rowsForKnots = []int{20, 50, 200}

// smooth fits the spline to logits x, or a straight line; nil if there is no fit. Both classes occur.
func smooth(y []bool, x []float64) *logisticFit {
	if separated(y, x) {
		return nil
	}
	sorted := slices.Sorted(slices.Values(x))
	positives, negatives, _ := bothClasses(y)
	for more, rows := range slices.Backward(rowsForKnots) {
		if min(positives, negatives) < rows {
			continue
		}
		knots := lists.Map(harrellQuantiles[more], func(q float64) float64 { return quantile(sorted, q) })
		if len(slices.Compact(slices.Clone(knots))) < len(knots) {
			continue
		}
		if fit := fitLogistic(y, x, knots); fit != nil {
			return fit
		}
	}
	return recalibrate(y, x)
}

// recalibrate fits the straight line logit P(y) = θ₀ + θ₁·x; nil if there is no fit.
func recalibrate(y []bool, x []float64) *logisticFit {
	if separated(y, x) {
		return nil
	}
	return fitLogistic(y, x, nil)
}

// quantile interpolates between order statistics: type 7 of Hyndman & Fan (1996), the default of R and numpy.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	below := int(at)
	if below+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[below] + (at-float64(below))*(sorted[below+1]-sorted[below])
}

// logisticFit is a logistic regression on 1, x and, with knots, the terms of a restricted cubic spline of x.
type logisticFit struct {
	y      []bool
	knots  []float64
	design *mat.Dense // n×k
	theta  []float64  // k
}

// fitLogistic returns the maximum likelihood fit, or nil if there is none.
func fitLogistic(y []bool, x, knots []float64) *logisticFit {
	k := max(2, len(knots))
	f := &logisticFit{y: y, knots: knots, design: mat.NewDense(len(x), k, nil), theta: make([]float64, k)}
	for i, v := range x {
		f.row(f.design.RawRowView(i), v)
	}
	newton := linalg.Newton{
		Loss: logisticLoss(y, f.eta),
		Step: func(step, theta []float64) bool {
			gradient := make([]float64, k)
			for i := range y {
				r := f.residual(i, theta)
				for j, v := range f.design.RawRowView(i) {
					gradient[j] += r * v
				}
			}
			var factor mat.Cholesky
			if !factor.Factorize(f.information(theta)) {
				return false
			}
			return factor.SolveVecTo(mat.NewVecDense(k, step), mat.NewVecDense(k, gradient)) == nil
		},
		Done: func(step, theta []float64) bool {
			var moved, size float64
			for j := range step {
				moved += math.Abs(step[j])
				size += math.Abs(theta[j])
			}
			return moved <= newtonTolerance*(1+size)
		},
		Rounding: lossRounding, Shortest: newtonTolerance,
	}
	f.theta[1] = 1
	if !newton.Minimize(f.theta) {
		return nil
	}
	return f
}

// logisticLoss returns −Σ ln P(y_i) as a function of θ by the log-odds eta of the rows.
func logisticLoss(y []bool, eta func(i int, theta []float64) float64) func(theta []float64) float64 {
	return func(theta []float64) float64 {
		var sum float64
		for i, positive := range y {
			x := eta(i, theta)
			if positive {
				x = -x
			}
			sum += linalg.Softplus(x)
		}
		return sum
	}
}

// row stores the terms of x: 1, x, and for each knot t_j but the last two
//
//	[ (x−t_j)³₊ − (x−t_{k−1})³₊·(t_k−t_j)/(t_k−t_{k−1}) + (x−t_k)³₊·(t_{k−1}−t_j)/(t_k−t_{k−1}) ] / (t_k−t_1)²
func (f *logisticFit) row(dst []float64, x float64) {
	dst[0], dst[1] = 1, x
	if len(f.knots) == 0 {
		return
	}
	cube := func(t float64) float64 { v := max(x-t, 0); return v * v * v }
	first, before, last := f.knots[0], f.knots[len(f.knots)-2], f.knots[len(f.knots)-1]
	scale := (last - first) * (last - first)
	for j, t := range f.knots[:len(f.knots)-2] {
		dst[j+2] = (cube(t) - cube(before)*(last-t)/(last-before) + cube(last)*(before-t)/(last-before)) / scale
	}
}

func (f *logisticFit) eta(i int, theta []float64) float64 {
	var sum float64
	for j, v := range f.design.RawRowView(i) {
		sum += v * theta[j]
	}
	return sum
}

// at returns the fitted probability of row i.
func (f *logisticFit) at(i int) float64 { return linalg.Sigmoid(f.eta(i, f.theta)) }

// residual returns y − P(y) of row i.
func (f *logisticFit) residual(i int, theta []float64) float64 {
	return one(f.y[i]) - linalg.Sigmoid(f.eta(i, theta))
}

// information returns Σ_i w_i·x_i·x_iᵀ with w = P(1−P).
func (f *logisticFit) information(theta []float64) *mat.SymDense {
	k := len(theta)
	h := mat.NewSymDense(k, nil)
	data := h.RawSymmetric().Data
	for i := range f.y {
		q := linalg.Sigmoid(f.eta(i, theta))
		w := q * (1 - q)
		row := f.design.RawRowView(i)
		for a, v := range row {
			for b := a; b < k; b++ {
				data[a*k+b] += w * v * row[b]
			}
		}
	}
	return h
}

// covariance returns the sandwich of θ over clusters: H⁻¹·[G/(G−1)·Σ_g s_g·s_gᵀ]·H⁻¹, s_g the sum of the rows' scores.
func (f *logisticFit) covariance(c *clusters) *mat.SymDense {
	k := len(f.theta)
	scores := mat.NewDense(c.count, k, nil)
	for i := range f.y {
		r := f.residual(i, f.theta)
		into := scores.RawRowView(c.cluster(i))
		for j, v := range f.design.RawRowView(i) {
			into[j] += r * v
		}
	}
	out := mat.NewSymDense(k, nil)
	var factor mat.Cholesky
	if !factor.Factorize(f.information(f.theta)) {
		return out
	}
	var half mat.Dense // H⁻¹·Sᵀ
	if err := factor.SolveTo(&half, scores.T()); err != nil {
		return out
	}
	out.SymOuterK(c.correction(), &half)
	return out
}

// LogOdds returns ln(p/(1−p)) of each probability, clipped as in Metrics.LogLoss.
func LogOdds(p []float64) []float64 { return lists.Map(p, logit) }
