package factoranalysis

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
)

// residuals is the criterion of minimum residuals: loadings Λ (p×k) and uniquenesses ψ minimize
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
// (K. G. Jöreskog, "Factor analysis by least squares and maximum likelihood methods", 1977).
type residuals struct {
	r *mat.SymDense
	k int
}

func (f residuals) bounds() (low, high float64) { return leastUniqueness, 1 }

// reduced is the eigendecomposition of R − diag(ψ) with values ascending. The last ones, at most k and all positive, belong to the
// factors; the first, others in number, belong to the residual.
type reduced struct {
	psi     []float64
	values  []float64
	vectors *mat.Dense
	k       int
	others  int
}

func (f residuals) at(psi []float64) (position, error) {
	a := mat.NewSymDense(len(psi), nil)
	a.CopySym(f.r)
	for i, v := range psi {
		a.SetSym(i, i, f.r.At(i, i)-v)
	}
	values, vectors, ok := linalg.Eigen(a)
	if !ok {
		return nil, errEigen
	}
	d := &reduced{psi: psi, values: values, vectors: vectors, k: f.k, others: len(psi) - f.k}
	for d.others < len(psi) && values[d.others] <= 0 {
		d.others++
	}
	return d, nil
}

func (d *reduced) point() []float64 { return d.psi }

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

// hessians returns the sum of both terms, and the first.
func (d *reduced) hessians(free []int) [2]*mat.Dense {
	tail := linalg.SelectRows(d.vectors, free).Slice(0, len(free), 0, d.others)
	gauss := new(mat.Dense)
	gauss.Mul(tail, tail.T())
	gauss.MulElem(gauss, gauss)
	full := curvature(d.vectors, free, d.others, func(m, l int) float64 { return 2 * d.values[m] / (d.values[m] - d.values[l]) })
	full.Add(full, gauss)
	return [2]*mat.Dense{full, gauss}
}

func (d *reduced) solution() *extraction {
	p := len(d.psi)
	e := &extraction{loadings: mat.NewDense(p, d.k, nil), uniquenesses: d.psi, values: d.values}
	for i := range p {
		for t := range d.k {
			e.loadings.Set(i, t, d.vectors.At(i, p-1-t)*math.Sqrt(max(0, d.values[p-1-t])))
		}
	}
	return e
}

// ReducedEigenvalues returns the eigenvalues of R − Ψ, ascending, for correlations R, p×p, and the uniquenesses Ψ of a solution
// with k factors, 1 ≤ k < p, by minimum residuals. The cost is that of Fit without correlations and rotation. When ctx ends, its
// cause is returned.
func ReducedEigenvalues(ctx context.Context, r *mat.SymDense, k int) ([]float64, error) {
	e, err := extract(ctx, r, k, Minres)
	if err != nil {
		return nil, err
	}
	return e.values, nil
}
