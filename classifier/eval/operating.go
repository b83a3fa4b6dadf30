package eval

import "fmt"

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
	if err := check(y, p, groups); err != nil {
		return nil, err
	}
	c, err := clustersOf(len(y), groups)
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

// BenefitPoint is one point of a decision curve with its interval.
type BenefitPoint struct {
	Threshold float64  `json:"threshold"`
	Model     Estimate `json:"model"`
	TreatAll  Estimate `json:"treat_all"`
}

// DecisionIntervals returns the points of DecisionCurve with 95 % intervals by patient. groups are those of Assess.
func DecisionIntervals(y []bool, p, thresholds []float64, groups []string) ([]BenefitPoint, error) {
	curve, err := DecisionCurve(y, p, thresholds)
	if err != nil {
		return nil, err
	}
	if err := check(y, p, groups); err != nil {
		return nil, err
	}
	c, err := clustersOf(len(y), groups)
	if err != nil {
		return nil, err
	}
	out := make([]BenefitPoint, 0, len(curve))
	model, all := make([]float64, len(y)), make([]float64, len(y))
	for _, at := range curve {
		odds := at.Threshold / (1 - at.Threshold)
		for i, v := range p {
			all[i], model[i] = -odds, 0
			if y[i] {
				all[i] = 1
			}
			if v >= at.Threshold {
				model[i] = all[i]
			}
		}
		out = append(out, BenefitPoint{at.Threshold, c.mean(model), c.mean(all)})
	}
	return out, nil
}
