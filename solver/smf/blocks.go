package smf

import (
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
)

const (
	// headSteps is the number of gradient steps of the coefficients in one update.
	headSteps = 5
	// negligible is a share of the largest eigenvalue. Least squares ignore directions with smaller eigenvalues.
	negligible = 1e-14
)

// blocksState is block coordinate descent on Θ = U·[b, Vᵀ], where U are the topics of SMF-W and the scores of SMF-H. An
// update makes a gradient step of U, of length
//
//	1/(h·s·‖b‖₂² + 2ξ·‖V‖₂² + 2ν·‖b‖₂²), s = ‖X‖₂² for SMF-W and 1 for SMF-H,
//
// then computes V = X̂ᵀU(UᵀU)⁻¹ by least squares, and makes five gradient steps of b and Γ. h bounds the curvature of the
// label loss. The objective never rises. This is the baseline of the paper, with one objective for all blocks.
type blocksState struct {
	iterate
	u, v     *mat.Dense
	head     *mat.Dense // [bᵀ | Γᵀ], κ×(k+1+q)
	design   *mat.Dense // [features | z]
	products *mat.Dense // X̂ᵀU, e×k
	probs    *mat.Dense
	size     float64 // s
}

func newBlocks(t *task, topics, scores *mat.Dense) (*blocksState, error) {
	s := &blocksState{u: topics, v: scores, head: t.startHead(), products: mat.NewDense(t.e, t.k, nil), probs: mat.NewDense(t.n, t.kappa, nil), size: 1}
	s.task = t
	if t.Variant == VariantH {
		s.u, s.v = scores, topics
	} else {
		norm, err := squaredNorm(t.x, t.threads)
		if err != nil {
			return nil, err
		}
		s.size = norm
	}
	_, q := t.z.Dims()
	s.design = mat.NewDense(t.n, t.k+q, nil)
	s.design.Slice(0, t.n, t.k, t.k+q).(*mat.Dense).Copy(t.z)
	s.refresh()
	s.evaluate()
	return s, nil
}

// Factors returns the iterate.
func (s *blocksState) Factors() (topics, scores *mat.Dense) {
	if s.Variant == VariantW {
		return s.u, s.v
	}
	return s.v, s.u
}

// Finish returns the factors in the gauge that the package comment describes.
func (s *blocksState) Finish() (topics, scores *mat.Dense, objective float64) {
	if err := s.assume(s.u, s.v, s.head); err != nil { // not finite
		topics, scores = s.Factors()
		s.result = &solver.Head{Coefficients: s.coefficients(), Intercept: make([]float64, s.kappa)}
		return topics, scores, s.objective
	}
	return s.iterate.Finish()
}

// coefficients returns bᵀ as a view of the head.
func (s *blocksState) coefficients() *mat.Dense {
	return s.head.Slice(0, s.kappa, 0, s.k).(*mat.Dense)
}

// refresh computes what depends on U alone.
func (s *blocksState) refresh() {
	s.side.MulTransTo(s.products, s.u)
	s.design.Slice(0, s.n, 0, s.k).(*mat.Dense).Copy(s.features(s.u, s.products))
}

// evaluate computes the objective and the probabilities.
func (s *blocksState) evaluate() {
	activate(s.probs, s.design, s.head)
	loss := s.labels.loss(s.probs, s.probs)
	gramU, gramV := s.grams()
	b, gamma := s.coefficients(), s.gamma()
	var turned mat.Dense
	turned.Mul(b, gramU)
	residual := s.squared - 2*linalg.Dot(s.products, s.v) + linalg.Dot(gramU, gramV)
	s.objective = s.Xi*residual + loss + s.Ridge*(linalg.Dot(&turned, b)+linalg.Dot(gamma, gamma))
}

func (s *blocksState) gamma() *mat.Dense {
	_, m := s.head.Dims()
	return s.head.Slice(0, s.kappa, s.k, m).(*mat.Dense)
}

func (s *blocksState) grams() (u, v *mat.Dense) {
	u, v = mat.NewDense(s.k, s.k, nil), mat.NewDense(s.k, s.k, nil)
	s.threads.GramTo(u, s.u)
	s.threads.GramTo(v, s.v)
	return u, v
}

// Update makes one update of the three blocks.
func (s *blocksState) Update() solver.Status {
	s.stepOwn()
	s.refresh()
	s.fitOther()
	s.stepHead()
	s.evaluate()
	return solver.NotTerminated
}

// stepOwn makes the gradient step of U: 2ξ·(U·VᵀV − X̂V) + (∂ℓ/∂A + 2ν·U·b)·bᵀ.
func (s *blocksState) stepOwn() {
	residual := mat.NewDense(s.n, s.kappa, nil)
	s.labels.residualTo(residual, s.probs)
	b := s.coefficients()
	_, gramV := s.grams()
	gradient, back, label := mat.NewDense(s.d, s.k, nil), mat.NewDense(s.d, s.k, nil), mat.NewDense(s.d, s.kappa, nil)
	s.threads.MulTo(gradient, s.u, gramV)
	s.side.MulTo(back, s.v)
	gradient.Sub(gradient, back)
	gradient.Scale(2*s.Xi, gradient)
	var a, part mat.Dense
	if s.Variant == VariantW {
		s.side.MulTo(label, residual)
	} else {
		label.Copy(residual)
	}
	a.Mul(s.u, b.T())
	addScaledTo(label, label, 2*s.Ridge, &a)
	part.Mul(label, b)
	gradient.Add(gradient, &part)

	gramB := mat.NewDense(s.k, s.k, nil)
	s.threads.GramTo(gramB, b)
	size := largestEigenvalue(gramB)
	curvature := s.labels.curvature(s.kappa)*s.size*size + 2*s.Xi*largestEigenvalue(gramV) + 2*s.Ridge*size
	if curvature > 0 {
		addScaledTo(s.u, s.u, -1/curvature, gradient)
	}
}

// fitOther computes V by least squares.
func (s *blocksState) fitOther() {
	gramU, _ := s.grams()
	s.threads.MulTo(s.v, s.products, pseudoInverse(gramU))
}

// stepHead makes the gradient steps of b and Γ.
func (s *blocksState) stepHead() {
	gramU, _ := s.grams()
	_, m := s.head.Dims()
	gram := mat.NewDense(m, m, nil)
	s.threads.GramTo(gram, s.design)
	length := 1 / (s.labels.curvature(s.kappa)*largestEigenvalue(gram) + 2*s.Ridge*max(1, largestEigenvalue(gramU)))
	b, gradient, residual := s.coefficients(), mat.NewDense(m, s.kappa, nil), mat.NewDense(s.n, s.kappa, nil)
	for range headSteps {
		activate(s.probs, s.design, s.head)
		s.labels.loss(s.probs, s.probs)
		s.labels.residualTo(residual, s.probs)
		s.threads.InnerTo(gradient, s.design, residual)
		ridge := mat.DenseCopyOf(s.head)
		ridge.Slice(0, s.kappa, 0, s.k).(*mat.Dense).Mul(b, gramU)
		addScaledTo(s.head, s.head, -2*s.Ridge*length, ridge)
		var step mat.Dense
		step.CloneFrom(gradient.T())
		addScaledTo(s.head, s.head, -length, &step)
	}
}
