package smf

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

const (
	// startSteps and updateSteps bound the Newton steps of the coefficients. The steps end when they promise less than
	// fitShare of the objective, or in an update less than gainShare of the gain of the previous update.
	startSteps  = 20
	updateSteps = 3
	fitShare    = 1e-11
	gainShare   = 1e-3
	// finishShare ends the Newton steps for the result, as a share of the label part of the objective.
	finishShare = 1e-15
	// A direction is dropped if its eigenvalue of the Gram matrix of unit directions is below dependent, or if less
	// than the share lost of its length is left after projection.
	dependent = 1e-10
	lost      = 1e-13
	// wellApart is the least eigenvalue of that matrix for which one pass gives a basis orthonormal up to rounding.
	wellApart = 1e-2
	// maxDrift is the largest entry of |SᵀS − I| that is not corrected.
	maxDrift = 1e-13
	// maxRaises bounds how often an update raises the curvature before it gives up; raise is the factor.
	maxRaises = 12
	raise     = 4
	// An update makes the next one shorter below poorShare of the promised decrease, and longer above richShare.
	poorShare = 0.75
	richShare = 1
	lengthen  = 1.5
	// uneven is the ratio of λ to the curvature of the ridge, the least curvature, above which a Newton step pays.
	uneven = 4
	// leastShare is the lower bound of λ in units of a bound on the curvature of the label loss.
	leastShare = 1e-6
)

// profiledState minimizes over the span of Q alone. For a given Q the best Y is X̂ᵀQ, which leaves ξ·(‖X‖² − ‖Y‖²), and
// the best b and Γ come from a ridge logistic regression on X·Q (SMF-W) or Q (SMF-H).
//
// Let ∇ be the gradient with respect to A at the iterate, and λ a bound on its curvature. The objective is at most
//
//	F + ⟨∇, A′ − A⟩ + λ/2·‖A′ − A‖² + ξ·(‖X̂ − B′‖² − ‖X̂ − B‖²)
//
// since it is quadratic in B. The best [A′, B′] of rank k is the truncated SVD of [√(λ/2)·Â, √ξ·X̂] with Â = A − ∇/λ: a
// lifted projected gradient step of length 1/(2ξ) for B and 1/λ for A. Its Q′ spans the leading eigenvectors of
// ξ·X̂X̂ᵀ + (λ/2)·ÂÂᵀ, approximated in the span of Q, the gradient with respect to Q, ∇, and the directions of the
// update before, as in the locally optimal block conjugate gradients of Knyazev 2001. Then the regression is fitted
// again. After a fit ∇ is close to orthogonal to Q, so λ may be far below the bound on the whole curvature.
//
// If the curvature of the label loss of SMF-W is far from that of the ridge, A first makes a Newton step among those
// directions; see advanced. A step that does not lower the objective is tried again without the Newton step, and then
// with larger λ, so that the objective never rises.
//
// An update costs one product of X̂ with k + κ columns, one of X̂ᵀ, about (18·d + 11·e)·k² multiply-adds, and the
// Newton steps of the regression, each some passes over its n×(k+1+q) design.
type profiledState struct {
	iterate
	regression *regression
	lambda     float64    // λ
	least      float64    // lower bound of λ
	gained     float64    // decrease of the objective by the update before
	previous   int        // columns of the directions of the update before
	exact      *mat.Dense // X̂ᵀQ while the iterate is a given start, which may have any Y; nil afterwards

	wide, wideImage *mat.Dense // [Q, P, R] and X̂ᵀ[Q, P, R]: d×(3r+κ) and e×(3r+κ)
	next, nextImage *mat.Dense // the same of the next update
	back            *mat.Dense // X̂·[Y | K], d×(r+κ)
	spare           *mat.Dense // d×(r+κ)
	stacked         *mat.Dense // [Y | K] of SMF-W, e×(r+κ)
	gradient        *mat.Dense // ∇, d×κ
	residual        *mat.Dense // K, n×κ
}

