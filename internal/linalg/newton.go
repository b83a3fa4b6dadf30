package linalg

// Newton minimizes a convex function of a few unknowns θ by Newton's method with halved steps. It is for logistic regressions of
// one or a few coefficients.
type Newton struct {
	// Loss returns the function at θ.
	Loss func(theta []float64) float64
	// Step stores Newton's step at θ and reports whether there is one: the Hessian may be singular.
	Step func(step, theta []float64) bool
	// Done reports whether a step that was taken to θ is the last one.
	Done func(step, theta []float64) bool
	// Rounding is the share of the loss by which it may rise, for sums of so many terms that they are not known better.
	Rounding float64
	// Shortest is the share of a step below which it is not halved any more.
	Shortest float64
}

// maxNewtonSteps is far above what convex problems of a few unknowns take: under ten.
const maxNewtonSteps = 100

// Minimize moves θ to the minimum. It reports false if there is no step, or after 100 of them. A step that does not lower the loss
// however often it is halved is the end, since then no more than rounding is left to gain.
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
				for i := range step {
					step[i] *= size
				}
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
