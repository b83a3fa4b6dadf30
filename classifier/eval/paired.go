package eval

import "fmt"

// Difference holds the measures of one set of predictions less those of another on the same rows. Below 0 the first is
// better by log loss and Brier score, above 0 by AUROC.
type Difference struct {
	LogLoss Estimate  `json:"log_loss"`
	Brier   Estimate  `json:"brier"`
	AUROC   *Estimate `json:"auroc,omitempty"` // nil unless both classes occur, each in at least two patients
}

// Compare returns the measures of p less those of q. Standard errors are paired, and count the notes of a patient as
// one; that of AUROC is DeLong's for correlated curves (1988, Biometrics 44(3)) with Obuchowski's clusters (1997,
// Biometrics 53(2)). groups are those of Assess. The cost is O(n log n).
func Compare(y []bool, p, q []float64, groups []string) (*Difference, error) {
	if err := check(y, p, groups); err != nil {
		return nil, err
	}
	if err := check(y, q, groups); err != nil {
		return nil, fmt.Errorf("the other predictions: %w", err)
	}
	c, err := clustersOf(len(y), groups)
	if err != nil {
		return nil, err
	}
	d := &Difference{
		LogLoss: c.mean(minus(Losses(y, p), Losses(y, q))),
		Brier:   c.mean(minus(squares(y, p), squares(y, q))),
	}
	if _, _, err := bothClasses(y); err != nil {
		return d, nil //nolint:nilerr // without both classes AUROC is undefined, and that is all
	}
	first, area := placements(y, p)
	second, other := placements(y, q)
	if variance, ok := placementVariance(y, minus(first, second), area-other, groups); ok {
		e := normal(area-other, variance)
		d.AUROC = &e
	}
	return d, nil
}

// MeanDifference returns the mean of a − b, values of each row, with its paired standard error; groups as for Assess.
func MeanDifference(a, b []float64, groups []string) (Estimate, error) {
	if len(a) != len(b) || groups != nil && len(groups) != len(a) {
		return Estimate{}, fmt.Errorf("%w: %d and %d values, %d groups", ErrShape, len(a), len(b), len(groups))
	}
	c, err := clustersOf(len(a), groups)
	if err != nil {
		return Estimate{}, err
	}
	return c.mean(minus(a, b)), nil
}

func minus(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i, v := range a {
		out[i] = v - b[i]
	}
	return out
}
