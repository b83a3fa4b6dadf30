package factoranalysis

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
)

const (
	// leastUniqueness keeps factors from explaining an item completely, as Harman and Fukuda's bound on communalities does.
	// Its value is the usual one.
	leastUniqueness = 0.005

	// maxNewton bounds the updates; a handful is usual.
	maxNewton = 500

	// gradientTol ends the search if no residual on the diagonal of a free item is larger.
	gradientTol = 1e-9

	// roundingTol replaces gradientTol if no step lowers f: f is known to 1e-16, so its minimum is known to about 1e-8.
	roundingTol = 1e-6

	// sufficientDecrease is the share of the promised decrease that a step must keep (Armijo).
	sufficientDecrease = 1e-4
	maxHalvings        = 40

	// gaussRidge makes the approximate Hessian definite.
	gaussRidge = 1e-6
)

// extraction is a factor solution before rotation.
type extraction struct {
	loadings     *mat.Dense // p×k
	uniquenesses []float64
	values       []float64 // eigenvalues of R − diag(ψ), ascending
	converged    bool
}

// minres returns loadings Λ (p×k) and uniquenesses ψ that minimize
//
//	f = ½‖R − ΛΛᵀ − diag(ψ)‖²,  0.005 ≤ ψ ≤ 1.
//
// If no bound is active, the diagonal of the residual is 0 and Λ has the least sum of squared residuals off the diagonal:
// H. H. Harman and W. H. Jones, "Factor analysis by minimizing residuals (minres)", 1966. For given ψ the best Λ is
// known, from the k largest eigenvalues θ of R − diag(ψ) and their vectors u, so that f is ½Σθ² over the others, and
//
//	∂f/∂ψᵢ = −Σ θ_m·u_im²
//	∂²f/∂ψᵢ∂ψⱼ = (Σ u_im·u_jm)² + 2·Σ Σ_l θ_m/(θ_m−θ_l)·u_im·u_il·u_jm·u_jl,  m over the others, l over the k
//
// (K. G. Jöreskog, "Factor analysis by least squares and maximum likelihood methods", 1977). This is minimized by Newton's
// method, over the items whose bound is not active, starting from squared multiple correlations. An update costs p²·(p−k)·k.
func minres(r *mat.SymDense, k int) (*extraction, error) {
	p := r.SymmetricDim()
	at, err := newReduced(r, startUniquenesses(r, k), k)
	if err != nil {
		return nil, err
	}
	e := &extraction{loadings: mat.NewDense(p, k, nil)}
	for range maxNewton {
		gradient := at.gradient()
		free, steepest := unbound(at.psi, gradient)
		if steepest <= gradientTol {
			e.converged = true
			break
		}
		next, err := search(at, r, at.newton(gradient, free), gradient)
		if next == nil && err == nil { // clipping can turn Newton's step uphill, but not the gradient's
			next, err = search(at, r, descent(gradient, free), gradient)
		}
		if err != nil {
			return nil, err
		}
		if next == nil {
			e.converged = steepest <= roundingTol
			break
		}
		at = next
	}
	e.uniquenesses, e.values = at.psi, at.values
	for i := range p {
		for t := range k {
			e.loadings.Set(i, t, at.vectors.At(i, p-1-t)*math.Sqrt(max(0, at.values[p-1-t])))
		}
	}
	return e, nil
}

// ReducedEigenvalues returns the eigenvalues of R − Ψ, ascending, for correlations R, p×p, and the uniquenesses Ψ of a solution
// with k factors, 1 ≤ k < p, by minimum residuals. The cost is that of Fit without correlations and rotation.
func ReducedEigenvalues(r *mat.SymDense, k int) ([]float64, error) {
	e, err := minres(r, k)
	if err != nil {
		return nil, err
	}
	return e.values, nil
}

// startUniquenesses returns (1 − k/2p)/(R⁻¹)ᵢᵢ, Jöreskog's start, or ½ if R has no inverse.
func startUniquenesses(r *mat.SymDense, k int) []float64 {
	p := r.SymmetricDim()
	psi := make([]float64, p)
	var factor mat.Cholesky
	inverse := mat.NewSymDense(p, nil)
	invertible := factor.Factorize(r) && factor.InverseTo(inverse) == nil
	for i := range psi {
		psi[i] = 0.5
		if invertible {
			psi[i] = (1 - float64(k)/float64(2*p)) / inverse.At(i, i)
		}
		psi[i] = clipped(psi[i])
	}
	return psi
}

func clipped(psi float64) float64 { return min(1, max(leastUniqueness, psi)) }

