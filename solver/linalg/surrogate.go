package linalg

// Surrogate is a step of an ADMM. A matrix R of fits should be near the answers m, some of them missing, and within
// their range. For each cell, with a multiplier a,
//
//	z = (m + ρ·r − a)/(1+ρ), or (ρ·r − a)/ρ if m is missing, cut to [Low, High]; a ← a + ρ·(z − r).
type Surrogate struct {
	// Rho is ρ > 0.
	Rho float64
	// Low and High are the range.
	Low, High float64
}

// Step makes the step for all cells; NaN is a missing answer. It replaces r by z + a/ρ with the new a, and returns the
// sum of (m − r)² over the answers that are not missing. If the fit or the multiplier of a cell is NaN, both become
// NaN. The slices have the same length.
func (s *Surrogate) Step(answers, fit, multipliers []float64) (squared float64) {
	return best.step(s, answers, fit, multipliers)
}

func (l *kernels) step(s *Surrogate, answers, fit, multipliers []float64) (squared float64) {
	fit, multipliers = fit[:len(answers)], multipliers[:len(answers)]
	n := 0
	if l.lanes > 0 {
		constants := [...]float64{s.Rho, 1 / (1 + s.Rho), 1 / s.Rho, s.Low, s.High}
		for rest := len(answers) / groupSize * groupSize; n < rest; {
			count := min(rest-n, maxEntries)
			squared += l.surrogate(count, &answers[n], &fit[n], &multipliers[n], &constants[0])
			n += count
		}
	}
	return squared + s.stepGo(answers[n:], fit[n:], multipliers[n:])
}

func (s *Surrogate) stepGo(answers, fit, multipliers []float64) (squared float64) {
	seen, unseen := 1/(1+s.Rho), 1/s.Rho
	for j, m := range answers {
		r, a := fit[j], multipliers[j]
		z, inverse := s.Rho*r-a, unseen
		if m == m {
			squared += (m - r) * (m - r)
			z, inverse = z+m, seen
		}
		z = min(max(z*inverse, s.Low), s.High)
		a += s.Rho * (z - r)
		multipliers[j] = a
		fit[j] = z + a*unseen
	}
	return squared
}
