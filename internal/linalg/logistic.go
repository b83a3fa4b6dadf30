package linalg

import "math"

// LogisticTo stores σ(mᵢ) = 1/(1+e⁻ᵐ) in dst, which may be m, and returns Σ log(1+eᵐ). No mᵢ overflows: with
// e = exp(−|m|), σ is 1/(1+e) or e/(1+e) by the sign of m, and log(1+eᵐ) is max(m, 0) + log1p(e). NaN stays NaN.
func LogisticTo(dst, m []float64) (softplus float64) {
	dst = dst[:len(m)]
	for i, v := range m {
		e := math.Exp(-math.Abs(v))
		softplus += max(v, 0) + math.Log1p(e)
		if v < 0 {
			dst[i] = e / (1 + e)
		} else {
			dst[i] = 1 / (1 + e)
		}
	}
	return softplus
}
