package factoranalysis

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Extraction is the criterion that the unrotated factors minimize.
type Extraction string

// The extractions.
const (
	// Minres minimizes the sum of squared residual correlations, see Fit.
	Minres Extraction = "minres"
	// MaximumLikelihood maximizes the likelihood of normally distributed answers with these correlations, see Fit.
	MaximumLikelihood Extraction = "ml"
)

// LeastUniqueness keeps factors from explaining an item completely, like Harman and Fukuda's bound on communalities.
// The value is the usual one.
const LeastUniqueness = 0.005

const (
	// maxNewton bounds the updates; a handful is usual.
	maxNewton = 500

	// gradientTol ends the search if no derivative of a free item is larger.
	gradientTol = 1e-9

	// roundingTol replaces gradientTol if no step lowers f: f is exact to 1e-16, so its minimum to about 1e-8.
	roundingTol = 1e-6

	// sufficientDecrease is the share of the promised decrease that a step must keep (Armijo).
	sufficientDecrease = 1e-4
	maxHalvings        = 40
	// rounding is the relative rounding error of f, a sum of up to p² terms.
	rounding = 1e-14

	// gaussRidge makes the approximate Hessian definite.
	gaussRidge = 1e-6
)

// extraction is a factor solution before rotation.
type extraction struct {
	loadings     *mat.Dense // p×k
	uniquenesses []float64
	converged    bool
}

// criterion is a function f of p parameters, one for each item, within bounds.
type criterion interface {
	// at evaluates f and its derivatives.
	at(point []float64) (position, error)
	// bounds returns the least and the greatest value of a parameter.
	bounds() (low, high float64)
}

// position is a criterion at a point.
type position interface {
	point() []float64
	objective() float64
	gradient() []float64
	// hessians returns the second derivatives of the free items, and a semidefinite approximation.
	hessians(free []int) [2]*mat.Dense
	solution() *extraction
}

// spectrum is the eigendecomposition of a symmetric matrix at a point, values ascending. The last, at most k and above
// a bound, belong to the factors; the first, others in number, to the residual.
type spectrum struct {
	parameters []float64 // the point
	k          int
	values     []float64
	vectors    *mat.Dense
	others     int
}

func newSpectrum(a *mat.SymDense, point []float64, k int, bound float64) (*spectrum, error) {
	values, vectors, ok := linalg.Eigen(a)
	if !ok {
		return nil, linalg.ErrEigen
	}
	d := &spectrum{parameters: point, k: k, values: values, vectors: vectors, others: len(values) - k}
	for d.others < len(values) && values[d.others] <= bound {
		d.others++
	}
	return d, nil
}

func (d *spectrum) point() []float64 { return d.parameters }

// slope returns Σ w(θ_m)·u_im² over the residual, for each item i.
func (d *spectrum) slope(w func(value float64) float64) []float64 {
	gradient := make([]float64, len(d.values))
	for i := range gradient {
		for m, u := range d.vectors.RawRowView(i)[:d.others] {
			gradient[i] += w(d.values[m]) * u * u
		}
	}
	return gradient
}

// loadings returns √⟨θ − above⟩₊·u in each of the k columns.
func (d *spectrum) loadings(above float64) *mat.Dense {
	p := len(d.values)
	loadings := mat.NewDense(p, d.k, nil)
	for i := range p {
		for t := range d.k {
			loadings.Set(i, t, d.vectors.At(i, p-1-t)*math.Sqrt(max(0, d.values[p-1-t]-above)))
		}
	}
	return loadings
}

// extract returns k factors of the correlations R, p×p.
func extract(ctx context.Context, r *mat.SymDense, k int, by Extraction) (*extraction, error) {
	return extractFrom(ctx, r, k, by, startUniquenesses(r, k))
}

// extractFrom is extract with a search that begins at these uniquenesses.
func extractFrom(ctx context.Context, r *mat.SymDense, k int, by Extraction, from []float64) (*extraction, error) {
	start := slices.Clone(from)
	if by == MaximumLikelihood {
		for i, psi := range start {
			start[i] = math.Log(psi)
		}
		var factor mat.Cholesky
		if !factor.Factorize(r) {
			return nil, ErrSingular
		}
		return minimize(ctx, &likelihood{r: r, k: k, logDet: factor.LogDet()}, start)
	}
	return minimize(ctx, &residuals{r: r, k: k}, start)
}

