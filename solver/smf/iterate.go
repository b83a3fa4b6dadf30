package smf

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
)

// iterate is Θ = [A, B] = Q·[b, Yᵀ] with Γ.
type iterate struct {
	*task
	basis     *mat.Dense // Q, d×r, orthonormal
	image     *mat.Dense // Y, e×r
	head      *mat.Dense // [bᵀ | Γᵀ], κ×(r+1+q)
	objective float64
	result    *solver.Head
}

// Objective returns the objective of the iterate.
func (it *iterate) Objective() float64 { return it.objective }

// Factors returns the iterate, not in its final gauge.
func (it *iterate) Factors() (topics, scores *mat.Dense) {
	if it.Variant == VariantW {
		return it.basis, it.image
	}
	return widened(it.image, it.k), widened(it.basis, it.k)
}

// Head returns the coefficients after Finish.
func (it *iterate) Head() *solver.Head { return it.result }

// Finish turns the iterate into the gauge of the package comment and recomputes the objective.
func (it *iterate) Finish() (topics, scores *mat.Dense, objective float64) {
	r := it.rank
	coef := mat.DenseCopyOf(it.head.Slice(0, it.kappa, 0, r))
	it.rotate(coef)
	for t := range r {
		strength := math.Hypot(columnNorm(it.image, t), columnNorm(coef, t))
		_, sign := largestEntry(it.basis, t)
		if it.Variant == VariantH {
			var size float64
			size, sign = largestEntry(coef, t)
			if below, s := largestEntry(it.image, t); below > size {
				sign = s
			}
		}
		root := math.Sqrt(strength)
		scaleColumn(it.basis, t, sign*root)
		if root > 0 {
			scaleColumn(it.image, t, sign/root)
			scaleColumn(coef, t, sign/root)
		}
	}
	topics, scores = it.Factors()
	topics, scores = mat.DenseCopyOf(topics), mat.DenseCopyOf(scores) // not views of a wider matrix
	it.result = headOf(it.head, r)
	it.result.Coefficients = widened(coef, it.k)
	return topics, scores, it.recompute(topics, scores)
}

// rotate multiplies Q, Y and b, κ×r, by the orthogonal matrix that makes the columns of [b, Yᵀ]ᵀ orthogonal, longest
// first.
func (it *iterate) rotate(coef *mat.Dense) {
	gram, small := mat.NewDense(it.rank, it.rank, nil), mat.NewDense(it.rank, it.rank, nil)
	linalg.GramTo(gram, it.image)
	linalg.GramTo(small, coef)
	gram.Add(gram, small)
	_, vectors, ok := eigen(gram)
	if !ok {
		return
	}
	for _, a := range []*mat.Dense{it.basis, it.image, coef} {
		rows, cols := a.Dims()
		turned := mat.NewDense(rows, cols, nil)
		linalg.MulTo(turned, a, vectors)
		a.Copy(turned)
	}
}

// recompute returns the objective of factors and result by its definition.
func (it *iterate) recompute(topics, scores *mat.Dense) float64 {
	on := topics
	if it.Variant == VariantH {
		on = scores
	}
	rows, _ := on.Dims()
	a := mat.NewDense(rows, it.kappa, nil)
	a.Mul(on, it.result.Coefficients.T())
	activations := a
	if it.Variant == VariantW {
		activations = mat.NewDense(it.n, it.kappa, nil)
		it.x.MulTo(activations, a)
	}
	_, m := it.head.Dims()
	gamma := it.head.Slice(0, it.kappa, it.rank, m).(*mat.Dense)
	total := mat.NewDense(it.n, it.kappa, nil)
	activate(total, it.z, gamma)
	total.Add(total, activations)
	loss := it.labels.loss(total, total)
	return it.Xi*solver.SquaredResidual(it.x, topics, scores) + loss + it.Ridge*(linalg.Dot(a, a)+linalg.Dot(gamma, gamma))
}

// features returns what the activations are linear in: X̂ᵀQ for SMF-W, which the caller has, and Q for SMF-H.
func (t *task) features(basis, products *mat.Dense) *mat.Dense {
	if t.Variant == VariantW {
		return products
	}
	return basis
}

// gradientTo stores ∂F/∂A = X·K or K, plus 2ν·Q·b, in the d×κ matrix dst for the residuals K, n×κ, of the label loss.
func (it *iterate) gradientTo(dst, k *mat.Dense) {
	if it.Variant == VariantW {
		it.side.MulTo(dst, k)
	} else {
		dst.Copy(k)
	}
	it.addRidge(dst)
}

// addRidge adds 2ν·Q·b to dst.
func (it *iterate) addRidge(dst *mat.Dense) {
	product := mat.NewDense(it.d, it.kappa, nil)
	product.Mul(it.basis, it.coef().T())
	addScaledTo(dst, dst, 2*it.Ridge, product)
}

// coef returns bᵀ, κ×r, which aliases the head.
func (it *iterate) coef() *mat.Dense { return it.head.Slice(0, it.kappa, 0, it.rank).(*mat.Dense) }

// widened returns a with columns of zeros up to k.
func widened(a *mat.Dense, k int) *mat.Dense {
	rows, cols := a.Dims()
	if cols == k {
		return a
	}
	wide := mat.NewDense(rows, k, nil)
	wide.Slice(0, rows, 0, cols).(*mat.Dense).Copy(a)
	return wide
}

// eigen returns eigenvalues, largest first, and eigenvectors of a symmetric matrix.
func eigen(a *mat.Dense) (values []float64, vectors *mat.Dense, ok bool) {
	n, _ := a.Dims()
	var e mat.EigenSym
	if norm := mat.Norm(a, 2); math.IsNaN(norm) || math.IsInf(norm, 0) || !e.Factorize(mat.NewSymDense(n, mat.DenseCopyOf(a).RawMatrix().Data), true) {
		return nil, nil, false
	}
	values = e.Values(nil)
	var ascending mat.Dense
	e.VectorsTo(&ascending)
	vectors = mat.NewDense(n, n, nil)
	for i := range n {
		row, from := vectors.RawRowView(i), ascending.RawRowView(i)
		for j := range row {
			row[j] = from[n-1-j]
		}
	}
	for i, j := 0, n-1; i < j; i, j = i+1, j-1 {
		values[i], values[j] = values[j], values[i]
	}
	return values, vectors, true
}

func columnNorm(a *mat.Dense, j int) float64 { return mat.Norm(a.ColView(j), 2) }

// largestEntry returns magnitude and sign of the largest entry of a column; of several the first.
func largestEntry(a *mat.Dense, j int) (size, sign float64) {
	rows, _ := a.Dims()
	sign = 1
	for i := range rows {
		if v := a.At(i, j); math.Abs(v) > size {
			size, sign = math.Abs(v), math.Copysign(1, v)
		}
	}
	return size, sign
}

func scaleColumn(a *mat.Dense, j int, factor float64) {
	rows, _ := a.Dims()
	for i := range rows {
		a.Set(i, j, factor*a.At(i, j))
	}
}
