package smf

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/linalg"
)

const (
	// gradientShare is the relative residual to which a Newton step is computed.
	gradientShare = 0.1
	// maxInner bounds the conjugate gradient iterations of one Newton step.
	maxInner = 50
	// staleInner is the number of iterations above which the preconditioner is computed again.
	staleInner = 5
	// armijo is the share of the promised decrease that a step must reach, and maxHalvings bounds the search for it.
	armijo      = 1e-4
	maxHalvings = 40
	// jitter, a share of the mean diagonal, keeps the preconditioner definite if Ridge is 0.
	jitter = 1e-12
)

// regression is the ridge logistic regression that fits the coefficients to given features:
//
//	minimize Σ wᵢ·ℓ(yᵢ, C·dᵢ) + ν·‖C‖², with dᵢ the i-th row of the n×m design, C the κ×m coefficients
//
// by Newton steps. Each is solved by conjugate gradients with one m×m Cholesky factor for all classes as the
// preconditioner: for two classes that of the Hessian itself. It is kept while the features change little.
type regression struct {
	*task
	design *mat.Dense // n×m
	fitted

	gradient, step, conjugate, rest, product, solved *mat.Dense // κ×m
	moved, trial, residual                           *mat.Dense // n×κ
	weighted                                         *mat.Dense // n×m
	factor                                           blas64.Symmetric
	factored                                         bool
}

// fitted are the coefficients with their activations, probabilities and losses.
type fitted struct {
	coef               *mat.Dense // κ×m
	activations, probs *mat.Dense // n×κ
	loss, objective    float64    // without and with the ridge
}

// newRegression starts from these coefficients, which it keeps and changes.
func newRegression(t *task, design, coef *mat.Dense) *regression {
	_, m := design.Dims()
	g := &regression{task: t, design: design}
	for _, a := range []**mat.Dense{&g.gradient, &g.step, &g.conjugate, &g.rest, &g.product, &g.solved} {
		*a = mat.NewDense(t.kappa, m, nil)
	}
	for _, a := range []**mat.Dense{&g.activations, &g.probs, &g.moved, &g.trial, &g.residual} {
		*a = mat.NewDense(t.n, t.kappa, nil)
	}
	g.coef = coef
	g.evaluate()
	return g
}

// evaluate computes activations, probabilities and objective of the coefficients.
func (g *regression) evaluate() {
	activate(g.activations, g.design, g.coef)
	g.loss = g.labels.loss(g.probs, g.activations)
	g.objective = g.loss + g.Ridge*linalg.Dot(g.coef, g.coef)
}

func (f fitted) clone() fitted {
	f.coef, f.activations, f.probs = mat.DenseCopyOf(f.coef), mat.DenseCopyOf(f.activations), mat.DenseCopyOf(f.probs)
	return f
}

// fit makes Newton steps, at most limit, until one promises to lower the objective by no more than tol. The state must
// be evaluated before the call, and is evaluated after it.
func (g *regression) fit(tol float64, limit int) {
	for range limit {
		g.labels.residualTo(g.residual, g.probs)
		g.accumulate(g.gradient, g.residual, g.coef)
		if !g.factored {
			g.factorize()
		}
		promised, inner := g.newton(2 * tol)
		if !(promised > 2*tol) {
			return
		}
		if inner > staleInner {
			g.factored = false
		}
		if !g.search(-promised) {
			return
		}
	}
}

// search halves the step, which moves the activations by moved, until the objective falls. It reports whether it falls.
func (g *regression) search(slope float64) bool {
	across, along := 2*g.Ridge*linalg.Dot(g.coef, g.step), g.Ridge*linalg.Dot(g.step, g.step)
	base := g.objective - g.loss
	t := 1.0
	for range maxHalvings {
		addScaledTo(g.trial, g.activations, t, g.moved)
		loss := g.labels.loss(g.residual, g.trial)
		objective := loss + base + t*across + t*t*along
		if objective <= g.objective+armijo*t*slope {
			g.activations, g.trial = g.trial, g.activations
			g.probs, g.residual = g.residual, g.probs
			addScaledTo(g.coef, g.coef, t, g.step)
			g.loss, g.objective = loss, objective
			return true
		}
		t /= 2
	}
	return false
}

