package sonmf

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
)

// The extrapolation of Ang and Gillis 2019, "Accelerating nonnegative matrix factorization algorithms using
// extrapolation", section 3.4, with their values: the weight starts at startWeight and grows by weightGrowth up to a
// bound, which starts at 1 and grows by boundGrowth but never above 1; after a rejected step the bound is the rejected
// weight, and the weight is divided by weightDecay.
const (
	startWeight  = 0.5
	weightGrowth = 1.1
	boundGrowth  = 1.05
	weightDecay  = 1.5
)

// minSpread is the ratio of the extreme eigenvalues of CᵀC from which C·(CᵀC)^(-1/2) is orthonormal to about 1e-12.
const minSpread = 1e-4

// exactState updates by the polar factor:
//
//	F′ = polar(XᵀG̃), G′ = ⟨XF′⟩₊, with G̃ = ⟨W + β·(W − W₋)⟩₊, W = XF and W₋ the W before it.
//
// For β = 0, F′ maximizes tr(F′ᵀXᵀG), so that ‖X − G′F′ᵀ‖ ≤ ‖X − GF′ᵀ‖ ≤ ‖X − GFᵀ‖. A step with β > 0 is taken only
// where it lowers the objective. Since W is at hand, extrapolating costs no product with X.
//
// An update costs X·F, Xᵀ·G̃ and 2·p·k² multiply-adds beside O(k³), and twice that after a rejected step.
type exactState struct {
	iterate
	threshold float64 // changes of the objective up to it are rounding
	squared   float64 // ‖X‖²

	projected, before *mat.Dense // W and W₋, n×k
	next, nextTopics  *mat.Dense // of a tried step
	cross             *mat.Dense // XᵀG̃, p×k

	extrapolate   bool
	weight, bound float64

	polar polar
}

func newExactState(x linalg.Operator, topics *mat.Dense, extrapolate bool) *exactState {
	n, _ := x.Dims()
	_, k := topics.Dims()
	s := &exactState{
		iterate:     iterate{x: x, topics: topics, scores: mat.NewDense(n, k, nil)},
		squared:     x.NormSquared(),
		projected:   mat.NewDense(n, k, nil),
		before:      mat.NewDense(n, k, nil),
		next:        mat.NewDense(n, k, nil),
		nextTopics:  newLike(topics),
		cross:       newLike(topics),
		extrapolate: extrapolate,
		weight:      startWeight,
		bound:       1,
		polar:       newPolar(k),
	}
	s.threshold = noise * s.squared
	x.MulTo(s.projected, topics)
	s.before.Copy(s.projected)
	s.objective = s.squared - positivePart(s.scores, s.projected)
	return s
}

// Update makes one update. It returns Stationary when the exact step lowers the objective by no more than rounding.
func (s *exactState) Update() solver.Status {
	if s.extrapolate {
		extrapolatedPart(s.scores, s.projected, s.before, s.weight)
		objective, ok := s.try()
		if ok && s.objective-objective > s.threshold {
			s.weight = min(s.bound, weightGrowth*s.weight)
			s.bound = min(1, boundGrowth*s.bound)
			s.accept(objective)
			return solver.NotTerminated
		}
		s.bound = s.weight
		s.weight /= weightDecay
		positivePart(s.scores, s.projected)
	}
	objective, ok := s.try()
	if !ok {
		return solver.NonFinite
	}
	if s.objective-objective <= s.threshold {
		return solver.Stationary
	}
	s.accept(objective)
	return solver.NotTerminated
}

// try stores the exact step from the scores in nextTopics and next, and returns its objective. It reports false where
// products overflow.
func (s *exactState) try() (objective float64, ok bool) {
	s.x.MulTransTo(s.cross, s.scores)
	if err := s.polar.factorTo(s.nextTopics, s.cross); err != nil {
		return 0, false
	}
	s.x.MulTo(s.next, s.nextTopics)
	return s.squared - positiveNorm(s.next), true
}

// accept makes the tried step the iterate.
func (s *exactState) accept(objective float64) {
	s.topics, s.nextTopics = s.nextTopics, s.topics
	s.before, s.projected, s.next = s.projected, s.next, s.before
	positivePart(s.scores, s.projected)
	s.objective = objective
}

// extrapolatedPart stores ⟨W + β·(W − W₋)⟩₊ in dst.
func extrapolatedPart(dst, w, before *mat.Dense, beta float64) {
	rows, _ := w.Dims()
	for i := range rows {
		out, last := dst.RawRowView(i), before.RawRowView(i)
		for t, v := range w.RawRowView(i) {
			out[t] = max(v+beta*(v-last[t]), 0)
		}
	}
}

// positiveNorm returns ‖⟨A⟩₊‖², summed as positivePart does.
func positiveNorm(a *mat.Dense) float64 {
	rows, _ := a.Dims()
	var total float64
	for i := range rows {
		var sum float64
		for _, v := range a.RawRowView(i) {
			v = max(v, 0)
			sum += v * v
		}
		total += sum
	}
	return total
}

// polar computes polar factors of tall matrices of k columns in its own memory.
type polar struct {
	gram, root *mat.Dense // k×k
	values     []float64
	work       []float64
}

func newPolar(k int) polar {
	p := polar{gram: mat.NewDense(k, k, nil), root: mat.NewDense(k, k, nil), values: make([]float64, k)}
	size := make([]float64, 1)
	lapack64.Syev(lapack.EVCompute, p.symmetric(), p.values, size, -1)
	p.work = make([]float64, int(size[0]))
	return p
}

func (p *polar) symmetric() blas64.Symmetric {
	raw := p.gram.RawMatrix()
	return blas64.Symmetric{N: raw.Rows, Stride: raw.Stride, Data: raw.Data, Uplo: blas.Upper}
}

// factorTo stores in dst the orthonormal polar factor C·(CᵀC)^(-1/2), which must not be C. It takes the square root by
// the eigenvectors of CᵀC, one pass over C less than linalg.PolarTo, which it leaves a C with close to dependent
// columns to.
func (p *polar) factorTo(dst, c *mat.Dense) error {
	linalg.GramTo(p.gram, c)
	ok := !math.IsInf(mat.Sum(p.gram), 0) && !math.IsNaN(mat.Sum(p.gram)) &&
		lapack64.Syev(lapack.EVCompute, p.symmetric(), p.values, p.work, len(p.work))
	k := len(p.values)
	if !ok || !(p.values[0] > minSpread*p.values[k-1]) {
		return linalg.PolarTo(dst, c)
	}
	// root = Z·diag(λ^(-1/4)) so that root·rootᵀ = (CᵀC)^(-1/2).
	for i := range k {
		z, row := p.gram.RawRowView(i), p.root.RawRowView(i)
		for t, v := range z {
			row[t] = v / math.Sqrt(math.Sqrt(p.values[t]))
		}
	}
	p.gram.Mul(p.root, p.root.T())
	dst.Mul(c, p.gram)
	return nil
}
