package linalg

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// Newton minimizes a smooth function of unknowns θ by Newton's method, or one like it, with halved steps: the minimum
// of a convex function, of others one near the start.
type Newton struct {
	// Loss returns the function at θ.
	Loss func(theta []float64) float64
	// Step stores Newton's step at θ. It reports false if there is none because the Hessian is singular.
	Step func(step, theta []float64) bool
	// Done reports whether the step that led to θ was the last.
	Done func(step, theta []float64) bool
	// Rounding is the share by which the loss may rise in a step: the rounding error of a sum of many terms.
	Rounding float64
	// Shortest is the share of a step below which the step is no longer halved.
	Shortest float64
}

// maxNewtonSteps is far above the steps that convex problems of a few unknowns need: under ten.
const maxNewtonSteps = 100

// Minimize moves θ to the minimum. It reports false if there is no step, or after 100 steps. If no halving of a step
// lowers the loss, the search is over: only rounding is left to gain.
func (n *Newton) Minimize(theta []float64) (converged bool) {
	step, next := make([]float64, len(theta)), make([]float64, len(theta))
	current := n.Loss(theta)
	for range maxNewtonSteps {
		if !n.Step(step, theta) {
			return false
		}
		for size := 1.0; ; size /= 2 {
			if size <= n.Shortest {
				return true
			}
			for i, v := range theta {
				next[i] = v + size*step[i]
			}
			if loss := n.Loss(next); loss <= current+n.Rounding*math.Abs(current) {
				floats.Scale(size, step)
				copy(theta, next)
				current = loss
				break
			}
		}
		if n.Done(step, theta) {
			return true
		}
	}
	return false
}

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
