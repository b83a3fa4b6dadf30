package smf

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/matrix"
	"github.com/wardcast/wardcast/solver/smf"
)

const (
	// headSteps is the number of gradient steps of the coefficients in one update.
	headSteps = 5
	// negligible is a share of the largest singular value. Least squares ignore directions with smaller ones.
	negligible = 1e-14
	// normShare corrects an estimate of ‖X‖₂² that is too small.
	normShare = 1.01
	// labelCurvature bounds the second derivative of the label loss of two classes.
	labelCurvature = 0.25
)

// blockDescent is the paper's baseline for two classes as a solver.Method: block coordinate descent on Θ = U·[b, Vᵀ],
// where U are the topics of SMF-W and the scores of SMF-H, with one objective for all blocks. It begins at given
// factors. With X̂ = Xᵀ for SMF-W and X for SMF-H, d×e, an update makes a gradient step of U, of length
//
//	1/(s·‖b‖²/4 + 2ξ·‖V‖₂² + 2ν·‖b‖²), s = ‖X‖₂² for SMF-W and 1 for SMF-H,
//
// then computes V = X̂ᵀU(UᵀU)⁺ by least squares, and makes five gradient steps of b and Γ. The objective never rises.
type blockDescent struct {
	smf.Settings
	data smf.Data
}

// Name returns the name of the variant.
func (b *blockDescent) Name() string { return string(b.Variant) }

// Start returns the state at the start factors and the start head.
func (b *blockDescent) Start(_ context.Context, p *solver.Problem) (solver.State, error) {
	n, terms := p.X.Dims()
	k := p.Settings.Rank
	s := &blocks{
		blockDescent: b, threads: linalg.ThreadsOf(p.X), k: k, squared: p.X.NormSquared(), size: 1,
		u: mat.DenseCopyOf(p.Settings.StartScores), v: mat.DenseCopyOf(p.Settings.StartTopics), mul: p.X.MulTo,
		mulTrans: p.X.MulTransTo, products: mat.NewDense(terms, k, nil), residual: mat.NewDense(n, 1, nil),
	}
	if b.Variant == smf.VariantW {
		var err error
		if s.size, err = squaredNorm(p.X); err != nil {
			return nil, err
		}
		s.u, s.v, s.mul, s.mulTrans = s.v, s.u, s.mulTrans, s.mul
		s.products = mat.NewDense(n, k, nil)
	}
	z := withOnes(b.data.Aux, n)
	_, q := z.Dims()
	s.design, s.head = mat.NewDense(n, k+q, nil), mat.NewDense(1, k+q, nil)
	s.design.Slice(0, n, k, k+q).(*mat.Dense).Copy(z)
	if h := b.StartHead; h != nil {
		s.head.Slice(0, 1, 0, k).(*mat.Dense).Copy(h.Coefficients)
		s.head.Set(0, k, h.Intercept[0])
		if q > 1 {
			s.head.Slice(0, 1, k+1, k+q).(*mat.Dense).Copy(h.AuxCoefficients)
		}
	}
	s.refresh()
	s.evaluate()
	return s, nil
}

// blocks is one run of blockDescent.
type blocks struct {
	*blockDescent
	threads         linalg.Threads
	k               int
	squared, size   float64 // ‖X‖² and s
	u, v            *mat.Dense
	mul, mulTrans   func(dst, d *mat.Dense) // by X̂ and X̂ᵀ
	products        *mat.Dense              // X̂ᵀU, e×k
	design          *mat.Dense              // [features | ones | auxiliary features], n×(k+1+q)
	head            *mat.Dense              // [bᵀ | Γᵀ], 1×(k+1+q)
	residual        *mat.Dense              // probabilities less labels, n×1
	loss, objective float64
}

// Objective returns the objective of the iterate.
func (s *blocks) Objective() float64 { return s.objective }

// Factors returns the iterate.
func (s *blocks) Factors() (topics, scores *mat.Dense) {
	if s.Variant == smf.VariantW {
		return s.u, s.v
	}
	return s.v, s.u
}

// Finish returns the iterate as it is.
func (s *blocks) Finish() (topics, scores *mat.Dense, objective float64) {
	topics, scores = s.Factors()
	return topics, scores, s.objective
}

// Update makes one update of the three blocks.
func (s *blocks) Update() solver.Status {
	s.stepOwn()
	s.refresh()
	s.fitOther()
	s.stepHead()
	s.evaluate()
	return solver.NotTerminated
}

// coefficients returns b as a 1×k view of the head.
func (s *blocks) coefficients() *mat.Dense { return s.head.Slice(0, 1, 0, s.k).(*mat.Dense) }

// refresh computes the products that depend on U alone.
func (s *blocks) refresh() {
	s.mulTrans(s.products, s.u)
	features := s.u
	if s.Variant == smf.VariantW {
		features = s.products
	}
	n, _ := s.design.Dims()
	s.design.Slice(0, n, 0, s.k).(*mat.Dense).Copy(features)
}

