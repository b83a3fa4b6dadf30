package factoranalysis

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
)

// likelihood is the criterion of maximum likelihood: loadings Λ (p×k) and uniquenesses ψ minimize
//
//	F = log det Σ + tr(Σ⁻¹R) − log det R − p,  Σ = ΛΛᵀ + diag(ψ),  0.005 ≤ ψ ≤ 1,
//
// where (n−1)/2·F is what the log-likelihood of n normal answers lacks of that of R itself (D. N. Lawley and A. E. Maxwell,
// "Factor analysis as a statistical method", 1971). For given ψ the best Λ is known, from the k largest eigenvalues θ of
// Ψ^−½RΨ^−½ and their vectors ω: its column t is Ψ^½·ω_t·√(θ_t−1). Over the others F is Σ(θ − log θ − 1), and for xᵢ = log ψᵢ
//
//	∂F/∂xᵢ = Σ (1−θ_m)·ω_im²
//	∂²F/∂xᵢ∂xⱼ = Σ θ_m·ω_im·ω_jm · Σ ω_im·ω_jm
//	             + Σ Σ_l (1−θ_m)·(θ_l+θ_m)/(θ_l−θ_m)·ω_im·ω_il·ω_jm·ω_jl,  m over the others, l over the k
//
// (K. G. Jöreskog, "Factor analysis by least squares and maximum likelihood methods", 1977). Their parameters are the xᵢ.
// R must be positive definite.
type likelihood struct {
	r *mat.SymDense
	k int
}

func (f likelihood) bounds() (low, high float64) { return math.Log(leastUniqueness), 0 }

// scaled is the eigendecomposition of Ψ^−½RΨ^−½ with values ascending. The last ones, at most k and all above 1, belong to the
// factors; the first, others in number, belong to the residual.
type scaled struct {
	logs    []float64 // x
	roots   []float64 // √ψ
	values  []float64
	vectors *mat.Dense
	k       int
	others  int
}

func (f likelihood) at(logs []float64) (position, error) {
	p := len(logs)
	d := &scaled{logs: logs, roots: make([]float64, p), k: f.k, others: p - f.k}
	for i, x := range logs {
		d.roots[i] = math.Exp(x / 2)
	}
	a := mat.NewSymDense(p, nil)
	for i := range p {
		for j := i; j < p; j++ {
			a.SetSym(i, j, f.r.At(i, j)/(d.roots[i]*d.roots[j]))
		}
	}
	var ok bool
	if d.values, d.vectors, ok = linalg.Eigen(a); !ok {
		return nil, errEigen
	}
	if d.values[0] <= 0 {
		return nil, errSingular
	}
	for d.others < p && d.values[d.others] <= 1 {
		d.others++
	}
	return d, nil
}

func (d *scaled) point() []float64 { return d.logs }

func (d *scaled) objective() float64 {
	var sum float64
	for _, v := range d.values[:d.others] {
		sum += v - 1 - math.Log(v)
	}
	return sum
}

func (d *scaled) gradient() []float64 {
	gradient := make([]float64, len(d.values))
	for i := range gradient {
		for m, u := range d.vectors.RawRowView(i)[:d.others] {
			gradient[i] += (1 - d.values[m]) * u * u
		}
	}
	return gradient
}

// hessians returns the sum of both terms, and the first.
func (d *scaled) hessians(free []int) [2]*mat.Dense {
	tail := linalg.SelectRows(d.vectors, free).Slice(0, len(free), 0, d.others)
	weighted, first, projector := new(mat.Dense), new(mat.Dense), new(mat.Dense)
	weighted.Apply(func(_, m int, v float64) float64 { return v * d.values[m] }, tail)
	first.Mul(weighted, tail.T())
	projector.Mul(tail, tail.T())
	first.MulElem(first, projector)
	full := curvature(d.vectors, free, d.others, func(m, l int) float64 {
		return (1 - d.values[m]) * (d.values[l] + d.values[m]) / (d.values[l] - d.values[m])
	})
	full.Add(full, first)
	return [2]*mat.Dense{full, first}
}

func (d *scaled) solution() *extraction {
	p := len(d.logs)
	e := &extraction{loadings: mat.NewDense(p, d.k, nil), uniquenesses: make([]float64, p)}
	for i, x := range d.logs {
		e.uniquenesses[i] = min(1, max(leastUniqueness, math.Exp(x))) // log and exp may round across a bound
		for t := range d.k {
			e.loadings.Set(i, t, d.roots[i]*d.vectors.At(i, p-1-t)*math.Sqrt(max(0, d.values[p-1-t]-1)))
		}
	}
	return e
}