// startUniquenesses returns (1 − k/2p)/(R⁻¹)ᵢᵢ, Jöreskog's start, or ½ if R has no inverse.
func startUniquenesses(r *mat.SymDense, k int) []float64 {
	p := r.SymmetricDim()
	psi, inverse := make([]float64, p), linalg.Inverse(r)
	for i := range psi {
		psi[i] = 0.5
		if inverse != nil {
			psi[i] = (1 - float64(k)/float64(2*p)) / inverse.At(i, i)
		}
		psi[i] = min(1, max(LeastUniqueness, psi[i]))
	}
	return psi
}

// minimize returns the minimum of f by Newton's method over the items whose bound is not active, or the cause of ctx.
func minimize(ctx context.Context, f criterion, start []float64) (*extraction, error) {
	at, err := f.at(start)
	if err != nil {
		return nil, err
	}
	converged := false
	for range maxNewton {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		gradient := at.gradient()
		free, steepest := unbound(f, at.point(), gradient)
		if converged = steepest <= gradientTol; converged {
			break
		}
		next, err := search(f, at, newton(at, gradient, free), gradient)
		if next == nil && err == nil { // clipping can turn Newton's step uphill, but not the gradient's
			next, err = search(f, at, descent(gradient, free), gradient)
		}
		if err != nil {
			return nil, err
		}
		if next == nil {
			converged = steepest <= roundingTol
			break
		}
		at = next
	}
	e := at.solution()
	e.converged = converged
	return e, nil
}