// newProfiled starts from the span of the topics (SMF-W) or of the scores (SMF-H). If the start is given, it is
// iteration 0, and the first update is the fit to its span. Otherwise that fit is iteration 0.
func newProfiled(t *task, topics, scores *mat.Dense) (*profiledState, error) {
	width := 3*t.rank + t.kappa
	s := &profiledState{
		wide:      mat.NewDense(t.d, width, nil),
		wideImage: mat.NewDense(t.e, width, nil),
		next:      mat.NewDense(t.d, width, nil),
		nextImage: mat.NewDense(t.e, width, nil),
		gradient:  mat.NewDense(t.d, t.kappa, nil),
		residual:  mat.NewDense(t.n, t.kappa, nil),
		back:      mat.NewDense(t.d, t.rank+t.kappa, nil),
		spare:     mat.NewDense(t.d, t.rank+t.kappa, nil),
	}
	s.task = t
	if t.Variant == VariantW {
		s.stacked = mat.NewDense(t.e, t.rank+t.kappa, nil)
	}
	if err := s.assume(topics, scores); err != nil {
		return nil, err
	}
	basis, image := s.basis, s.image
	s.adopt()
	s.basis.Copy(basis)
	t.side.MulTransTo(s.image, s.basis)
	s.regression = newRegression(t, s.designTo(nil, s.image), s.head)
	if !t.given {
		s.fit()
		return s, nil
	}
	s.objective = t.Xi*(t.squared-2*linalg.Dot(s.image, image)+linalg.Dot(image, image)) + s.regression.objective
	s.exact = mat.DenseCopyOf(s.image)
	s.image.Copy(image)
	return s, nil
}

// fit makes the best Y, b and Γ for the span of Q the iterate.
func (s *profiledState) fit() {
	if s.exact != nil {
		s.image.Copy(s.exact)
		s.exact = nil
	}
	s.regression.fit(fitShare*(s.Xi*s.squared+s.regression.objective), startSteps)
	s.objective = s.total(s.image) + s.regression.objective
	curvature := s.labels.curvature(s.kappa)
	if s.Variant == VariantW {
		curvature *= linalg.Dot(s.image, s.image) / float64(s.rank)
	}
	s.lambda, s.least = 2*s.Ridge+curvature, 2*s.Ridge+leastShare*curvature
	if s.least == 0 { // then A does not matter
		s.lambda, s.least = s.Xi, s.Xi
	}
}

// adopt makes basis and image views of the first columns of wide and wideImage.
func (s *profiledState) adopt() {
	s.basis = linalg.Columns(s.wide, 0, s.rank)
	s.image = linalg.Columns(s.wideImage, 0, s.rank)
}

// total returns ξ·(‖X‖² − ‖Y‖²).
func (s *profiledState) total(image *mat.Dense) float64 {
	return s.Xi * (s.squared - linalg.Dot(image, image))
}

func (s *profiledState) Update() solver.Status {
	if s.exact != nil {
		s.fit()
		return solver.NotTerminated
	}
	s.labels.residualTo(s.residual, s.regression.probs)
	s.products()
	used := s.directions()
	plain := s.reduce(used)
	small := plain
	if s.Variant == VariantW && s.lambda > uneven*2*s.Ridge {
		if advanced, ok := s.advanced(plain); ok {
			small = advanced
		}
	}
	kept, previous := s.regression.clone(), s.previous
	for range maxRaises + 1 {
		coordinates, bound, ok := small.best(s.lambda)
		if !ok {
			return solver.NonFinite
		}
		s.move(coordinates, small.target(s.lambda))
		objective := s.total(s.image) + s.regression.objective
		if math.IsNaN(objective) || math.IsInf(objective, 0) {
			return solver.NonFinite
		}
		gained, promised := s.objective-objective, s.objective-bound
		if gained > s.rounding {
			s.objective, s.gained = objective, gained
			switch {
			case gained < poorShare*promised:
				s.lambda *= lengthen
			case gained > richShare*promised:
				s.lambda = max(s.lambda/lengthen, s.least)
			}
			return solver.NotTerminated
		}
		s.swap()
		s.previous = previous
		s.designTo(s.regression.design, s.image)
		s.regression.fitted = kept.clone()
		s.head = s.regression.coef
		if small != plain {
			small = plain
		} else {
			s.lambda *= raise
		}
	}
	return solver.Stationary
}

