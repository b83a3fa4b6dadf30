package cfa

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/linalg"
)

// objective is what a fit minimizes.
type objective interface {
	// loss returns the function at θ, +∞ where it is not defined.
	loss(theta []float64) float64
	// scoring returns its derivative at θ, and its second derivative or the expectation of that.
	scoring(theta []float64, observed bool) (gradient []float64, information *mat.SymDense)
	// candidates returns for each cell the derivative of the function at θ, and the expectation of its second
	// derivatives with the free parameters, and with itself.
	candidates(theta []float64, cells []cell) (gradient []float64, cross *mat.Dense, own []float64)
}

// normal is the negative log-likelihood of normal answers, of complete rows (one pattern a group) or of all (FIML).
type normal struct {
	*model
	patterns [][]factoranalysis.Pattern // of each group
	free     []cell
}

func newNormal(m *model, patterns [][]factoranalysis.Pattern) *normal {
	return &normal{model: m, patterns: patterns, free: m.freeCells()}
}

// mu returns the implied means: without means in the model, those of the answers.
func (o *normal) mu(g int, im *implied) []float64 {
	if o.means {
		return im.mu
	}
	return o.patterns[g][0].Mean
}

func (o *normal) loss(theta []float64) float64 {
	all := o.at(theta)
	var sum float64
	var l patternLikelihood
	for g := range all {
		for e := range o.patterns[g] {
			if !l.to(&o.patterns[g][e], o.mu(g, &all[g]), all[g].sigma) {
				return math.Inf(1)
			}
			sum -= l.log
		}
	}
	return sum
}

// score is BᵀGB and Bᵀs of a group, with G and s the derivatives of the log-likelihood by Σ and μ.
type score struct{ form, along []float64 }

// scores returns the score of each group.
func (o *normal) scores(all []implied) (scores []score) {
	for g := range all {
		_, ofMean, ofCov, ok := factoranalysis.NormalScore(o.patterns[g], o.mu(g, &all[g]), all[g].sigma)
		if !ok {
			return nil
		}
		items := linalg.Indices(all[g].p)
		scores = append(scores, score{all[g].form(items, ofCov), all[g].along(items, ofMean)})
	}
	return scores
}

// gradientOf returns the derivatives of the function by these cells.
func gradientOf(all []implied, scores []score, cells []cell) []float64 {
	gradient := make([]float64, len(cells))
	for e := range cells {
		im, of := &all[cells[e].group], &scores[cells[e].group]
		width, s := im.p+2*im.m, im.slope(&cells[e])
		gradient[e] = -2*s.c*of.form[s.u*width+s.v] - s.e*of.along[s.u]
	}
	return gradient
}

func (o *normal) scoring(theta []float64, observed bool) (gradient []float64, information *mat.SymDense) {
	all := o.at(theta)
	scores := o.scores(all)
	information = mat.NewSymDense(o.model.free, nil)
	gradient = make([]float64, o.model.free)
	for e, v := range gradientOf(all, scores, o.free) {
		gradient[o.free[e].free] += v
	}
	if !observed {
		scores = nil
	}
	o.information(all, scores, o.free, o.free, nil, o.adder(information))
	return gradient, information
}

// adder returns a function that adds what belongs to two free cells, which information names once.
func (o *normal) adder(to *mat.SymDense) func(a, b int, v float64) {
	return func(a, b int, v float64) {
		i, j := o.free[a].free, o.free[b].free
		if a != b && i == j {
			v *= 2
		}
		to.SetSym(i, j, to.At(i, j)+v)
	}
}

// information adds, for each pair of cells of the same group, the second derivative of the function, or without scores
// its expectation. If rows and columns are the same list, each pair comes once. own, unless nil, gets that of each row
// with itself.
//
// With P = K⁻¹, W and d of each pattern, and Σ_a, μ_a the derivatives by cell a, the expectation is
//
//	Σ N·(tr(PΣ_aPΣ_b)/2 + μ_aᵀPμ_b),
//
// and the second derivative adds Σ N·(tr(Σ_aPΣ_bW) + μ_aᵀPΣ_bPd + μ_bᵀPΣ_aPd) − tr(GΣ_ab) − sᵀμ_ab.
func (o *normal) information(all []implied, scores []score, rows, columns []cell, own []float64,
	add func(a, b int, v float64),
) {
	once := len(rows) > 0 && len(columns) > 0 && &rows[0] == &columns[0]
	of := func(cells []cell, g int) (at []int, slopes []slope) {
		for e := range cells {
			if cells[e].group == g {
				at, slopes = append(at, e), append(slopes, all[g].slope(&cells[e]))
			}
		}
		return at, slopes
	}
	var l patternLikelihood
	for g := range all {
		im := &all[g]
		left, leftSlopes := of(rows, g)
		right, rightSlopes := of(columns, g)
		sums := make([]float64, len(left)*len(right))
		for e := range o.patterns[g] {
			pattern := &o.patterns[g][e]
			if !l.to(pattern, o.mu(g, im), im.sigma) {
				return
			}
			by := products{n: float64(pattern.N), width: im.p + 2*im.m, p: im.form(pattern.Items, l.p)}
			if scores != nil {
				by.w, by.pd = im.form(pattern.Items, l.w), im.along(pattern.Items, l.pd)
			}
			for x, a := range leftSlopes {
				first := 0
				if once {
					first = x
				}
				for y := first; y < len(right); y++ {
					sums[x*len(right)+y] += by.of(a, rightSlopes[y])
				}
				if own != nil {
					own[left[x]] += by.of(a, a)
				}
			}
		}
		for x, a := range left {
			for y, b := range right {
				if once && y < x {
					continue
				}
				v := sums[x*len(right)+y]
				if scores != nil {
					v -= im.second(&rows[a], &columns[b], &scores[g])
				}
				add(a, b, v)
			}
		}
	}
}