// predict computes the label loss and its gradient with respect to the log-odds.
func (s *blocks) predict() {
	odds := mat.NewVecDense(len(s.data.Labels), nil)
	odds.MulVec(s.design, s.head.RowView(0))
	residual := s.residual.RawMatrix().Data
	s.loss = linalg.LogisticTo(residual, odds.RawVector().Data)
	for i, y := range s.data.Labels {
		residual[i] -= float64(y)
		s.loss -= float64(y) * odds.AtVec(i)
	}
}

// evaluate computes the objective and the residual of the labels.
func (s *blocks) evaluate() {
	s.predict()
	gramU, b := s.threads.Gram(s.u), s.coefficients()
	var turned mat.Dense
	turned.Mul(b, gramU)
	gamma := s.head.RawRowView(0)[s.k:]
	squared := s.squared - 2*linalg.Dot(s.products, s.v) + linalg.Dot(gramU, s.threads.Gram(s.v))
	s.objective = s.Xi*squared + s.loss + s.Ridge*(linalg.Dot(&turned, b)+floats.Dot(gamma, gamma))
}

// stepOwn makes the gradient step of U: 2ξ·(U·VᵀV − X̂V) + (∂ℓ/∂A + 2ν·U·b)·bᵀ.
func (s *blocks) stepOwn() {
	d, _ := s.u.Dims()
	b, gramV := s.coefficients(), s.threads.Gram(s.v)
	gradient, back, label := mat.NewDense(d, s.k, nil), mat.NewDense(d, s.k, nil), mat.NewDense(d, 1, nil)
	s.threads.MulTo(gradient, s.u, gramV)
	s.mul(back, s.v)
	gradient.Sub(gradient, back)
	gradient.Scale(2*s.Xi, gradient)
	if s.Variant == smf.VariantW {
		s.mul(label, s.residual)
	} else {
		label.Copy(s.residual)
	}
	var a, part mat.Dense
	a.Mul(s.u, b.T())
	a.Scale(2*s.Ridge, &a)
	label.Add(label, &a)
	part.Mul(label, b)
	gradient.Add(gradient, &part)
	curvature := (labelCurvature*s.size+2*s.Ridge)*linalg.Dot(b, b) + 2*s.Xi*largestEigenvalue(gramV)
	if curvature > 0 {
		gradient.Scale(1/curvature, gradient)
		s.u.Sub(s.u, gradient)
	}
}

// fitOther computes V by least squares.
func (s *blocks) fitOther() {
	var svd mat.SVD
	var solved mat.Dense
	if svd.Factorize(s.threads.Gram(s.u), mat.SVDThin) {
		svd.SolveTo(&solved, s.products.T(), max(1, svd.Rank(negligible)))
		s.v.Copy(solved.T())
	}
}

// stepHead makes the gradient steps of b and Γ.
func (s *blocks) stepHead() {
	gramU := s.threads.Gram(s.u)
	length := 1 / (labelCurvature*largestEigenvalue(s.threads.Gram(s.design)) +
		2*s.Ridge*max(1, largestEigenvalue(gramU)))
	_, m := s.head.Dims()
	gradient := mat.NewDense(m, 1, nil)
	for range headSteps {
		s.predict()
		s.threads.InnerTo(gradient, s.design, s.residual)
		ridge := mat.DenseCopyOf(s.head)
		ridge.Slice(0, 1, 0, s.k).(*mat.Dense).Mul(s.coefficients(), gramU)
		step := gradient.RawMatrix().Data
		floats.AddScaled(step, 2*s.Ridge, ridge.RawRowView(0))
		floats.AddScaled(s.head.RawRowView(0), -length, step)
	}
}

// withOnes returns [1 | aux].
func withOnes(aux *mat.Dense, n int) *mat.Dense {
	var z mat.Dense
	ones := mat.NewDense(n, 1, slices.Repeat([]float64{1}, n))
	if aux == nil {
		return ones
	}
	z.Augment(ones, aux)
	return &z
}

// squaredNorm returns an upper estimate of ‖X‖₂².
func squaredNorm(x matrix.Products) (float64, error) {
	svd, err := linalg.SVD(x, linalg.SVDSettings{Rank: 1})
	if err != nil {
		return 0, fmt.Errorf("estimating a step length: %w", err)
	}
	return normShare * svd.S[0] * svd.S[0], nil
}

// largestEigenvalue returns the largest eigenvalue of a Gram matrix.
func largestEigenvalue(gram *mat.Dense) float64 {
	n, _ := gram.Dims()
	var eigen mat.EigenSym
	eigen.Factorize(mat.NewSymDense(n, mat.DenseCopyOf(gram).RawMatrix().Data), false)
	return eigen.Values(nil)[n-1]
}