// unbound returns the items whose bound is not active, and the largest derivative among them.
func unbound(psi, gradient []float64) (free []int, steepest float64) {
	for i, g := range gradient {
		if psi[i] <= leastUniqueness && g >= 0 || psi[i] >= 1 && g <= 0 {
			continue
		}
		free, steepest = append(free, i), max(steepest, math.Abs(g))
	}
	return free, steepest
}

// descent returns −g on the free items, 0 on the others.
func descent(gradient []float64, free []int) []float64 {
	step := make([]float64, len(gradient))
	for _, i := range free {
		step[i] = -gradient[i]
	}
	return step
}

// search returns the first of ψ + step, ψ + step/2 …, each clipped to the bounds, that lowers f enough, or nil.
func search(at *reduced, r *mat.SymDense, step, gradient []float64) (*reduced, error) {
	length, start := 1.0, at.objective()
	for range maxHalvings {
		next, promised := make([]float64, len(step)), 0.0
		for i, psi := range at.psi {
			next[i] = clipped(psi + length*step[i])
			promised += gradient[i] * (next[i] - psi)
		}
		length /= 2
		if promised >= 0 {
			continue
		}
		there, err := newReduced(r, next, at.k)
		if err != nil || there.objective() < start+sufficientDecrease*promised {
			return there, err
		}
	}
	return nil, nil
}

// reduced is the eigendecomposition of R − diag(ψ) with values ascending. The last ones, at most k and all positive, belong to the
// factors; the first, others in number, belong to the residual.
type reduced struct {
	psi     []float64
	values  []float64
	vectors *mat.Dense
	k       int
	others  int
}

func newReduced(r *mat.SymDense, psi []float64, k int) (*reduced, error) {
	a := mat.NewSymDense(len(psi), nil)
	a.CopySym(r)
	for i, v := range psi {
		a.SetSym(i, i, r.At(i, i)-v)
	}
	values, vectors, ok := linalg.Eigen(a)
	if !ok {
		return nil, errEigen
	}
	d := &reduced{psi: psi, values: values, vectors: vectors, k: k, others: len(psi) - k}
	for d.others < len(psi) && values[d.others] <= 0 {
		d.others++
	}
	return d, nil
}

func (d *reduced) objective() float64 {
	var sum float64
	for _, v := range d.values[:d.others] {
		sum += v * v
	}
	return sum / 2
}

func (d *reduced) gradient() []float64 {
	gradient := make([]float64, len(d.values))
	for i := range gradient {
		for m, u := range d.vectors.RawRowView(i)[:d.others] {
			gradient[i] -= d.values[m] * u * u
		}
	}
	return gradient
}

// newton returns the step −H⁻¹g on the free items, 0 on the others. If H is not positive definite, its first term with a
// ridge takes its place, which is at least semidefinite.
func (d *reduced) newton(gradient []float64, free []int) []float64 {
	p := len(d.values)
	u := mat.NewDense(len(free), p, nil)
	for a, i := range free {
		u.SetRow(a, d.vectors.RawRowView(i))
	}
	tail := u.Slice(0, len(free), 0, d.others)
	var gauss, hessian, product, weighted mat.Dense
	gauss.Mul(tail, tail.T())
	gauss.MulElem(&gauss, &gauss)
	hessian.CloneFrom(&gauss)
	for l := d.others; l < p; l++ {
		weighted.Apply(func(_, m int, v float64) float64 { return v * 2 * d.values[m] / (d.values[m] - d.values[l]) }, tail)
		product.Mul(&weighted, tail.T())
		for a := range free {
			row, add := hessian.RawRowView(a), product.RawRowView(a)
			for b := range row {
				row[b] += add[b] * u.At(a, l) * u.At(b, l)
			}
		}
	}
	g := mat.NewVecDense(len(free), nil)
	for a, i := range free {
		g.SetVec(a, -gradient[i])
	}
	ridge := make([]float64, len(free))
	for _, h := range []*mat.Dense{&hessian, &gauss} {
		var factor mat.Cholesky
		var solution mat.VecDense
		if factor.Factorize(symmetric(h, ridge)) && factor.SolveVecTo(&solution, g) == nil {
			step := make([]float64, p)
			for a, i := range free {
				step[i] = solution.AtVec(a)
			}
			return step
		}
		floats.AddConst(gaussRidge, ridge)
	}
	return descent(gradient, free)
}

// symmetric returns the symmetric matrix of the upper triangle of a, with ridge added to its diagonal.
func symmetric(a *mat.Dense, ridge []float64) *mat.SymDense {
	n, _ := a.Dims()
	s := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			s.SetSym(i, j, a.At(i, j))
		}
		s.SetSym(i, i, a.At(i, i)+ridge[i])
	}
	return s
}
