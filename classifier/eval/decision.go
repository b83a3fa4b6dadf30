package eval

import (
	"fmt"
	"math"
)

// Criterion is the measure that a threshold maximizes.
type Criterion string

// The criteria for thresholds.
const (
	// MaxAccuracy maximizes the share of right decisions. It is the default because published results at a threshold
	// compare accuracy. A site with costs in mind sets its threshold from the decision curve.
	MaxAccuracy Criterion = "accuracy"
	// MaxYouden maximizes sensitivity + specificity − 1 (Youden 1950), whatever the sizes of the classes.
	MaxYouden Criterion = "youden"
)

// ChooseThreshold returns the threshold that is best on the given rows, never those that the result is reported on. ""
// is MaxAccuracy. Candidates are 0, the midpoints between neighbouring distinct probabilities, and 1 if no probability
// is 1; of equally good ones the nearest to ½ wins, of two equally near the smaller. MaxYouden returns ErrOneClass
// unless both classes occur. The cost is O(n log n).
func ChooseThreshold(y []bool, p []float64, criterion Criterion) (float64, error) {
	if err := check(y, p, nil); err != nil {
		return 0, err
	}
	positiveGain, negativeGain := 1.0, 1.0
	switch criterion {
	case "", MaxAccuracy:
	case MaxYouden:
		positives, negatives, err := bothClasses(y)
		if err != nil {
			return 0, err
		}
		// Counts times the size of the other class compare without rounding.
		positiveGain, negativeGain = float64(negatives), float64(positives)
	default:
		return 0, fmt.Errorf("%w: criterion %q", ErrArgument, criterion)
	}
	order := ascending(p)
	var best, gain, bestGain float64 // above calling all positive, at threshold 0
	for from := 0; from < len(order); {
		to := tiesEnd(order, p, from)
		for _, i := range order[from:to] {
			if y[i] {
				gain -= positiveGain
			} else {
				gain += negativeGain
			}
		}
		at := p[order[from]]
		from = to
		switch {
		case to < len(order):
			at = above(at, p[order[to]])
		case at < 1:
			at = 1
		default:
			return best, nil
		}
		if gain > bestGain || gain == bestGain && math.Abs(at-0.5) < math.Abs(best-0.5) {
			best, bestGain = at, gain
		}
	}
	return best, nil
}

// above returns the midpoint of a < b, or b if no float64 lies between.
func above(a, b float64) float64 {
	if middle := a + (b-a)/2; middle > a {
		return middle
	}
	return b
}

// NetBenefit is one point of a decision curve. Treating nobody has the net benefit 0 everywhere.
type NetBenefit struct {
	Threshold float64 `json:"threshold"`
	Model     float64 `json:"model"`
	TreatAll  float64 `json:"treat_all"`
}

// DecisionCurve returns the net benefit of acting on p ≥ t, and of acting on everyone, at each threshold t,
//
//	TP/n − FP/n · t/(1−t)
//
// (Vickers & Elkin 2006, Med. Decis. Making 26(6)): the share of rows rightly acted on, less those wrongly acted on
// at the exchange rate that the threshold implies. Thresholds lie in [0,1). The cost is O(n) per threshold.
func DecisionCurve(y []bool, p, thresholds []float64) ([]NetBenefit, error) {
	if err := check(y, p, nil); err != nil {
		return nil, err
	}
	n := float64(len(y))
	curve := make([]NetBenefit, 0, len(thresholds))
	for _, t := range thresholds {
		if !(t >= 0 && t < 1) {
			return nil, fmt.Errorf("%w: threshold %v is not in [0,1)", ErrArgument, t)
		}
		var c counts
		for i, v := range p {
			c.add(y[i], v >= t)
		}
		odds := t / (1 - t)
		positives, negatives := c.truePositive+c.falseNegative, c.trueNegative+c.falsePositive
		curve = append(curve, NetBenefit{
			Threshold: t,
			Model:     (c.truePositive - c.falsePositive*odds) / n,
			TreatAll:  (positives - negatives*odds) / n,
		})
	}
	return curve, nil
}
