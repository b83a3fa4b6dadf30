package factoranalysis

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/linalg"
)

// likelihood is the criterion of maximum likelihood: loadings Λ (p×k) and uniquenesses ψ minimize
//
//	F = log det Σ + tr(Σ⁻¹R) − log det R − p,  Σ = ΛΛᵀ + diag(ψ),  0.005 ≤ ψ ≤ 1,
//
// where (n−1)/2·F is the difference between the log-likelihood of n normal answers under R and under Σ (D. N. Lawley
// and A. E. Maxwell, "Factor analysis as a statistical method", 1971). For given ψ the best Λ is known, from the k
// largest eigenvalues θ of Ψ^−½RΨ^−½ and their vectors ω: its column t is Ψ^½·ω_t·√(θ_t−1). Over the others F is Σ(θ −
// log θ − 1), and for xᵢ = log ψᵢ
//
//	∂F/∂xᵢ = Σ (1−θ_m)·ω_im²
//	∂²F/∂xᵢ∂xⱼ = Σ θ_m·ω_im·ω_jm · Σ ω_im·ω_jm
//	             + Σ Σ_l (1−θ_m)·(θ_l+θ_m)/(θ_l−θ_m)·ω_im·ω_il·ω_jm·ω_jl,  m over the others, l over the k
//
// (K. G. Jöreskog, "Factor analysis by least squares and maximum likelihood methods", 1977). Their parameters are the
// xᵢ. R must be positive definite.
//
// With many items, only the k eigenvalues are computed, and (θ_l+θ_m)/(θ_l−θ_m) is 1, its limit for large θ_l.
type likelihood struct {
	r      *mat.SymDense
	k      int
	logDet float64 // log det R

	start *mat.Dense // of the search for eigenvalues
}

func (f *likelihood) bounds() (low, high float64) { return math.Log(LeastUniqueness), 0 }

// scaled is the spectrum of Ψ^−½RΨ^−½, with values above 1 for the factors.
type scaled struct{ *spectrum }

func (f *likelihood) at(logs []float64) (position, error) {
	a := f.scaled(logs)
	if manyItems(len(logs), f.k) {
		d, err := newLeading(a, logs, f.k, 1, &f.start)
		return scaledLeading{d, f.logDet}, err
	}
	return f.whole(a, logs)
}

// scaled returns Ψ^−½RΨ^−½.
func (f *likelihood) scaled(logs []float64) *mat.SymDense {
	p := len(logs)
	a, roots := mat.NewSymDense(p, nil), make([]float64, p)
	for i, x := range logs {
		roots[i] = math.Exp(x / 2)
		for j := range i + 1 {
			a.SetSym(i, j, f.r.At(i, j)/(roots[i]*roots[j]))
		}
	}
	return a
}

// whole is at with all eigenvalues.
func (f *likelihood) whole(a *mat.SymDense, logs []float64) (position, error) {
	d, err := newSpectrum(a, logs, f.k, 1)
	if err == nil && d.values[0] <= 0 {
		err = ErrSingular
	}
	return scaled{d}, err
}

func (d scaled) objective() float64 {
	var sum float64
	for _, v := range d.values[:d.others] {
		sum += v - 1 - math.Log(v)
	}
	return sum
}

func (d scaled) gradient() []float64 { return d.slope(func(v float64) float64 { return 1 - v }) }

// hessians returns the sum of both terms, and the first.
func (d scaled) hessians(free []int) [2]*mat.Dense {
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

func (d scaled) solution() *extraction { return unscaled(d.loadings(1), d.parameters) }

// unscaled returns the solution for these loadings times Ψ^½.
func unscaled(loadings *mat.Dense, logs []float64) *extraction {
	e := &extraction{loadings: loadings, uniquenesses: make([]float64, len(logs))}
	for i, x := range logs {
		if e.uniquenesses[i] = math.Exp(x); x <= math.Log(LeastUniqueness) {
			e.uniquenesses[i] = LeastUniqueness // exp may round across the bound
		}
		floats.Scale(math.Exp(x/2), loadings.RawRowView(i))
	}
	return e
}

// scaledLeading are the k largest eigenvalues of Ψ^−½RΨ^−½ if they are above 1.
type scaledLeading struct {
	*leading
	logDet float64
}

func (d scaledLeading) objective() float64 {
	logs := d.logDet - floats.Sum(d.parameters) // of all eigenvalues
	for _, v := range d.values {
		logs -= math.Log(v)
	}
	return mat.Trace(d.rest) - logs - float64(len(d.parameters)-len(d.values))
}

func (d scaledLeading) gradient() []float64 {
	gradient := make([]float64, len(d.parameters))
	for i := range gradient {
		gradient[i] = 1 - d.rest.At(i, i)
		for l := range d.values {
			gradient[i] -= d.vectors.At(l, i) * d.vectors.At(l, i)
		}
	}
	return gradient
}

func (d scaledLeading) hessians(free []int) [2]*mat.Dense {
	rest, projector := submatrix(d.rest, free), submatrix(d.projector(), free)
	first, full := new(mat.Dense), new(mat.Dense)
	first.MulElem(rest, projector)
	full.Sub(projector, rest)
	full.MulElem(full, submatrix(d.weighted(func(int) float64 { return 1 }), free))
	full.Add(full, first)
	return [2]*mat.Dense{full, first}
}

func (d scaledLeading) solution() *extraction {
	return unscaled(d.loadings(func(v float64) float64 { return math.Sqrt(v - 1) }), d.parameters)
}