// Finish fits the coefficients to full precision and returns the factors in the gauge that the package comment
// describes.
func (s *profiledState) Finish() (topics, scores *mat.Dense, objective float64) {
	s.regression.fit(finishShare*s.regression.objective, startSteps)
	return s.iterate.Finish()
}

// products stores X̂·Y in the first columns of back and ∇ in gradient.
func (s *profiledState) products() {
	r := s.rank
	if s.Variant == VariantW {
		s.stacked.Augment(s.image, s.residual)
		s.side.MulTo(s.back, s.stacked)
		s.gradient.Copy(linalg.Columns(s.back, r, r+s.kappa))
	} else {
		s.side.MulTo(linalg.Columns(s.back, 0, r), s.image)
		s.gradient.Copy(s.residual)
	}
	s.addRidge(s.gradient)
}

// directions stores after Q and P in wide an orthonormal basis of the part of the new directions [2ξ·X̂Y − ∇·b, ∇]
// outside their span, with its image, and returns the number of columns in use. Images are computed for orthonormal
// columns only, so that rounding errors do not grow from update to update.
func (s *profiledState) directions() int {
	r, kept := s.rank, s.rank+s.previous
	coef := mat.DenseCopyOf(s.coef())
	coef.Scale(-1, coef)
	turned := linalg.Columns(s.back, 0, r)
	turned.Scale(2*s.Xi, turned)
	s.threads.AddMulTo(turned, s.gradient, coef)
	linalg.Columns(s.back, r, r+s.kappa).Copy(s.gradient)
	old := linalg.Columns(s.wide, 0, kept)
	fresh, other, least := s.back, s.spare, 0.0
	for range 2 { // the second pass removes what rounding left in the first
		_, width := fresh.Dims()
		sizes, along := columnNorms(fresh), mat.NewDense(kept, width, nil)
		s.threads.InnerTo(along, old, fresh)
		along.Scale(-1, along)
		s.threads.AddMulTo(fresh, old, along)
		if least > wellApart {
			break
		}
		if fresh, least = independent(other, fresh, sizes, s.threads); fresh == nil {
			return kept
		}
		other = s.back
	}
	_, width := fresh.Dims()
	linalg.Columns(s.wide, kept, kept+width).Copy(fresh)
	s.side.MulTransTo(linalg.Columns(s.wideImage, kept, kept+width), fresh)
	return kept + width
}

// independent stores in the first columns of dst an orthonormal basis of the columns of a, by the eigenvectors of the
// Gram matrix of unit columns (Stathopoulos and Wu 2002). It leaves out columns that are only rounding, compared with
// the given sizes, or depend on others. It returns the basis and the least eigenvalue that was kept, or nil if none
// was.
func independent(dst, a *mat.Dense, sizes []float64, threads linalg.Threads) (basis *mat.Dense, least float64) {
	rows, cols := a.Dims()
	scales := columnNorms(a)
	for c, norm := range scales {
		scales[c] = 0
		if norm > lost*sizes[c] {
			scales[c] = 1 / norm
		}
	}
	linalg.ScaleColumns(a, a, scales)
	values, vectors, ok := eigen(threads.Gram(a))
	if !ok {
		return nil, 0
	}
	kept := 0
	for ; kept < cols && values[kept] > dependent; kept++ {
		scales[kept] = 1 / math.Sqrt(values[kept])
	}
	if kept == 0 {
		return nil, 0
	}
	basis, vectors = dst.Slice(0, rows, 0, kept).(*mat.Dense), mat.DenseCopyOf(vectors.Slice(0, cols, 0, kept))
	linalg.ScaleColumns(vectors, vectors, scales[:kept])
	threads.MulTo(basis, a, vectors)
	return basis, values[kept-1]
}

