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

// Operating holds what calling p ≥ Threshold positive comes to, with 95 % intervals: Wilson's, widened where patients
// repeat; see Metrics for the measures. Shares of nothing are nil.
type Operating struct {
	Threshold   float64   `json:"threshold"`
	Called      Estimate  `json:"called"` // the share of all rows
	Sensitivity *Estimate `json:"sensitivity,omitempty"`
	Specificity *Estimate `json:"specificity,omitempty"`
	PPV         *Estimate `json:"ppv,omitempty"`
	NPV         *Estimate `json:"npv,omitempty"`
}

// AtThreshold returns what a threshold comes to. groups are those of Assess.
func AtThreshold(y []bool, p []float64, threshold float64, groups []string) (*Operating, error) {
	c, err := checked(y, p, groups)
	if err != nil {
		return nil, err
	}
	if threshold != threshold {
		return nil, fmt.Errorf("%w: threshold %v", ErrArgument, threshold)
	}
	n := len(y)
	all := func(int) bool { return true }
	truth := func(i int) bool { return y[i] }
	called := func(i int) bool { return p[i] >= threshold }
	not := func(f func(int) bool) func(int) bool { return func(i int) bool { return !f(i) } }
	return &Operating{
		Threshold: threshold, Called: *c.share(all, called, n),
		Sensitivity: c.share(truth, called, n), Specificity: c.share(not(truth), not(called), n),
		PPV: c.share(called, truth, n), NPV: c.share(not(called), not(truth), n),
	}, nil
}

// BenefitPoint is one point of a decision curve with its intervals. Treating nobody has the net benefit 0 everywhere.
type BenefitPoint struct {
	Threshold float64  `json:"threshold"`
	Model     Estimate `json:"model"`
	TreatAll  Estimate `json:"treat_all"`
}

// DecisionIntervals returns the net benefit of acting on p ≥ t, and of acting on everyone, at each threshold t,
//
//	TP/n − FP/n · t/(1−t)
//
// (Vickers & Elkin 2006, Med. Decis. Making 26(6)): the share of rows rightly acted on, less those wrongly acted on
// at the exchange rate that the threshold implies. It has 95 % intervals by patient; groups are those of Assess.
// Thresholds lie in [0,1). The cost is O(n) per threshold.
func DecisionIntervals(y []bool, p, thresholds []float64, groups []string) ([]BenefitPoint, error) {
	c, err := checked(y, p, groups)
	if err != nil {
		return nil, err
	}
	out := make([]BenefitPoint, 0, len(thresholds))
	model, all := make([]float64, len(y)), make([]float64, len(y))
	for _, t := range thresholds {
		if !(t >= 0 && t < 1) {
			return nil, fmt.Errorf("%w: threshold %v is not in [0,1)", ErrArgument, t)
		}
		for i, v := range p {
			all[i], model[i] = -t/(1-t), 0
			if y[i] {
				all[i] = 1
			}
			if v >= t {
				model[i] = all[i]
			}
		}
		out = append(out, BenefitPoint{t, c.mean(model), c.mean(all)})
	}
	return out, nil
}
