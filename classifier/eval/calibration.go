package eval

import (
	"fmt"
	"math"

	"github.com/wardcast/wardcast/solver/linalg"
)

const (
	newtonSteps     = 100
	newtonTolerance = 1e-12 // on the change of a coefficient
	lossRounding    = 1e-12 // relative rise of a sum of many terms that may be rounding
)

// calibrationIntercept solves Σ σ(a + x) = Σ y, which rises in a, by Newton's method kept between bounds.
func calibrationIntercept(y []bool, x []float64) float64 {
	positives := float64(Positives(y))
	// At low all rows are below the prevalence, at high above it.
	target := logit(positives / float64(len(y)))
	low, high := target-logit(1), target-logit(0)
	var a float64
	for range newtonSteps {
		var excess, slope float64
		for _, v := range x {
			q := linalg.Sigmoid(a + v)
			excess += q
			slope += q * (1 - q)
		}
		excess -= positives
		switch {
		case excess == 0:
			return a
		case excess > 0:
			high = a
		default:
			low = a
		}
		next := a - excess/slope
		if !(next > low && next < high) {
			next = (low + high) / 2
		}
		if math.Abs(next-a) < newtonTolerance {
			return next
		}
		a = next
	}
	return a
}

// calibrationSlope returns b of the maximum likelihood estimate of logit P(y) = a + b·x, by Newton's method with halved
// steps; nil if there is none: x separates the classes, up to one shared value, or is constant.
func calibrationSlope(y []bool, x []float64) *float64 {
	if separated(y, x) {
		return nil
	}
	newton := linalg.Newton{
		Loss: logisticLoss(y, func(i int, theta []float64) float64 { return theta[0] + theta[1]*x[i] }),
		Step: func(step, theta []float64) bool {
			var g0, g1, h00, h01, h11 float64
			for i, v := range x {
				q := linalg.Sigmoid(theta[0] + theta[1]*v)
				r, w := one(y[i])-q, q*(1-q)
				g0 += r
				g1 += r * v
				h00 += w
				h01 += w * v
				h11 += w * v * v
			}
			determinant := h00*h11 - h01*h01
			step[0], step[1] = (h11*g0-h01*g1)/determinant, (h00*g1-h01*g0)/determinant
			return determinant > 0
		},
		Done: func(step, theta []float64) bool {
			return math.Abs(step[0])+math.Abs(step[1]) <= newtonTolerance*(1+math.Abs(theta[1]))
		},
		Rounding: lossRounding, Shortest: newtonTolerance,
	}
	theta := []float64{0, 1}
	if !newton.Minimize(theta) {
		return nil
	}
	return &theta[1]
}

// separated reports whether a threshold on x parts the classes, apart from rows that lie on it.
func separated(y []bool, x []float64) bool {
	lowest, highest := math.Inf(1), math.Inf(-1)
	low, high := [2]float64{lowest, lowest}, [2]float64{highest, highest}
	for i, v := range x {
		class := int(one(y[i]))
		low[class] = min(low[class], v)
		high[class] = max(high[class], v)
	}
	return high[0] <= low[1] || high[1] <= low[0]
}

// Bin is one point of a calibration plot.
type Bin struct {
	N         int     `json:"n"`
	Low       float64 `json:"low"`  // smallest predicted probability in it
	High      float64 `json:"high"` // largest
	Predicted float64 `json:"predicted"`
	Observed  float64 `json:"observed"`
}

// CalibrationBins returns up to the given number of bins of neighbouring probabilities, with the mean prediction and
// the share of positive outcomes of each. Bins hold about n/bins rows; equal probabilities stay together. The cost is
// O(n log n).
func CalibrationBins(y []bool, p []float64, bins int) ([]Bin, error) {
	if err := check(y, p, nil); err != nil {
		return nil, err
	}
	if bins < 1 {
		return nil, fmt.Errorf("%w: %d bins", ErrArgument, bins)
	}
	order := ascending(p)
	var result []Bin
	for from := 0; from < len(order); {
		// The end of the quantile that from falls in.
		quantile := from*bins/len(order) + 1
		to := max(from+1, (quantile*len(order)+bins-1)/bins)
		to = tiesEnd(order, p, to-1)
		bin := Bin{N: to - from, Low: p[order[from]], High: p[order[to-1]]}
		for _, i := range order[from:to] {
			bin.Predicted += p[i]
			if y[i] {
				bin.Observed++
			}
		}
		bin.Predicted /= float64(bin.N)
		bin.Observed /= float64(bin.N)
		result = append(result, bin)
		from = to
	}
	return result, nil
}

// logit returns ln(p/(1−p)) of the clipped probability.
func logit(p float64) float64 {
	p = min(max(p, probabilityClip), 1-probabilityClip)
	return math.Log(p / (1 - p))
}

// Recalibration maps a probability p to σ(Intercept + Slope·logit p).
type Recalibration struct {
	Intercept float64 `json:"intercept"`
	Slope     float64 `json:"slope"`
}

// FitRecalibration returns the map of the greatest likelihood (Cox 1958, Biometrika 45); nil for one class, or if p
// separates the classes or is constant. Its slope is Metrics.CalibrationSlope; its intercept is fitted with the slope,
// and so differs from Metrics.CalibrationIntercept.
func FitRecalibration(y []bool, p []float64) (*Recalibration, error) {
	if err := check(y, p, nil); err != nil {
		return nil, err
	}
	fit := recalibrate(y, LogOdds(p))
	if fit == nil {
		return nil, nil
	}
	return &Recalibration{fit.theta[0], fit.theta[1]}, nil
}

// Apply returns the recalibrated probability.
func (r *Recalibration) Apply(p float64) float64 {
	return linalg.Sigmoid(r.Intercept + r.Slope*logit(p))
}