// reduced is the problem of an update in the coordinates of the orthonormal directions S in use, u columns.
type reduced struct {
	*task
	images *mat.Dense // (X̂ᵀS)ᵀ(X̂ᵀS)
	// point, u×κ, is where the label loss is developed: Sᵀ·A, or the end of a Newton step from there. gradient, u×κ, is
	// the gradient of the loss with its ridge at that point. lower is how far the loss there is below that of the
	// iterate.
	point, gradient *mat.Dense
	lower           float64
	objective       float64 // of the iterate, without the term −ξ·‖Y‖²
}

func (s *profiledState) reduce(used int) *reduced {
	m := &reduced{
		task:     s.task,
		images:   s.threads.Gram(linalg.Columns(s.wideImage, 0, used)),
		gradient: mat.NewDense(used, s.kappa, nil), point: mat.NewDense(used, s.kappa, nil),
		objective: s.Xi*s.squared + s.regression.objective,
	}
	s.threads.InnerTo(m.gradient, linalg.Columns(s.wide, 0, used), s.gradient)
	m.point.Slice(0, s.rank, 0, s.kappa).(*mat.Dense).Copy(s.coef().T())
	return m
}

// advanced returns the problem developed after a Newton step of A among the directions S of SMF-W, for
//
//	ℓ + ν·‖A‖² + ξ·(the least squared residual of a basis whose span holds A).
//
// It weighs documents by the mean curvature of their classes and ignores the coupling of A and Γ and the off-diagonal
// curvature of the last term, since the bound holds at every point.
func (s *profiledState) advanced(m *reduced) (*reduced, bool) {
	used, kappa := m.point.Dims()
	r := m.rank
	weighted := mat.NewDense(s.e, used, nil)
	s.regression.weigh(weighted, linalg.Columns(s.wideImage, 0, used))
	hessian := s.threads.Gram(weighted)
	for j := range used {
		hessian.Set(j, j, hessian.At(j, j)+2*s.Ridge)
	}

	// How A changes the residual: moving A by δ, orthogonal to Q, turns Q by δ·(bᵀb)⁻¹·bᵀ.
	b := m.point.Slice(0, r, 0, kappa).(*mat.Dense)
	var gram, turned, pull mat.Dense
	gram.Mul(b.T(), b)
	turned.Mul(m.images.Slice(0, used, 0, r), b)
	along := linalg.Dot(turned.Slice(0, r, 0, kappa).(*mat.Dense), b)
	size := mat.Trace(&gram)
	if !(size > 0) {
		return nil, false
	}
	pull.Mul(&turned, pseudoInverse(&gram))
	pull.Slice(0, r, 0, kappa).(*mat.Dense).Zero()
	step := mat.NewDense(used, kappa, nil)
	addScaledTo(step, m.gradient, -2*m.Xi, &pull)
	step.Scale(-1, step)
	system := mat.DenseCopyOf(hessian)
	for j := r; j < used; j++ {
		system.Set(j, j, system.At(j, j)+2*m.Xi*float64(kappa)/size*max(0, along/size-m.images.At(j, j)))
	}
	var factor mat.Cholesky
	if !factor.Factorize(mat.NewSymDense(used, system.RawMatrix().Data)) {
		return nil, false
	}
	if err := factor.SolveTo(step, step); err != nil {
		return nil, false
	}
	var curved mat.Dense
	curved.Mul(hessian, step)
	next := *m
	next.point, next.gradient = mat.NewDense(used, kappa, nil), mat.NewDense(used, kappa, nil)
	next.point.Add(m.point, step)
	next.gradient.Add(m.gradient, &curved)
	next.lower = -linalg.Dot(m.gradient, step) - linalg.Dot(&curved, step)/2
	return &next, true
}

// target returns Sᵀ·Â for a curvature λ.
func (m *reduced) target(lambda float64) *mat.Dense {
	target := mat.DenseCopyOf(m.point)
	addScaledTo(target, target, -1/lambda, m.gradient)
	return target
}

