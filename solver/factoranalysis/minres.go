package factoranalysis

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/solver/linalg"
)

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
	var only mat.EigenSym
	if !only.Factorize(less(r, e.uniquenesses), false) {
		return nil, linalg.ErrEigen
	}
	return only.Values(nil), nil
}
