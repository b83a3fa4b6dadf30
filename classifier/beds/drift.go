package beds

import (
	"math"
	"time"
)

// The visits of which the drift is learned, and the standard deviation that it is expected to have.
const (
	driftYoungest = 24 * time.Hour
	driftOldest   = 29 * 24 * time.Hour
	driftScale    = 0.15
)

// drift returns the δ that maximises
//
//	Σ w·log-likelihood(admitted; σ(L+δ)) − δ²/(2·0.15²)
//
// over the decided visits that arrived 1 to 29 days before t, where L is the log-odds of their probability and w halves
// in 10 days. By Newton's method; the function is strictly concave.
func drift(past []Visit, t time.Time) float64 {
	delta := 0.0
	const most, enough = 50, 1e-12
	for range most {
		slope, curvature := -delta/(driftScale*driftScale), 1/(driftScale*driftScale)
		for i := range past {
			v := &past[i]
			age := t.Sub(v.Arrived)
			if v.Decided.IsZero() || age < driftYoungest || age > driftOldest || v.P <= 0 || v.P >= 1 {
				continue
			}
			w, p := weight(age), shifted(v.P, delta)
			y := 0.0
			if v.Admitted {
				y = 1
			}
			slope += w * (y - p)
			curvature += w * p * (1 - p)
		}
		step := slope / curvature
		delta += step
		if math.Abs(step) < enough {
			break
		}
	}
	return delta
}

// shifted returns σ(logit p + δ).
func shifted(p, delta float64) float64 {
	e := math.Exp(delta)
	return p * e / (p*e + 1 - p)
}

// sensitivity returns c = Σp(1−p)/Σp: the relative change of the admissions with the patients' log-odds.
func sensitivity(visits []Visit) float64 {
	var change, sum float64
	for i := range visits {
		p := visits[i].P
		change, sum = change+p*(1-p), sum+p
	}
	if sum == 0 {
		return 1
	}
	return change / sum
}
