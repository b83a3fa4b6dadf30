package linalg

import "math"

// logisticBlock is the number of softplus terms in one partial sum. Partial sums bound the rounding of a long sum.
const logisticBlock = 512

// LogisticTo stores σ(mᵢ) = 1/(1+e⁻ᵐ) in dst, which may be m, and returns Σ log(1+eᵐ). No mᵢ overflows: with
// e = exp(−|m|), σ is 1/(1+e) or e/(1+e) by the sign of m, and log(1+eᵐ) is max(m, 0) + log1p(e). NaN stays NaN.
//
// σ and each term of the sum are within 4 units in the last place, even if they are subnormal.
func LogisticTo(dst, m []float64) (softplus float64) {
	return best.logisticTo(dst[:len(m)], m)
}

func (l *kernels) logisticTo(dst, m []float64) (softplus float64) {
	for len(m) > 0 {
		n := min(logisticBlock, len(m))
		softplus += l.logisticBlock(dst[:n], m[:n])
		dst, m = dst[n:], m[n:]
	}
	return softplus
}

func (l *kernels) logisticBlock(dst, m []float64) (softplus float64) {
	if l.lanes == 0 {
		return logisticGo(dst, m)
	}
	n := len(m) / groupSize * groupSize
	if n > 0 {
		softplus = l.logistic(n, &dst[0], &m[0])
	}
	if n < len(m) {
		// The rest of a last group is −∞, whose softplus is 0.
		last := borrow(groupSize)
		defer buffers.Put(last)
		for i := copy(*last, m[n:]); i < groupSize; i++ {
			(*last)[i] = math.Inf(-1)
		}
		softplus += l.logistic(groupSize, &(*last)[0], &(*last)[0])
		copy(dst[n:], *last)
	}
	return softplus
}

func logisticGo(dst, m []float64) (softplus float64) {
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

// Sigmoid returns 1/(1+e⁻ˣ). It is 0 below −710, because e⁻ˣ overflows there: a stable formula would change the last
// bits of what is fitted.
func Sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// Softplus returns log(1+eˣ) without overflow.
func Softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }
