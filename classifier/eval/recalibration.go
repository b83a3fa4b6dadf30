package eval

import "github.com/wardcast/wardcast/solver/linalg"

// Recalibration maps a probability p to σ(Intercept + Slope·logit p).
type Recalibration struct {
	Intercept float64 `json:"intercept"`
	Slope     float64 `json:"slope"`
}

// FitRecalibration returns the map of the greatest likelihood (Cox 1958, Biometrika 45), or nil if there is none: one
// class only, p that separates the classes, or p that is constant. Its slope is Metrics.CalibrationSlope; its intercept
// is fitted with it, and so is another than Metrics.CalibrationIntercept.
func FitRecalibration(y []bool, p []float64) (*Recalibration, error) {
	if err := check(y, p, nil); err != nil {
		return nil, err
	}
	fit := recalibrate(y, logits(p))
	if fit == nil {
		return nil, nil
	}
	return &Recalibration{fit.theta[0], fit.theta[1]}, nil
}

// Apply returns the recalibrated probability.
func (r *Recalibration) Apply(p float64) float64 {
	return linalg.Sigmoid(r.Intercept + r.Slope*logit(p))
}