// products are BᵀPB, and for the second derivative BᵀWB and BᵀPd, of a pattern.
type products struct {
	n        float64
	width    int
	p, w, pd []float64
}

// of returns the terms of a pattern for two cells.
func (by *products) of(a, b slope) float64 {
	pu, pv := by.p[a.u*by.width:], by.p[a.v*by.width:]
	uu, uv, vu, vv := pu[b.u], pu[b.v], pv[b.u], pv[b.v]
	sum := a.c*b.c*(uu*vv+uv*vu) + a.e*b.e*uu
	if by.w != nil {
		wu, wv := by.w[a.u*by.width:], by.w[a.v*by.width:]
		sum += a.c*b.c*(vu*wu[b.v]+vv*wu[b.u]+uu*wv[b.v]+uv*wv[b.u]) + a.e*b.c*(uu*by.pd[b.v]+uv*by.pd[b.u]) +
			b.e*a.c*(uu*by.pd[a.v]+vu*by.pd[a.u])
	}
	return by.n * sum
}

// second returns tr(GΣ_ab) + sᵀμ_ab.
func (im *implied) second(a, b *cell, of *score) (sum float64) {
	width, s := im.p+2*im.m, im.slope(a)
	if s.c != 0 {
		for _, by := range im.turn(s.u, b) {
			sum += 2 * s.c * by.times * of.form[by.column*width+s.v]
		}
		for _, by := range im.turn(s.v, b) {
			sum += 2 * s.c * by.times * of.form[s.u*width+by.column]
		}
	}
	if s.e != 0 {
		for _, by := range im.turn(s.u, b) {
			sum += s.e * by.times * of.along[by.column]
		}
	}
	return sum + im.bend(a, b)*of.along[s.u]
}

func (o *normal) candidates(theta []float64, cells []cell) (gradient []float64, cross *mat.Dense, own []float64) {
	all := o.at(theta)
	gradient = gradientOf(all, o.scores(all), cells)
	cross, own = mat.NewDense(len(cells), o.model.free, nil), make([]float64, len(cells))
	o.information(all, nil, cells, o.free, own, func(a, b int, v float64) {
		cross.Set(a, o.free[b].free, cross.At(a, o.free[b].free)+v)
	})
	return gradient, cross, own
}

// patternLikelihood is the normal log-likelihood of a pattern and what its derivatives are made of: with the implied
// K = Σ_oo, d = mean − μ_o and C = RootRootᵀ/N + ddᵀ, P = K⁻¹, Pd, and the score W = PCP − P.
type patternLikelihood struct {
	log   float64
	p, w  *mat.SymDense
	pd    []float64
	shift []float64
}

// to computes all for μ, p, and Σ, p×p. It reports false if Σ_oo is not positive definite.
func (l *patternLikelihood) to(g *factoranalysis.Pattern, mu []float64, sigma *mat.SymDense) bool {
	k, n := len(g.Items), float64(g.N)
	l.p, l.w = mat.NewSymDense(k, nil), mat.NewSymDense(k, nil)
	l.pd, l.shift = make([]float64, k), make([]float64, k)
	l.p.SubsetSym(sigma, g.Items)
	for a, i := range g.Items {
		l.shift[a] = g.Mean[a] - mu[i]
	}
	var factor mat.Cholesky
	if !factor.Factorize(l.p) || factor.InverseTo(l.p) != nil {
		return false
	}
	pd, shift := mat.NewVecDense(k, l.pd), mat.NewVecDense(k, l.shift)
	pd.MulVec(l.p, shift)
	square := mat.Dot(pd, shift)
	l.w.CopySym(l.p)
	raw := l.w.RawSymmetric()
	blas64.Scal(-1, blas64.Vector{N: len(raw.Data), Inc: 1, Data: raw.Data})
	if g.Root != nil {
		var around mat.Dense
		around.Mul(l.p, g.Root)
		square += linalg.Dot(&around, g.Root) / n
		blas64.Syrk(blas.NoTrans, 1/n, around.RawMatrix(), 1, raw)
	}
	l.w.SymRankOne(l.w, 1, pd)
	l.log = -n / 2 * (float64(k)*math.Log(2*math.Pi) + factor.LogDet() + square)
	return true
}