// unbound returns the items whose bound is not active, and the largest derivative among them.
func unbound(f criterion, point, gradient []float64) (free []int, steepest float64) {
	low, high := f.bounds()
	for i, g := range gradient {
		if point[i] <= low && g >= 0 || point[i] >= high && g <= 0 {
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

// search returns f at the first of x + step, x + step/2 …, each clipped to the bounds, that lowers f enough, or nil. A
// change of f below its rounding error is ignored: the largest derivative must then fall.
func search(f criterion, at position, step, gradient []float64) (position, error) {
	length, start := 1.0, at.objective()
	low, high := f.bounds()
	for range maxHalvings {
		next, promised := make([]float64, len(step)), 0.0
		for i, x := range at.point() {
			next[i] = min(high, max(low, x+length*step[i]))
			promised += gradient[i] * (next[i] - x)
		}
		length /= 2
		if promised >= 0 {
			continue
		}
		there, err := f.at(next)
		if err != nil || there.objective() < start+sufficientDecrease*promised {
			return there, err
		}
		if -promised <= rounding*math.Abs(start) {
			_, before := unbound(f, at.point(), gradient)
			if _, after := unbound(f, next, there.gradient()); after < before {
				return there, nil
			}
			break
		}
	}
	return nil, nil
}

// newton returns the step −H⁻¹g on the free items, 0 on the others, with an approximation of H if it is not definite.
func newton(at position, gradient []float64, free []int) []float64 {
	g := mat.NewVecDense(len(free), nil)
	for a, i := range free {
		g.SetVec(a, -gradient[i])
	}
	ridge := make([]float64, len(free))
	for e, h := range at.hessians(free) {
		for a := range ridge {
			ridge[a] = float64(e) * gaussRidge
		}
		var factor mat.Cholesky
		var solution mat.VecDense
		if factor.Factorize(symmetric(h, ridge)) && factor.SolveVecTo(&solution, g) == nil {
			step := make([]float64, len(gradient))
			for a, i := range free {
				step[i] = solution.AtVec(a)
			}
			return step
		}
	}
	return descent(gradient, free)
}

// curvature returns the matrix of Σ_m Σ_l w(m, l)·u_im·u_il·u_jm·u_jl over the first others and over the last columns
// of vectors, i and j the free items. The cost is p²·(p−k)·k.
func curvature(vectors *mat.Dense, free []int, others int, w func(m, l int) float64) *mat.Dense {
	_, p := vectors.Dims()
	u := linalg.SelectRows(vectors, free)
	tail := u.Slice(0, len(free), 0, others)
	right := mat.DenseCopyOf(tail.T())
	sum, product, weighted := mat.NewDense(len(free), len(free), nil),
		mat.NewDense(len(free), len(free), nil), new(mat.Dense)
	for l := others; l < p; l++ {
		weighted.Apply(func(_, m int, v float64) float64 { return v * w(m, l) }, tail)
		single.MulTo(product, weighted, right)
		for a := range free {
			row, add := sum.RawRowView(a), product.RawRowView(a)
			for b := range row {
				row[b] += add[b] * u.At(a, l) * u.At(b, l)
			}
		}
	}
	return sum
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

// residuals is the criterion of minimum residuals: loadings Λ (p×k) and uniquenesses ψ minimize
//
//	f = ½‖R − ΛΛᵀ − diag(ψ)‖²,  0.005 ≤ ψ ≤ 1.
//
// If no bound is active, the diagonal of the residual is 0 and Λ has the least sum of squared residuals off the
// diagonal: H. H. Harman and W. H. Jones, "Factor analysis by minimizing residuals (minres)", 1966. For given ψ the
// best Λ is known, from the k largest eigenvalues θ of R − diag(ψ) and their vectors u, so that f is ½Σθ² over the
// others, and
//
//	∂f/∂ψᵢ = −Σ θ_m·u_im²
//	∂²f/∂ψᵢ∂ψⱼ = (Σ u_im·u_jm)² + 2·Σ Σ_l θ_m/(θ_m−θ_l)·u_im·u_il·u_jm·u_jl,  m over the others, l over the k
//
// (K. G. Jöreskog, "Factor analysis by least squares and maximum likelihood methods", 1977).
//
// With many items, only the k eigenvalues are computed. The first term is then exact, and the sum over m is that of θ_m
// alone divided by −θ_l, its first order: residual eigenvalues are small next to those of the factors.
type residuals struct {
	r *mat.SymDense
	k int

	start *mat.Dense // of the search for eigenvalues
}

func (f *residuals) bounds() (low, high float64) { return LeastUniqueness, 1 }

// reduced is the spectrum of R − diag(ψ), with positive values for the factors.
type reduced struct{ *spectrum }

func (f *residuals) at(psi []float64) (position, error) {
	a := less(f.r, psi)
	if manyItems(len(psi), f.k) {
		d, err := newLeading(a, psi, f.k, 0, &f.start)
		return reducedLeading{d}, err
	}
	return f.whole(a, psi)
}

// less returns R − diag(ψ).
func less(r *mat.SymDense, psi []float64) *mat.SymDense {
	a := mat.NewSymDense(len(psi), nil)
	a.CopySym(r)
	for i, v := range psi {
		a.SetSym(i, i, r.At(i, i)-v)
	}
	return a
}

// whole is at with all eigenvalues of R − diag(ψ).
func (f *residuals) whole(a *mat.SymDense, psi []float64) (position, error) {
	d, err := newSpectrum(a, psi, f.k, 0)
	return reduced{d}, err
}

func (d reduced) objective() float64 {
	var sum float64
	for _, v := range d.values[:d.others] {
		sum += v * v
	}
	return sum / 2
}

func (d reduced) gradient() []float64 { return d.slope(func(v float64) float64 { return -v }) }

// hessians returns the sum of both terms, and the first.
func (d reduced) hessians(free []int) [2]*mat.Dense {
	tail := linalg.SelectRows(d.vectors, free).Slice(0, len(free), 0, d.others)
	gauss := new(mat.Dense)
	gauss.Mul(tail, tail.T())
	gauss.MulElem(gauss, gauss)
	full := curvature(d.vectors, free, d.others,
		func(m, l int) float64 { return 2 * d.values[m] / (d.values[m] - d.values[l]) })
	full.Add(full, gauss)
	return [2]*mat.Dense{full, gauss}
}

func (d reduced) solution() *extraction {
	return &extraction{loadings: d.loadings(0), uniquenesses: d.parameters}
}

// reducedLeading are the k largest eigenvalues of R − diag(ψ) if they are positive.
type reducedLeading struct{ *leading }

func (d reducedLeading) objective() float64 {
	norm := mat.Norm(d.rest, 2)
	return norm * norm / 2
}

func (d reducedLeading) gradient() []float64 {
	return lists.Make(len(d.parameters), func(i int) float64 { return -d.rest.At(i, i) })
}

func (d reducedLeading) hessians(free []int) [2]*mat.Dense {
	gauss, full := submatrix(d.projector(), free),
		submatrix(d.weighted(func(l int) float64 { return -2 / d.values[l] }), free)
	gauss.MulElem(gauss, gauss)
	full.MulElem(full, submatrix(d.rest, free))
	full.Add(full, gauss)
	return [2]*mat.Dense{full, gauss}
}

func (d reducedLeading) solution() *extraction {
	return &extraction{loadings: d.loadings(math.Sqrt), uniquenesses: d.parameters}
}

// ReducedEigenvalues returns the eigenvalues of R − Ψ, ascending, for correlations R, p×p, and the uniquenesses Ψ of a
// solution with k factors, 1 ≤ k < p, by minimum residuals. The cost is that of Fit without correlations and rotation.
// When ctx ends, its cause is returned.
func ReducedEigenvalues(ctx context.Context, r *mat.SymDense, k int) ([]float64, error) {
	e, err := extract(ctx, r, k, Minres)
	if err != nil {
		return nil, err
	}
	return linalg.Eigenvalues(less(r, e.uniquenesses))
}