// newton stores the solution of Hessian·step = −gradient and design·stepᵀ in moved, and returns −gradientᵀstep and the
// number of iterations. It makes none if the preconditioner promises no more than enough.
func (g *regression) newton(enough float64) (promised float64, iterations int) {
	r := g.rest
	r.Scale(-1, g.gradient)
	g.step.Zero()
	g.moved.Zero()
	g.solve(g.solved, r)
	g.conjugate.Copy(g.solved)
	rz := linalg.Dot(r, g.solved)
	if !(rz > enough) {
		return rz, 0
	}
	target := rz * gradientShare * gradientShare
	for ; iterations < maxInner && rz > target; iterations++ {
		activate(g.residual, g.design, g.conjugate)
		g.trial.Copy(g.residual)
		g.labels.curve(g.trial, g.probs)
		g.accumulate(g.product, g.trial, g.conjugate)
		curvature := linalg.Dot(g.conjugate, g.product)
		if !(curvature > 0) || math.IsInf(curvature, 1) {
			break
		}
		alpha := rz / curvature
		addScaledTo(g.step, g.step, alpha, g.conjugate)
		addScaledTo(g.moved, g.moved, alpha, g.residual)
		addScaledTo(r, r, -alpha, g.product)
		g.solve(g.solved, r)
		next := linalg.Dot(r, g.solved)
		addScaledTo(g.conjugate, g.solved, next/rz, g.conjugate)
		rz = next
	}
	return -linalg.Dot(g.gradient, g.step), iterations
}

// factorize computes the Cholesky factor of designᵀ·diag(h)·design + 2ν·I, h the mean curvature of a document's
// classes.
func (g *regression) factorize() {
	n, m := g.design.Dims()
	if g.weighted == nil {
		g.weighted = mat.NewDense(n, m, nil)
	}
	g.weigh(g.weighted, g.design)
	gram := g.threads.Gram(g.weighted)
	shift := 2*g.Ridge + jitter*mat.Trace(gram)/float64(m) + math.SmallestNonzeroFloat64
	for j := range m {
		gram.Set(j, j, gram.At(j, j)+shift)
	}
	g.factor = blas64.Symmetric{N: m, Stride: m, Data: gram.RawMatrix().Data, Uplo: blas.Upper}
	if _, ok := lapack64.Potrf(g.factor); !ok { // not finite, or ν = 0 and saturated: no preconditioner
		gram.Copy(linalg.Identity(m))
	}
	g.factored = true
}

// weigh stores diag(√h)·a in dst.
func (g *regression) weigh(dst, a *mat.Dense) {
	for i := range g.labels.class {
		var h float64
		p := g.probs.RawRowView(i)
		for _, v := range p {
			h += v * (1 - v)
		}
		floats.ScaleTo(dst.RawRowView(i), math.Sqrt(g.labels.weight(i)*h/float64(len(p))), a.RawRowView(i))
	}
}

// solve applies the preconditioner to each class.
func (g *regression) solve(dst, r *mat.Dense) {
	dst.Copy(r)
	kappa, m := dst.Dims()
	triangle := blas64.Triangular{
		N: m, Stride: g.factor.Stride, Data: g.factor.Data, Uplo: blas.Upper, Diag: blas.NonUnit,
	}
	for c := range kappa {
		v := blas64.Vector{N: m, Inc: 1, Data: dst.RawRowView(c)}
		blas64.Trsv(blas.Trans, triangle, v)
		blas64.Trsv(blas.NoTrans, triangle, v)
	}
}

// accumulate stores Kᵀ·design + 2ν·C in dst for K n×κ.
func (g *regression) accumulate(dst, k, coef *mat.Dense) {
	dst.Scale(2*g.Ridge, coef)
	kappa, _ := dst.Dims()
	for i := range g.labels.class {
		row := g.design.RawRowView(i)
		for c := range kappa {
			floats.AddScaled(dst.RawRowView(c), k.At(i, c), row)
		}
	}
}

// activate stores design·coefᵀ in the n×κ matrix dst.
func activate(dst, design, coef *mat.Dense) {
	n, kappa := dst.Dims()
	for c := range kappa {
		row := coef.RawRowView(c)
		for i := range n {
			dst.Set(i, c, floats.Dot(design.RawRowView(i), row))
		}
	}
}

// addScaledTo stores a + s·b in dst, which may be a or b.
func addScaledTo(dst, a *mat.Dense, s float64, b *mat.Dense) {
	rows, _ := dst.Dims()
	for i := range rows {
		floats.AddScaledTo(dst.RawRowView(i), a.RawRowView(i), s, b.RawRowView(i))
	}
}
