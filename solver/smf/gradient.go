package smf

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

const (
	// exactDim is the smaller side of Θ up to which each projection is a complete singular value decomposition. A
	// larger one is powerSteps steps of a block power iteration from the block before. The block has at least guard
	// columns more than the rank, rounded up to a multiple of blockColumns, which is fastest.
	exactDim     = 128
	guard        = 4
	blockColumns = 8
	powerSteps   = 3
	// After patience updates without a new lowest objective, a run is Cycling, or Stationary within stillShare of the
	// lowest.
	patience   = 50
	stillShare = 1e-10
	// A run goes to and fro if, in two updates in a row, the objective changes by less than toAndFro times
	// ‖update‖²/step. That product must exceed aboveRounding times the rounding of the objective.
	toAndFro      = 1e-3
	aboveRounding = 10
)

// gradientState is algorithm 1 of the paper. With both gradients at the iterate,
//
//	A½ = A − τ·∂F/∂A, B½ = B − 2τξ·(B − X̂), Γ½ = Γ − τ_Γ·∂F/∂Γ,
//
// then Θ is the truncated SVD of [A½, B½]. The paper has τ_Γ = τ; with an intercept τ = 0.01 then ends in a limit cycle
// from about 800 documents on.
//
// A step that is too long for the problem ends the run as Cycling. This includes a run that oscillates between points
// with the same objective, which the tolerances would mistake for convergence. An update costs two products of X̂ for
// each power step and two more, all with at least k + 4 columns. Unless Θ½ is small it is never formed, only
// multiplied.
type gradientState struct {
	iterate
	design   *mat.Dense // [features | z]
	products *mat.Dense // X̂ᵀQ, e×r
	probs    *mat.Dense // n×κ
	block    *mat.Dense // start of the next projection, d×(r+guard) or wider
	lowest   float64
	since    int // updates since the lowest objective
	fro      int // updates in a row that went to and fro
}

func newGradient(t *task, topics, scores *mat.Dense) (*gradientState, error) {
	s := &gradientState{probs: mat.NewDense(t.n, t.kappa, nil), products: mat.NewDense(t.e, t.rank, nil)}
	s.task = t
	if err := s.assume(topics, scores); err != nil {
		return nil, err
	}
	s.evaluate()
	s.lowest = s.objective
	return s, nil
}

// evaluate computes the objective, and the products and probabilities that the next gradient needs.
func (s *gradientState) evaluate() {
	s.side.MulTransTo(s.products, s.basis)
	s.design = s.designTo(s.design, s.products)
	activate(s.probs, s.design, s.head)
	loss := s.labels.loss(s.probs, s.probs)
	residual := s.squared - 2*linalg.Dot(s.products, s.image) + linalg.Dot(s.image, s.image)
	s.objective = s.Xi*residual + loss + s.Ridge*linalg.Dot(s.head, s.head)
}

func (s *gradientState) Update() solver.Status {
	if s.since >= patience {
		if s.objective-s.lowest <= stillShare*math.Abs(s.lowest) {
			return solver.Stationary
		}
		return solver.Cycling
	}
	if s.fro > 1 {
		return solver.Cycling
	}
	before, from := s.objective, s.coefficients()
	residual := mat.NewDense(s.n, s.kappa, nil)
	s.labels.residualTo(residual, s.probs)
	half := s.half(residual)
	s.stepAux(residual)
	if !s.project(half) {
		return solver.NonFinite
	}
	s.evaluate()
	s.since++
	if s.objective < s.lowest {
		s.lowest, s.since = s.objective, 0
	}
	from.Sub(from, s.coefficients())
	if s.StepAux == 0 &&
		math.Abs(before-s.objective)+aboveRounding*s.rounding < toAndFro*linalg.Dot(from, from)/s.Step {
		s.fro++
	} else {
		s.fro = 0
	}
	return solver.NotTerminated
}

// coefficients returns A above Γ.
func (s *gradientState) coefficients() *mat.Dense {
	var a, all mat.Dense
	a.Mul(s.basis, s.coef().T())
	all.Stack(&a, s.gamma().T())
	return &all
}

// half returns Θ½ by ∂F/∂A, which is X·K + 2ν·Q·b for SMF-W and K + 2ν·Q·b for SMF-H, K the residuals of the label
// loss.
func (s *gradientState) half(residual *mat.Dense) *lifted {
	gradient, a := mat.NewDense(s.d, s.kappa, nil), mat.NewDense(s.d, s.kappa, nil)
	if s.Variant == VariantW {
		s.side.MulTo(gradient, residual)
	} else {
		gradient.Copy(residual)
	}
	s.addRidge(gradient)
	a.Mul(s.basis, s.coef().T())
	addScaledTo(a, a, -s.Step, gradient)
	return &lifted{iterate: &s.iterate, a: a, share: 2 * s.Step * s.Xi}
}

