package factoranalysis

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/linalg"
)

const (
	// maxProjected bounds the steps of the projected gradient, and obliqueTol ends them.
	maxProjected = 10000
	obliqueTol   = 1e-10
	// maxProjectedHalvings bounds the steps tried for one direction.
	maxProjectedHalvings = 30
	// betterMinimum is the share of the first minimum by which a second one must be lower to count as different.
	betterMinimum = 1e-6
)

// Oblimin returns the pattern loadings P (p×k) and the factor correlations Φ (k×k) of the oblique rotation of the
// loadings A (p×k) that minimizes
//
//	Σ_{s<t} Σⱼ p_js²·p_jt²/2,  P = A·T⁻ᵀ,  Φ = TᵀT with a diagonal of ones,
//
// direct quartimin, which is oblimin with γ = 0: R. I. Jennrich and P. F. Sampson, "Rotation for simple loadings",
// 1966. Rows are not normalized. The minimum is found by the projected gradient from T = I, like in other programs, and
// from the varimax rotation: R. I. Jennrich, "A simple general method for oblique rotation", 2002. The lower of both
// minima is returned: each is local, and factors of equal size have no unique principal axes to start from.
func Oblimin(loadings *mat.Dense) (pattern, phi *mat.Dense) {
	_, k := loadings.Dims()
	best := obliqueFrom(loadings, linalg.Identity(k))
	_, rotation := Varimax(loadings)
	if other := obliqueFrom(loadings, rotation); other.objective < best.objective*(1-betterMinimum) {
		best = other
	}
	phi = new(mat.Dense)
	phi.Mul(best.axes.T(), best.axes)
	for t := range k {
		phi.Set(t, t, 1)
	}
	return best.pattern, phi
}

// obliqueFrom returns the minimum to which the projected gradient leads from these orthonormal axes.
func obliqueFrom(loadings, axes *mat.Dense) *oblique {
	at := newOblique(loadings, axes)
	length := 1.0
	for range maxProjected {
		direction, steepness := at.direction()
		if steepness <= obliqueTol {
			break
		}
		length *= 2
		var next *oblique
		for range maxProjectedHalvings {
			var turned mat.Dense
			turned.Scale(-length, direction)
			turned.Add(at.axes, &turned)
			lengths := linalg.ColumnSquares(&turned)
			for t, v := range lengths {
				lengths[t] = 1 / math.Sqrt(v)
			}
			linalg.ScaleColumns(&turned, &turned, lengths)
			if there := newOblique(loadings, &turned); there != nil &&
				there.objective < at.objective-length*steepness*steepness/2 {
				next = there
				break
			}
			length /= 2
		}
		if next == nil { // the remaining gain is below rounding
			break
		}
		at = next
	}
	return at
}

// oblique is the criterion of oblimin at axes T.
type oblique struct {
	axes, inverse, pattern *mat.Dense
	objective              float64
}

// newOblique returns nil if T has no inverse.
func newOblique(loadings, axes *mat.Dense) *oblique {
	o := &oblique{axes: axes, inverse: new(mat.Dense), pattern: new(mat.Dense)}
	if o.inverse.Inverse(axes) != nil {
		return nil
	}
	o.pattern.Mul(loadings, o.inverse.T())
	p, k := o.pattern.Dims()
	for i := range p {
		var squares, fourth float64
		for _, v := range o.pattern.RawRowView(i)[:k] {
			squares += v * v
			fourth += v * v * v * v
		}
		o.objective += (squares*squares - fourth) / 4
	}
	return o
}

// direction returns the gradient with respect to T, projected on the tangents of the unit columns, and its norm.
//
//	∂f/∂p_jt = p_jt·Σ_{s≠t} p_js²,  ∂f/∂T = −(Pᵀ·∂f/∂P·T⁻¹)ᵀ
func (o *oblique) direction() (direction *mat.Dense, steepness float64) {
	p, k := o.pattern.Dims()
	slope := mat.NewDense(p, k, nil)
	for i := range p {
		var squares float64
		for _, v := range o.pattern.RawRowView(i) {
			squares += v * v
		}
		for t, v := range o.pattern.RawRowView(i) {
			slope.Set(i, t, v*(squares-v*v))
		}
	}
	var product, gradient mat.Dense
	product.Mul(o.pattern.T(), slope)
	gradient.Mul(&product, o.inverse)
	direction = mat.NewDense(k, k, nil)
	for t := range k {
		var along float64
		for s := range k {
			along -= o.axes.At(s, t) * gradient.At(t, s)
		}
		for s := range k {
			direction.Set(s, t, -gradient.At(t, s)-o.axes.At(s, t)*along)
		}
	}
	return direction, mat.Norm(direction, 2)
}
