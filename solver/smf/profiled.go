package smf

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
)

const (
	// startSteps and updateSteps bound the Newton steps of the coefficients at the start and in an update, and fitShare is
	// the change of the objective, in units of its size, that they leave.
	startSteps  = 20
	updateSteps = 3
	fitShare    = 1e-11
	// dependent is the eigenvalue of the Gram matrix of unit directions below which one of them is dropped.
	dependent = 1e-9
	// maxDrift is the largest entry of |QᵀQ − I| that is left.
	maxDrift = 1e-13
	// maxRaises bounds how often an update raises the curvature before it gives up; raise is by how much.
	maxRaises = 12
	raise     = 4
	// Of the promised decrease, an update that reaches less than poorShare makes the next one shorter, and one that
	// reaches more than richShare makes it longer.
	poorShare = 0.75
	richShare = 1
	lengthen  = 1.5
)

// profiledState minimizes over the span of Q alone: for a given Q the best Y is X̂ᵀQ, which leaves ξ·(‖X‖² − ‖Y‖²), and
// the best b and Γ are a ridge logistic regression on X·Q (SMF-W) or Q (SMF-H).
//
// With ∇ the gradient by A at the iterate and λ a bound on its curvature, the objective is at most
//
//	F + ⟨∇, A′ − A⟩ + λ/2·‖A′ − A‖² + ξ·(‖X̂ − B′‖² − ‖X̂ − B‖²)
//
// since it is quadratic in B. The best [A′, B′] of rank k is the truncated SVD of [√(λ/2)·Â, √ξ·X̂] with Â = A − ∇/λ: a
// lifted projected gradient step with one length 1/(2ξ) for B and another, 1/λ, for A. Its Q′ spans the leading
// eigenvectors of ξ·X̂X̂ᵀ + (λ/2)·ÂÂᵀ. They are not computed to the end: Q′ is the best basis in the span of Q, of the
// gradient by Q and ∇, and of the directions of the update before, as in the locally optimal block conjugate gradients
// of Knyazev 2001. Then the regression is fitted again. Q′ is taken if the objective falls, else λ rises; since ∇ is
// close to orthogonal to Q after a fit, λ may be far below the bound on the whole curvature.
//
// An update costs one product of X̂ with k + κ columns and one of X̂ᵀ, and about (d + e)·10·k² multiply-adds, beside the
// Newton steps of the regression, each some passes over its n×(k+1+q) design.
type profiledState struct {
	iterate
	regression *regression
	lambda     float64
	previous   int // columns of the directions of the update before

	wide, wideImage *mat.Dense // [Q, R, P] and X̂ᵀ[Q, R, P]: d×(3r+κ) and e×(3r+κ)
	next, nextImage *mat.Dense // the same of the next update
	back            *mat.Dense // X̂·[Y | K], d×(r+κ)
	stacked         *mat.Dense // [Y | K] of SMF-W, e×(r+κ)
	gradient        *mat.Dense // ∇, d×κ
	residual        *mat.Dense // K, n×κ
}

// newProfiled starts from the span of the topics (SMF-W) or of the scores (SMF-H).
func newProfiled(t *task, topics, scores *mat.Dense) (*profiledState, error) {
	start := topics
	if t.Variant == VariantH {
		start = scores
	}
	width := 3*t.rank + t.kappa
	s := &profiledState{
		wide:      mat.NewDense(t.d, width, nil),
		wideImage: mat.NewDense(t.e, width, nil),
		next:      mat.NewDense(t.d, width, nil),
		nextImage: mat.NewDense(t.e, width, nil),
		gradient:  mat.NewDense(t.d, t.kappa, nil),
		residual:  mat.NewDense(t.n, t.kappa, nil),
		back:      mat.NewDense(t.d, t.rank+t.kappa, nil),
	}
	s.task = t
	if t.Variant == VariantW {
		s.stacked = mat.NewDense(t.e, t.rank+t.kappa, nil)
	}
	s.adopt()
	if err := linalg.PolarTo(s.basis, start.Slice(0, t.d, 0, t.rank).(*mat.Dense)); err != nil {
		return nil, fmt.Errorf("making the start orthonormal: %w", err)
	}
	t.side.MulTransTo(s.image, s.basis)
	s.regression = newRegression(t.labels, t.kappa, s.design(nil), t.Ridge)
	s.regression.evaluate()
	s.regression.fit(fitShare*(t.Xi*t.squared+s.regression.objective), startSteps)
	s.head = s.regression.coef
	s.objective = s.total(s.image) + s.regression.objective
	s.lambda = 2*t.Ridge + t.labels.curvature(t.kappa)
	if t.Variant == VariantW {
		s.lambda = 2*t.Ridge + t.labels.curvature(t.kappa)*linalg.Dot(s.image, s.image)/float64(t.rank)
	}
	return s, nil
}

