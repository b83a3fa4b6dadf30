package eval

import (
	"errors"
	"fmt"
	"math"

	"github.com/wardcast/wardcast/internal/lists"
)

// Errors of the input, wrapped with the row if one is to blame.
var (
	ErrShape       = errors.New("shapes do not fit")
	ErrProbability = errors.New("probability is not in [0,1]")
	ErrOneClass    = errors.New("outcomes of one class only")
	ErrArgument    = errors.New("argument is out of range")
)

// Interval is a two-sided interval.
type Interval struct {
	Low  float64 `json:"low" yaml:"low"`
	High float64 `json:"high" yaml:"high"`
}

// Metrics are the measures of one set of predictions. The JSON names are stable. Undefined measures are nil.
type Metrics struct {
	N          int     `json:"n"`
	Positives  int     `json:"positives"`
	Prevalence float64 `json:"prevalence"`

	// At the threshold: the share of right decisions, of positive rows called positive, of negative rows called
	// negative, of positive calls that are right, and of negative calls that are right.
	Threshold   float64  `json:"threshold"`
	Accuracy    float64  `json:"accuracy"`
	Sensitivity *float64 `json:"sensitivity,omitempty"`
	Specificity *float64 `json:"specificity,omitempty"`
	PPV         *float64 `json:"ppv,omitempty"`
	NPV         *float64 `json:"npv,omitempty"`

	// See AUROC. AUPRC is the average precision
	//
	//	Σ_k (R_k − R_{k−1})·P_k
	//
	// over the distinct probabilities in falling order, with P_k and R_k the precision and recall of calling p ≥ the
	// k-th positive, as in scikit-learn. Tied rows enter together. Uninformative predictions have the prevalence.
	AUROC         *float64  `json:"auroc,omitempty"`
	AUROCInterval *Interval `json:"auroc_95,omitempty"`
	AUPRC         *float64  `json:"auprc,omitempty"`

	// Overall: Brier = Σ(p−y)²/n; BrierScaled = 1 − Brier/(π(1−π)) with π the prevalence (Steyerberg et al. 2010,
	// Epidemiology 21(1)), 1 is perfect, 0 no better than the prevalence; LogLoss = −Σ ln(p if y else 1−p)/n with p
	// clipped to [2⁻⁵², 1−2⁻⁵²], in nats.
	Brier       float64  `json:"brier"`
	BrierScaled *float64 `json:"brier_scaled,omitempty"`
	LogLoss     float64  `json:"log_loss"`

	// CalibrationIntercept is a in logit P(y) = a + logit(p): 0 is calibrated, below 0 the predictions are too high.
	// CalibrationSlope is b in logit P(y) = c + b·logit(p): 1 is calibrated, below 1 the predictions are too extreme.
	// It is nil if p separates the classes or is constant. Both are maximum likelihood estimates (Cox 1958, Biometrika
	// 45; Van Calster et al. 2016, J. Clin. Epidemiol. 74), p clipped to [2⁻⁵², 1−2⁻⁵²], at O(n) per Newton step.
	// ObservedExpected is Σy/Σp; 1 is calibrated in the large.
	CalibrationIntercept *float64 `json:"calibration_intercept,omitempty"`
	CalibrationSlope     *float64 `json:"calibration_slope,omitempty"`
	ObservedExpected     *float64 `json:"observed_expected,omitempty"`
}

// probabilityClip keeps logarithms finite: the spacing of float64 at 1, as in scikit-learn's log_loss.
const probabilityClip = 0x1p-52

// Measure returns all measures of the predictions p of the outcomes y, calling p ≥ threshold, any finite number,
// positive. groups are those of AUROC. The cost is O(n log n).
func Measure(y []bool, p []float64, threshold float64, groups []string) (Metrics, error) {
	if err := check(y, p, groups); err != nil {
		return Metrics{}, err
	}
	if math.IsNaN(threshold) || math.IsInf(threshold, 0) {
		return Metrics{}, fmt.Errorf("%w: threshold %v", ErrArgument, threshold)
	}
	n := float64(len(y))
	m := Metrics{N: len(y), Positives: Positives(y), Threshold: threshold}
	var c [2][2]float64 // rows by outcome and call, 1 for positive
	var expected float64
	for i, v := range p {
		c[int(one(y[i]))][int(one(v >= threshold))]++
		expected += v
		m.Brier += square(v - one(y[i]))
		m.LogLoss += noteLoss(y[i], v)
	}
	m.Prevalence = float64(m.Positives) / n
	m.Brier /= n
	m.LogLoss /= n
	m.Accuracy = (c[1][1] + c[0][0]) / n
	m.Sensitivity = share(c[1][1], c[1][0])
	m.Specificity = share(c[0][0], c[0][1])
	m.PPV = share(c[1][1], c[0][1])
	m.NPV = share(c[0][0], c[1][0])
	if expected > 0 {
		m.ObservedExpected = new(float64(m.Positives) / expected)
	}
	if reference := m.Prevalence * (1 - m.Prevalence); reference > 0 {
		m.BrierScaled = new(1 - m.Brier/reference)
	}
	if m.Positives > 0 {
		m.AUPRC = new(averagePrecision(y, p))
	}
	if m.Positives > 0 && m.Positives < m.N {
		area := auroc(y, p, groups)
		m.AUROC, m.AUROCInterval = &area.Value, area.interval()
		x := LogOdds(p)
		m.CalibrationIntercept, m.CalibrationSlope = new(calibrationIntercept(y, x)), calibrationSlope(y, x)
	}
	return m, nil
}

// share returns part/(part+rest), nil for 0/0.
func share(part, rest float64) *float64 {
	if part+rest == 0 {
		return nil
	}
	return new(part / (part + rest))
}

// check is Check, and an error without rows.
func check(y []bool, p []float64, groups []string) error {
	if len(y) == 0 {
		return fmt.Errorf("%w: no outcomes", ErrShape)
	}
	return Check(y, p, groups)
}

// Check returns an error that wraps ErrShape unless there is one probability for each row, and one group for each or
// none; one that wraps ErrProbability unless all are in [0,1].
func Check(y []bool, p []float64, groups []string) error {
	if len(y) != len(p) {
		return fmt.Errorf("%w: %d outcomes, %d probabilities", ErrShape, len(y), len(p))
	}
	if groups != nil && len(groups) != len(y) {
		return fmt.Errorf("%w: %d groups for %d rows", ErrShape, len(groups), len(y))
	}
	for i, v := range p {
		if !(v >= 0 && v <= 1) {
			return fmt.Errorf("%w: %v at row %d", ErrProbability, v, i)
		}
	}
	return nil
}

// one is 1 for a positive outcome, else 0.
func one(y bool) float64 {
	if y {
		return 1
	}
	return 0
}

func square(x float64) float64 { return x * x }

// Positives returns the number of positive outcomes.
func Positives(y []bool) int { return lists.Count(y, func(v bool) bool { return v }) }

// bothClasses returns the numbers of positive and negative outcomes, and ErrOneClass if one of them is 0.
func bothClasses(y []bool) (positives, negatives int, err error) {
	positives = Positives(y)
	negatives = len(y) - positives
	if positives == 0 || negatives == 0 {
		return positives, negatives, fmt.Errorf("%w: %d of %d rows are positive", ErrOneClass, positives, len(y))
	}
	return positives, negatives, nil
}