// best returns the coordinates of the best basis for a curvature λ, u×r, and the bound on the objective there. The
// basis is rotated as close as possible to the one before, so that the regression starts near its solution.
func (m *reduced) best(lambda float64) (coordinates *mat.Dense, bound float64, ok bool) {
	target := m.target(lambda)
	var combined, image, inner, turned mat.Dense
	combined.Mul(target, target.T())
	combined.Scale(lambda/2, &combined)
	addScaledTo(&combined, &combined, m.Xi, m.images)
	_, vectors, ok := eigen(&combined)
	if !ok {
		return nil, 0, false
	}
	used, _ := vectors.Dims()
	coordinates = mat.DenseCopyOf(vectors.Slice(0, used, 0, m.rank))
	image.Mul(m.images, coordinates)
	inner.Mul(coordinates.T(), target)
	rest := linalg.Dot(target, target) - linalg.Dot(&inner, &inner)
	bound = m.objective - m.lower - m.Xi*linalg.Dot(&image, coordinates) + lambda/2*rest -
		linalg.Dot(m.gradient, m.gradient)/(2*lambda)

	polar := mat.DenseCopyOf(coordinates.Slice(0, m.rank, 0, m.rank))
	if err := m.threads.PolarTo(polar, polar); err != nil {
		return nil, 0, false
	}
	turned.Mul(coordinates, polar.T())
	return &turned, bound, true
}

// onward returns the coordinates of a basis, followed by orthonormal coordinates of the directions that were new in it,
// which the next update keeps.
func onward(coordinates *mat.Dense, threads linalg.Threads) *mat.Dense {
	used, r := coordinates.Dims()
	fresh := mat.DenseCopyOf(coordinates)
	fresh.Slice(0, r, 0, r).(*mat.Dense).Zero()
	for range 2 {
		sizes := columnNorms(fresh)
		var along, part mat.Dense
		along.Mul(coordinates.T(), fresh)
		part.Mul(coordinates, &along)
		part.Sub(fresh, &part)
		if fresh, _ = independent(mat.NewDense(used, r, nil), &part, sizes, threads); fresh == nil {
			return coordinates
		}
	}
	var both mat.Dense
	both.Augment(coordinates, fresh)
	return &both
}

// move makes the basis of the given coordinates the iterate, with the coefficients of the step of A to start from.
func (s *profiledState) move(coordinates, target *mat.Dense) {
	used, r := coordinates.Dims()
	both := onward(coordinates, s.threads)
	_, width := both.Dims()
	s.threads.MulTo(linalg.Columns(s.next, 0, width), linalg.Columns(s.wide, 0, used), both)
	s.threads.MulTo(linalg.Columns(s.nextImage, 0, width), linalg.Columns(s.wideImage, 0, used), both)
	s.swap()
	s.previous = width - r
	s.straighten()
	s.coef().Mul(target.T(), coordinates)
	s.designTo(s.regression.design, s.image)
	s.regression.evaluate()
	s.regression.fit(max(fitShare*(s.Xi*s.squared+s.regression.objective), gainShare*s.gained), updateSteps)
}

func (s *profiledState) swap() {
	s.wide, s.next = s.next, s.wide
	s.wideImage, s.nextImage = s.nextImage, s.wideImage
	s.adopt()
}

// straighten makes Q and P orthonormal again if rounding errors have added up.
func (s *profiledState) straighten() {
	width := s.rank + s.previous
	directions := linalg.Columns(s.wide, 0, width)
	gram := s.threads.Gram(directions)
	var drift mat.Dense
	drift.Sub(gram, linalg.Identity(width))
	if floats.Norm(drift.RawMatrix().Data, math.Inf(1)) <= maxDrift {
		return
	}
	values, vectors, ok := eigen(gram)
	if !ok || !(values[width-1] > 0) {
		return // not finite; the objective shows it too
	}
	root := linalg.Mapped(values, vectors, func(v float64) float64 { return 1 / math.Sqrt(v) })
	for _, a := range []*mat.Dense{directions, linalg.Columns(s.wideImage, 0, width)} {
		a.Copy(s.threads.Product(a, root))
	}
}