// adopt lets basis and image be the first columns of wide and wideImage.
func (s *profiledState) adopt() {
	s.basis = s.wide.Slice(0, s.d, 0, s.rank).(*mat.Dense)
	s.image = s.wideImage.Slice(0, s.e, 0, s.rank).(*mat.Dense)
}

// design stores [features | z] in dst, or in a new matrix, and returns it.
func (s *profiledState) design(dst *mat.Dense) *mat.Dense {
	_, q := s.z.Dims()
	if dst == nil {
		dst = mat.NewDense(s.n, s.rank+q, nil)
		dst.Slice(0, s.n, s.rank, s.rank+q).(*mat.Dense).Copy(s.z)
	}
	dst.Slice(0, s.n, 0, s.rank).(*mat.Dense).Copy(s.features(s.basis, s.image))
	return dst
}

// total returns ξ·(‖X‖² − ‖Y‖²).
func (s *profiledState) total(image *mat.Dense) float64 {
	return s.Xi * (s.squared - linalg.Dot(image, image))
}

// Update makes one update.
func (s *profiledState) Update() solver.Status {
	s.labels.residualTo(s.residual, s.regression.probs)
	s.products()
	used := s.directions()
	if used == s.rank {
		return solver.Stationary
	}
	small, ok := s.reduce(used)
	if !ok {
		return solver.NonFinite
	}

	kept, previous := s.regression.snapshot(), s.previous
	for range maxRaises + 1 {
		coordinates, model, ok := small.best(s.lambda)
		if !ok {
			return solver.NonFinite
		}
		s.move(coordinates, small, used)
		objective := s.total(s.image) + s.regression.objective
		if math.IsNaN(objective) || math.IsInf(objective, 0) {
			return solver.NonFinite
		}
		gained, promised := s.objective-objective, s.objective-model
		if gained > s.rounding {
			s.objective = objective
			switch {
			case gained < poorShare*promised:
				s.lambda *= lengthen
			case gained > richShare*promised:
				s.lambda = max(s.lambda/lengthen, 2*s.Ridge+math.SmallestNonzeroFloat64)
			}
			return solver.NotTerminated
		}
		s.swap()
		s.previous = previous
		s.regression.restore(kept, s.design(s.regression.design))
		s.head = s.regression.coef
		s.lambda *= raise
	}
	return solver.Stationary
}

// products stores X̂·Y in the first columns of back and ∇ in gradient.
func (s *profiledState) products() {
	r := s.rank
	if s.Variant == VariantW {
		s.stacked.Slice(0, s.e, 0, r).(*mat.Dense).Copy(s.image)
		s.stacked.Slice(0, s.e, r, r+s.kappa).(*mat.Dense).Copy(s.residual)
		s.side.MulTo(s.back, s.stacked)
		s.gradient.Copy(s.back.Slice(0, s.d, r, r+s.kappa))
	} else {
		s.side.MulTo(s.back.Slice(0, s.d, 0, r).(*mat.Dense), s.image)
		s.gradient.Copy(s.residual)
	}
	s.addRidge(s.gradient)
}

