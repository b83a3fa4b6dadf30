package cfa

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/linalg"
)

// implied is what a point of the parameters implies for a group.
type implied struct {
	p, m       int
	theta, psi *mat.SymDense
	nu, delta  []float64
	tau        [][]float64
	t, omega   *mat.Dense // T and Ω, m×m
	eta        []float64
	// basis is [I, ΛT, ΛΩ], p×(p+2m): the derivatives of Σ and μ are products of its columns, see slope.
	basis *mat.Dense
	sigma *mat.SymDense
	mu    []float64
}

// at returns the value of a cell at the free parameters θ.
func (c *cell) at(theta []float64) float64 {
	if c.free == fixed {
		return c.value
	}
	return theta[c.free]
}

// at returns what the free parameters θ imply for each group.
func (m *model) at(theta []float64) []implied {
	p, k := len(m.items), len(m.factors)
	all := make([]implied, len(m.groups))
	lambda, b, alpha := make([]*mat.Dense, len(all)), make([]*mat.Dense, len(all)), make([]*mat.VecDense, len(all))
	for g := range all {
		lambda[g], b[g], alpha[g] = mat.NewDense(p, k, nil), mat.NewDense(k, k, nil), mat.NewVecDense(k, nil)
		all[g] = implied{
			p: p, m: k, theta: mat.NewSymDense(p, nil), psi: mat.NewSymDense(k, nil), nu: make([]float64, p),
			delta: make([]float64, p), tau: make([][]float64, p),
		}
		floats.AddConst(1, all[g].delta)
	}
	for e := range m.cells {
		c := &m.cells[e]
		to, v := &all[c.group], c.at(theta)
		switch c.kind {
		case path:
			if c.i < p {
				lambda[c.group].Set(c.i, c.j-p, v)
			} else {
				b[c.group].Set(c.i-p, c.j-p, v)
			}
		case covariance:
			if c.i < p {
				to.theta.SetSym(c.i, c.j, v)
			} else {
				to.psi.SetSym(c.i-p, c.j-p, v)
			}
		case mean:
			if c.i < p {
				to.nu[c.i] = v
			} else {
				alpha[c.group].SetVec(c.i-p, v)
			}
		case threshold:
			to.tau[c.i] = append(to.tau[c.i], v)
		case scale:
			to.delta[c.i] = v
		}
	}
	for g := range all {
		all[g].finish(lambda[g], b[g], alpha[g])
		if m.cuts != nil {
			all[g].unit()
		}
	}
	return all
}

func (im *implied) finish(lambda, b *mat.Dense, alpha *mat.VecDense) {
	p, m := im.p, im.m
	// T = I + B + B² + …: no circle, so that the series ends.
	im.t = linalg.Identity(m)
	if mat.Norm(b, 1) > 0 {
		power := linalg.Identity(m)
		for range m - 1 {
			var next mat.Dense
			next.Mul(power, b)
			power = &next
			im.t.Add(im.t, power)
		}
	}
	var half, tilted, weighted mat.Dense
	im.omega = mat.NewDense(m, m, nil)
	half.Mul(im.t, im.psi)
	im.omega.Mul(&half, im.t.T())
	tilted.Mul(lambda, im.t)
	weighted.Mul(lambda, im.omega)
	im.basis = mat.NewDense(p, p+2*m, nil)
	for i := range p {
		row := im.basis.RawRowView(i)
		row[i] = 1
		copy(row[p:], tilted.RawRowView(i))
		copy(row[p+m:], weighted.RawRowView(i))
	}
	var common mat.Dense
	common.Mul(&weighted, lambda.T())
	im.sigma = mat.NewSymDense(p, nil)
	for i := range p {
		for j := range i + 1 {
			im.sigma.SetSym(i, j, common.At(i, j)+im.theta.At(i, j))
		}
	}
	eta, shift := mat.NewVecDense(m, nil), mat.NewVecDense(p, nil)
	eta.MulVec(im.t, alpha)
	shift.MulVec(lambda, eta)
	im.eta, im.mu = eta.RawVector().Data, shift.RawVector().Data
	floats.Add(im.mu, im.nu)
}

