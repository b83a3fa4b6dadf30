package linalg

import "gonum.org/v1/gonum/floats"

// Newton minimizes a convex function of a few unknowns θ by Newton's method with halved steps. It is for logistic
// regressions with one or a few coefficients.
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
			if loss := n.Loss(next); loss <= current*(1+n.Rounding) {
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