// directions stores the new directions R = [2ξ·X̂Y − ∇·b, ∇], less their parts in the span of Q and of length one, behind
// Q in wide, and behind them the previous ones, which it moves together. It returns the columns in use.
func (s *profiledState) directions() int {
	r, width := s.rank, s.rank+s.kappa
	fresh := s.wide.Slice(0, s.d, r, r+width).(*mat.Dense)
	inner := mat.NewDense(s.d, r, nil)
	inner.Mul(s.gradient, s.coef())
	coef := s.Xi * 2
	for i := range s.d {
		out, back, turned := fresh.RawRowView(i), s.back.RawRowView(i), inner.RawRowView(i)
		for t := range r {
			out[t] = coef*back[t] - turned[t]
		}
		copy(out[r:], s.gradient.RawRowView(i))
	}
	sizes := columnNorms(fresh)
	along, part := mat.NewDense(r, width, nil), mat.NewDense(s.d, width, nil)
	for range 2 {
		linalg.InnerTo(along, s.basis, fresh)
		linalg.MulTo(part, s.basis, along)
		fresh.Sub(fresh, part)
	}
	found := false
	for t, size := range columnNorms(fresh) {
		scale := 0.0
		if size > 1e-13*sizes[t] {
			scale, found = 1/size, true
		}
		scaleColumn(fresh, t, scale)
	}
	if !found {
		return r
	}
	s.side.MulTransTo(s.wideImage.Slice(0, s.e, r, r+width).(*mat.Dense), fresh)
	return r + width + s.previous
}

// reduced is the problem of an update in the coordinates of the directions S in use.
type reduced struct {
	gram, images      *mat.Dense // SᵀS and (X̂ᵀS)ᵀ(X̂ᵀS)
	white             *mat.Dense // columns that make SᵀS the identity
	coef, gradient    *mat.Dense // Sᵀ·Q·b and Sᵀ·∇, u×κ
	coefNorm, cross   float64    // ‖b‖² and ⟨Q·b, ∇⟩
	gradientNorm      float64    // ‖∇‖²
	objective, offset float64    // of the regression, and ξ·‖X‖²
	xi                float64
	rank              int
}

// reduce computes the reduced problem of the first columns of wide.
func (s *profiledState) reduce(used int) (*reduced, bool) {
	directions := s.wide.Slice(0, s.d, 0, used).(*mat.Dense)
	m := &reduced{
		gram: mat.NewDense(used, used, nil), images: mat.NewDense(used, used, nil),
		gradient: mat.NewDense(used, s.kappa, nil), coef: mat.NewDense(used, s.kappa, nil),
		objective: s.regression.objective, offset: s.Xi * s.squared, xi: s.Xi, rank: s.rank,
	}
	linalg.GramTo(m.gram, directions)
	linalg.GramTo(m.images, s.wideImage.Slice(0, s.e, 0, used).(*mat.Dense))
	linalg.InnerTo(m.gradient, directions, s.gradient)
	b := s.coef()
	m.coef.Mul(m.gram.Slice(0, used, 0, s.rank), b.T())
	m.coefNorm = linalg.Dot(b, b)
	m.gradientNorm = linalg.Dot(s.gradient, s.gradient)
	for t := range s.rank {
		for c := range s.kappa {
			m.cross += b.At(c, t) * m.gradient.At(t, c)
		}
	}
	values, vectors, ok := eigen(m.gram)
	if !ok {
		return nil, false
	}
	kept := 0
	for kept < used && values[kept] > dependent {
		scaleColumn(vectors, kept, 1/math.Sqrt(values[kept]))
		kept++
	}
	m.white = vectors.Slice(0, used, 0, kept).(*mat.Dense)
	return m, true
}

// best returns the coordinates of the best basis for a curvature λ, u×r, and the bound on the objective there.
func (m *reduced) best(lambda float64) (coordinates *mat.Dense, model float64, ok bool) {
	_, kappa := m.coef.Dims()
	target := mat.DenseCopyOf(m.coef) // Sᵀ·Â
	addScaledTo(target, target, -1/lambda, m.gradient)
	var combined, half, white mat.Dense
	combined.Mul(target, target.T())
	combined.Scale(lambda/2, &combined)
	addScaledTo(&combined, &combined, m.xi, m.images)
	half.Mul(&combined, m.white)
	white.Mul(m.white.T(), &half)
	_, vectors, ok := eigen(&white)
	if !ok {
		return nil, 0, false
	}
	kept, _ := vectors.Dims()
	used, _ := m.white.Dims()
	coordinates = mat.NewDense(used, m.rank, nil)
	coordinates.Mul(m.white, vectors.Slice(0, kept, 0, m.rank))

	var image, inner, hat mat.Dense
	image.Mul(m.images, coordinates)
	inner.Mul(coordinates.T(), target)
	hat.Mul(inner.T(), &inner)
	squared := m.coefNorm - 2*m.cross/lambda + m.gradientNorm/(lambda*lambda)
	var covered float64
	for c := range kappa {
		covered += hat.At(c, c)
	}
	model = m.offset - m.xi*linalg.Dot(&image, coordinates) + m.objective + lambda/2*(squared-covered) - m.gradientNorm/(2*lambda)
	m.align(coordinates)
	return coordinates, model, true
}