// unit sets the residual variances of ordered items, so that y* has variance 1/δ².
func (im *implied) unit() {
	for i, d := range im.delta {
		v := 1 / (d * d)
		im.theta.SetSym(i, i, v-im.sigma.At(i, i))
		im.sigma.SetSym(i, i, v)
	}
}

// slope is the derivative of Σ and μ with respect to a cell: c·(uvᵀ + vuᵀ) and e·u for the columns u and v of the
// basis.
type slope struct {
	u, v int
	c, e float64
}

// slope returns the derivative with respect to a path, a covariance or a mean.
func (im *implied) slope(c *cell) slope {
	switch {
	case c.kind == path:
		return slope{u: c.i, v: c.j + im.m, c: 1, e: im.eta[c.j-im.p]}
	case c.kind == mean:
		return slope{u: c.i, v: c.i, e: 1}
	case c.i == c.j:
		return slope{u: c.i, v: c.i, c: .5}
	default:
		return slope{u: c.i, v: c.j, c: 1}
	}
}

// share is a multiple of a column of the basis.
type share struct {
	column int
	times  float64
}

// turn returns the derivative of a column of the basis with respect to a path or a covariance: with T of nodes, which
// is I for items,
//
//	ΛT of node x by the path to y from k:  column y · T_kx,
//	ΛΩ of factor l by the path to y from k:  column y · Ω_kl + column k of ΛΩ · T_ly,
//	ΛΩ of factor l by the covariance of y and z:  column y · T_lz + column z · T_ly.
func (im *implied) turn(column int, c *cell) (all [2]share) {
	t := func(factor, node int) float64 { // both from p on, or 0
		if node < im.p {
			return 0
		}
		return im.t.At(factor-im.p, node-im.p)
	}
	source := column - im.m // of a column of ΛΩ
	switch {
	case column < im.p+im.m && c.kind == path:
		all[0] = share{c.i, t(c.j, column)}
	case column < im.p+im.m || c.kind == mean:
	case c.kind == path:
		all[0] = share{c.i, im.omega.At(c.j-im.p, source-im.p)}
		all[1] = share{c.j + im.m, t(source, c.i)}
	case c.i == c.j:
		all[0] = share{c.i, t(source, c.i)}
	default:
		all[0], all[1] = share{c.i, t(source, c.j)}, share{c.j, t(source, c.i)}
	}
	return all
}

// bend returns the derivative of the factor's mean η in the slope of a by b.
func (im *implied) bend(a, b *cell) float64 {
	if a.kind != path || b.kind == covariance || b.i < im.p {
		return 0
	}
	t := im.t.At(a.j-im.p, b.i-im.p)
	if b.kind == path {
		t *= im.eta[b.j-im.p]
	}
	return t
}

// form returns BᵀMB for the rows of the basis B that are these items, and the columns of B as a square of numbers.
func (im *implied) form(items []int, m *mat.SymDense) []float64 {
	p, width, k := im.p, im.p+2*im.m, len(items)
	rest := mat.NewDense(k, 2*im.m, nil)
	for a, i := range items {
		copy(rest.RawRowView(a), im.basis.RawRowView(i)[p:])
	}
	var right, corner mat.Dense
	right.Mul(m, rest)
	corner.Mul(rest.T(), &right)
	f := make([]float64, width*width)
	for a, i := range items {
		row := f[i*width:]
		for b, j := range items {
			row[j] = m.At(a, b)
		}
		for e, v := range right.RawRowView(a) {
			row[p+e], f[(p+e)*width+i] = v, v
		}
	}
	for e := range 2 * im.m {
		copy(f[(p+e)*width+p:], corner.RawRowView(e))
	}
	return f
}

// along returns Bᵀd for the rows of the basis that are these items.
func (im *implied) along(items []int, d []float64) []float64 {
	z := make([]float64, im.p+2*im.m)
	for a, i := range items {
		floats.AddScaled(z, d[a], im.basis.RawRowView(i))
	}
	return z
}