func (s *gradientState) stepAux(residual *mat.Dense) {
	tau := cmp.Or(s.StepAux, s.Step)
	gamma := s.gamma()
	gradient := mat.NewDense(s.aux, s.kappa, nil)
	s.threads.InnerTo(gradient, s.z, residual)
	for c := range s.kappa {
		row := gamma.RawRowView(c)
		for j := range row {
			row[j] -= tau * (gradient.At(j, c) + 2*s.Ridge*row[j])
		}
	}
}

// project makes the truncated SVD of Θ½ the iterate.
func (s *gradientState) project(half *lifted) bool {
	r, wide := s.rank, s.kappa+s.e
	basis, right := mat.NewDense(s.d, r, nil), mat.NewDense(wide, r, nil) // Θ = basis·rightᵀ, zeros beyond its columns
	found := min(r, wide)
	leading := linalg.Columns(right, 0, found)
	if min(s.d, wide) <= exactDim {
		var svd mat.SVD
		dense := mat.NewDense(s.d, wide, nil)
		half.MulTo(dense, linalg.Identity(wide))
		if norm := mat.Norm(dense, 2); norm-norm != 0 || !svd.Factorize(dense, mat.SVDThin) {
			return false
		}
		var u, v mat.Dense
		svd.UTo(&u)
		svd.VTo(&v)
		basis.Copy(linalg.Columns(&u, 0, found))
		linalg.ScaleColumns(leading, linalg.Columns(&v, 0, found), svd.Values(nil)[:found])
	} else if !s.iterateBlock(half, linalg.Columns(basis, 0, found), leading) {
		return false
	}
	s.coef().Copy(right.Slice(0, s.kappa, 0, r))
	s.basis, s.image = basis, mat.DenseCopyOf(right.Slice(s.kappa, wide, 0, r))
	return true
}

// iterateBlock stores the leading singular vectors, as many as basis has columns, by block power iteration.
func (s *gradientState) iterateBlock(half *lifted, basis, right *mat.Dense) bool {
	wide, r := right.Dims()
	width := min((r+guard+blockColumns-1)/blockColumns*blockColumns, s.d, wide)
	if s.block == nil {
		s.block = mat.NewDense(s.d, width, nil)
		s.block.Copy(s.basis)
		if err := s.threads.PolarTo(s.block, s.block); err != nil {
			return false
		}
	}
	z := mat.NewDense(wide, width, nil)
	for range powerSteps {
		half.MulTransTo(z, s.block)
		half.MulTo(s.block, z)
		if err := s.threads.PolarTo(s.block, s.block); err != nil {
			return false
		}
	}
	half.MulTransTo(z, s.block)
	_, vectors, ok := eigen(s.threads.Gram(z))
	if !ok {
		return false
	}
	s.block = s.threads.Product(s.block, vectors)
	basis.Copy(linalg.Columns(s.block, 0, r))
	s.threads.MulTo(right, z, mat.DenseCopyOf(vectors.Slice(0, width, 0, r)))
	return true
}

// lifted multiplies by Θ½ = [A½, (1 − share)·Q·Yᵀ + share·X̂], d×(κ+e), without forming it.
type lifted struct {
	*iterate
	a     *mat.Dense
	share float64
}

func (l *lifted) MulTo(dst, d *mat.Dense) {
	rows, m := d.Dims()
	right := d.Slice(l.kappa, rows, 0, m).(*mat.Dense)
	l.side.MulTo(dst, right)
	l.add(dst, l.basis, l.image, right)
	l.threads.AddMulTo(dst, l.a, d.Slice(0, l.kappa, 0, m).(*mat.Dense))
}

func (l *lifted) MulTransTo(dst, d *mat.Dense) {
	rows, m := dst.Dims()
	below := dst.Slice(l.kappa, rows, 0, m).(*mat.Dense)
	l.side.MulTransTo(below, d)
	l.add(below, l.image, l.basis, d)
	l.threads.InnerTo(dst.Slice(0, l.kappa, 0, m).(*mat.Dense), l.a, d)
}

// add turns dst into share·dst + (1 − share)·left·rightᵀ·d.
func (l *lifted) add(dst, left, right, d *mat.Dense) {
	_, m := d.Dims()
	inner := mat.NewDense(l.rank, m, nil)
	l.threads.InnerTo(inner, right, d)
	dst.Scale(l.share, dst)
	inner.Scale(1-l.share, inner)
	l.threads.AddMulTo(dst, left, inner)
}