// align rotates the basis so that it is as close as can be to the one before: the regression then starts near its end.
func (m *reduced) align(coordinates *mat.Dense) {
	var polar, turned mat.Dense
	polar.CloneFrom(coordinates.Slice(0, m.rank, 0, m.rank))
	if err := linalg.PolarTo(&polar, &polar); err != nil {
		return
	}
	turned.Mul(coordinates, polar.T())
	coordinates.Copy(&turned)
}

// move computes the next iterate from its coordinates into next, and swaps next and wide.
func (s *profiledState) move(coordinates *mat.Dense, m *reduced, used int) {
	r := s.rank
	var target mat.Dense
	target.CloneFrom(m.coef)
	addScaledTo(&target, &target, -1/s.lambda, m.gradient)
	for _, a := range [][2]*mat.Dense{{s.next, s.wide}, {s.nextImage, s.wideImage}} {
		rows, _ := a[1].Dims()
		into, from := a[0].Slice(0, rows, 0, r).(*mat.Dense), a[1].Slice(0, rows, 0, used).(*mat.Dense)
		linalg.MulTo(into, from, coordinates)
	}
	// Of the next basis, what is new in it: the directions for the next update. Computed as a difference of two bases
	// they would lose their digits, and X̂ᵀP would no longer be of P.
	turn := coordinates.Slice(r, used, 0, r).(*mat.Dense)
	at := r + r + s.kappa
	var lengths []float64
	for i, a := range [][2]*mat.Dense{{s.next, s.wide}, {s.nextImage, s.wideImage}} {
		rows, _ := a[1].Dims()
		into := a[0].Slice(0, rows, at, at+r).(*mat.Dense)
		linalg.MulTo(into, a[1].Slice(0, rows, r, used).(*mat.Dense), turn)
		if i == 0 {
			lengths = columnNorms(into)
		}
		for t, length := range lengths {
			if length > 0 {
				scaleColumn(into, t, 1/length)
			}
		}
	}
	s.swap()
	s.previous = r
	s.straighten()
	coef := s.coef()
	coef.Mul(target.T(), coordinates)
	s.design(s.regression.design)
	s.regression.evaluate()
	s.regression.fit(fitShare*(s.Xi*s.squared+s.regression.objective), updateSteps)
	s.head = s.regression.coef
}

// swap exchanges the directions of two updates.
func (s *profiledState) swap() {
	s.wide, s.next = s.next, s.wide
	s.wideImage, s.nextImage = s.nextImage, s.wideImage
	s.adopt()
}

// straighten makes the basis orthonormal again where rounding has added up.
func (s *profiledState) straighten() {
	r := s.rank
	gram := mat.NewDense(r, r, nil)
	linalg.GramTo(gram, s.basis)
	var drift float64
	for i := range r {
		for j := range r {
			want := 0.0
			if i == j {
				want = 1
			}
			drift = max(drift, math.Abs(gram.At(i, j)-want))
		}
	}
	if drift <= maxDrift {
		return
	}
	values, vectors, ok := eigen(gram)
	if !ok || !(values[r-1] > 0) {
		return
	}
	scaled := mat.DenseCopyOf(vectors)
	for t, v := range values {
		scaleColumn(scaled, t, 1/math.Sqrt(v))
	}
	var root mat.Dense
	root.Mul(scaled, vectors.T())
	for _, a := range []*mat.Dense{s.basis, s.image} {
		rows, _ := a.Dims()
		turned := mat.NewDense(rows, r, nil)
		linalg.MulTo(turned, a, &root)
		a.Copy(turned)
	}
}

func columnNorms(a *mat.Dense) []float64 {
	rows, cols := a.Dims()
	norms := make([]float64, cols)
	for i := range rows {
		for j, v := range a.RawRowView(i) {
			norms[j] += v * v
		}
	}
	for j, v := range norms {
		norms[j] = math.Sqrt(v)
	}
	return norms
}
