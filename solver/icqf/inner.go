package icqf

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/linalg"
)

const (
	// rounds is the number of rounds of coordinate descent of an update: with four or more, even the exact minimum
	// would not help the following updates further.
	rounds = 4
	// steps is the number of accelerated gradient steps of an update.
	steps = 30
)

// inner is one of the two lasso problems of an update: minimize over X, whose columns are rows of W or of B, in [0,
// upper]
//
//	½·tr(XᵀGX) − tr(XᵀC) + (l1/ρ)·ΣX + (l2/2ρ)·‖X‖².
type inner struct {
	kind Inner
	weights
	penalized int // the entries from here on have no penalty
	rho       float64
	box       linalg.Box
}

// weights are those of the ℓ1 penalty and of the ridge.
type weights struct{ l1, l2 float64 }

// newInner returns the problem of k entries, all of them penalized. 0 is no upper bound.
func newInner(kind Inner, k int, w weights, upper float64) *inner {
	return &inner{
		kind: kind, weights: w, penalized: k,
		box: linalg.Box{Gram: mat.NewDense(k, k, nil), Upper: cmp.Or(upper, math.Inf(1)), Rounds: rounds},
	}
}

// penalty returns the penalty of a matrix of penalized unknowns, rows or columns.
func (p *inner) penalty(a *mat.Dense) float64 {
	var sum, squares float64
	for i := range a.RawMatrix().Rows {
		row := a.RawRowView(i)
		sum += floats.Sum(row)
		if p.l2 > 0 {
			squares += floats.Dot(row, row)
		}
	}
	return p.l1*sum + p.l2/2*squares
}

// prepare makes the problem ready for a new Gram matrix, to which it adds the ridge.
func (p *inner) prepare(rho float64) {
	p.rho = rho
	for t := range p.penalized {
		p.box.Gram.RawRowView(t)[t] += p.l2 / rho
	}
}

// improve improves the first count columns of X, each separately, for those of C, which it overwrites.
func (p *inner) improve(x, c *mat.Dense, count int) {
	shift := p.l1 / p.rho
	for t := range p.penalized {
		row, dead := c.RawRowView(t)[:count], p.box.Gram.At(t, t) == 0
		floats.AddConst(-shift, row)
		// An entry that fits nothing is best at 0 for its penalty.
		if dead && p.l1 > 0 {
			clear(x.RawRowView(t))
		}
	}
	if p.kind == FISTA {
		p.accelerate(x, c)
		return
	}
	p.box.Improve(x, c)
}

// accelerate makes the steps of FISTA (Beck and Teboulle 2009): with x₀ = y₁ and t₁ = 1
//
//	xᵢ = cut(yᵢ − (G·yᵢ − c)/L), tᵢ₊₁ = (1 + √(1+4tᵢ²))/2, yᵢ₊₁ = xᵢ + (tᵢ − 1)/tᵢ₊₁·(xᵢ − xᵢ₋₁).
//
// The ℓ1 norm of entries ≥ 0 is linear and part of c, so its proximal step is the clipping. The value may rise from
// step to step, but never above that of x₀: plus ½L‖xᵢ − xᵢ₋₁‖², it never rises (Chambolle and Dossal 2015).
func (p *inner) accelerate(x, c *mat.Dense) {
	var y, gradient mat.Dense
	y.CloneFrom(x)
	gradient.CloneFrom(x)
	at, ahead, downhill := x.RawMatrix().Data, y.RawMatrix().Data, gradient.RawMatrix().Data
	cross := c.RawMatrix().Data
	t, size := 1.0, 0.0
	if largest := mat.Norm(p.box.Gram, math.Inf(1)); largest > 0 { // an upper bound L of the eigenvalues
		size = 1 / largest
	}
	for range steps {
		linalg.Threads(1).MulTo(&gradient, p.box.Gram, &y)
		next := (1 + math.Sqrt(1+4*t*t)) / 2
		momentum := (t - 1) / next
		for i, old := range at {
			v := min(max(ahead[i]-size*(downhill[i]-cross[i]), 0), p.box.Upper)
			at[i] = v
			ahead[i] = v + momentum*(v-old)
		}
		t = next
	}
}
