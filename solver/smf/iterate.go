package smf

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

// negligible is a share of the largest eigenvalue. Directions with smaller eigenvalues are ignored.
const negligible = 1e-14

// iterate is Θ = [A, B] = Q·[b, Yᵀ] with Γ.
type iterate struct {
	*task
	basis     *mat.Dense // Q, d×r, orthonormal
	image     *mat.Dense // Y, e×r
	head      *mat.Dense // [bᵀ | Γᵀ], κ×(r+1+q)
	objective float64
	result    *solver.Head
}

func (it *iterate) Objective() float64 { return it.objective }

// Factors returns the iterate, not in its final gauge.
func (it *iterate) Factors() (topics, scores *mat.Dense) {
	if it.Variant == VariantW {
		return it.basis, it.image
	}
	return widened(it.image, it.k), widened(it.basis, it.k)
}

func (it *iterate) Head() *solver.Head { return it.result }

// Finish turns the iterate into the gauge that the package comment describes and recomputes the objective.
func (it *iterate) Finish() (topics, scores *mat.Dense, objective float64) {
	r := it.rank
	coef := mat.DenseCopyOf(linalg.Columns(it.head, 0, r))
	it.rotate(coef)
	left, right := make([]float64, r), make([]float64, r)
	images, coefs := columnNorms(it.image), columnNorms(coef)
	below, above := linalg.LargestEntries(it.image), linalg.LargestEntries(coef)
	if it.Variant == VariantW {
		below, above = linalg.LargestEntries(it.basis), make([]float64, r)
	}
	for t := range r {
		largest := above[t] // the first of equal ones: coefficients are above topics
		if math.Abs(below[t]) > math.Abs(largest) {
			largest = below[t]
		}
		sign, root := math.Copysign(1, largest), math.Sqrt(math.Hypot(images[t], coefs[t]))
		left[t] = sign * root
		if root > 0 {
			right[t] = sign / root
		}
	}
	linalg.ScaleColumns(it.basis, it.basis, left)
	linalg.ScaleColumns(it.image, it.image, right)
	linalg.ScaleColumns(coef, coef, right)
	topics, scores = it.Factors()
	topics, scores = mat.DenseCopyOf(topics), mat.DenseCopyOf(scores) // not views of a wider matrix
	it.result = &solver.Head{Coefficients: widened(coef, it.k), Intercept: mat.Col(nil, r, it.head)}
	if it.aux > 1 {
		it.result.AuxCoefficients = mat.DenseCopyOf(linalg.Columns(it.head, r+1, r+it.aux))
	}
	return topics, scores, it.recompute(topics, scores)
}

// rotate makes the columns of [b, Yᵀ]ᵀ orthogonal, the longest first, by an orthogonal matrix on Q, Y and b, κ×r.
func (it *iterate) rotate(coef *mat.Dense) {
	gram := it.threads.Gram(it.image)
	gram.Add(gram, it.threads.Gram(coef))
	_, vectors, ok := eigen(gram)
	if !ok {
		return
	}
	for _, a := range []*mat.Dense{it.basis, it.image, coef} {
		a.Copy(it.threads.Product(a, vectors))
	}
}

// recompute returns the objective of the factors and the head, by its definition.
func (it *iterate) recompute(topics, scores *mat.Dense) float64 {
	on := topics
	if it.Variant == VariantH {
		on = scores
	}
	a := new(mat.Dense)
	a.Mul(on, it.result.Coefficients.T())
	activations := a
	if it.Variant == VariantW {
		activations = mat.NewDense(it.n, it.kappa, nil)
		it.x.MulTo(activations, a)
	}
	gamma := it.gamma()
	total := mat.NewDense(it.n, it.kappa, nil)
	activate(total, it.z, gamma)
	total.Add(total, activations)
	loss := it.labels.loss(total, total)
	return it.Xi*solver.SquaredResidual(it.x, topics, scores) + loss +
		it.Ridge*(linalg.Dot(a, a)+linalg.Dot(gamma, gamma))
}

// assume makes the given factors of any rank and the start head the iterate.
func (it *iterate) assume(topics, scores *mat.Dense) error {
	own, other := topics, scores
	if it.Variant == VariantH {
		own, other = scores, topics
	}
	it.basis = mat.NewDense(it.d, it.rank, nil)
	if err := it.threads.PolarTo(it.basis, linalg.Columns(own, 0, it.rank)); err != nil {
		return fmt.Errorf("making the factors orthonormal: %w", err)
	}
	var small mat.Dense // own = Q·small
	small.Mul(it.basis.T(), own)
	it.image, it.head = mat.NewDense(it.e, it.rank, nil), mat.NewDense(it.kappa, it.rank+it.aux, nil)
	it.image.Mul(other, small.T())
	if h := it.StartHead; h != nil {
		it.coef().Mul(h.Coefficients, small.T())
		it.head.SetCol(it.rank, h.Intercept)
		if it.aux > 1 {
			linalg.Columns(it.head, it.rank+1, it.rank+it.aux).Copy(h.AuxCoefficients)
		}
	}
	return nil
}

// designTo stores in dst, or in a new matrix, the matrix that the activations are linear in: [X̂ᵀQ | z] for SMF-W,
// whose products are X̂ᵀQ, and [Q | z] for SMF-H.
func (it *iterate) designTo(dst, products *mat.Dense) *mat.Dense {
	if dst == nil {
		dst = mat.NewDense(it.n, it.rank+it.aux, nil)
		linalg.Columns(dst, it.rank, it.rank+it.aux).Copy(it.z)
	}
	features := it.basis
	if it.Variant == VariantW {
		features = products
	}
	linalg.Columns(dst, 0, it.rank).Copy(features)
	return dst
}

// addRidge adds 2ν·Q·b to dst.
func (it *iterate) addRidge(dst *mat.Dense) {
	coef := mat.DenseCopyOf(it.coef().T())
	coef.Scale(2*it.Ridge, coef)
	it.threads.AddMulTo(dst, it.basis, coef)
}

// coef returns bᵀ, κ×r, as a view of the head.
func (it *iterate) coef() *mat.Dense { return linalg.Columns(it.head, 0, it.rank) }

// gamma returns Γᵀ, κ×(1+q), as a view of the head.
func (it *iterate) gamma() *mat.Dense {
	return linalg.Columns(it.head, it.rank, it.rank+it.aux)
}

// widened returns a with columns of zeros up to k.
func widened(a *mat.Dense, k int) *mat.Dense {
	rows, cols := a.Dims()
	if cols == k {
		return a
	}
	wide := mat.NewDense(rows, k, nil)
	linalg.Columns(wide, 0, cols).Copy(a)
	return wide
}

// eigen returns eigenvalues, largest first, and eigenvectors of a symmetric matrix.
func eigen(a *mat.Dense) (values []float64, vectors *mat.Dense, ok bool) {
	n, _ := a.Dims()
	if norm := mat.Norm(a, 2); norm-norm != 0 {
		return nil, nil, false
	}
	if values, vectors, ok = linalg.Eigen(mat.NewSymDense(n, mat.DenseCopyOf(a).RawMatrix().Data)); ok {
		slices.Reverse(values)
		for i := range n {
			slices.Reverse(vectors.RawRowView(i))
		}
	}
	return values, vectors, ok
}

func columnNorms(a *mat.Dense) []float64 {
	norms := linalg.ColumnSquares(a)
	for j, v := range norms {
		norms[j] = math.Sqrt(v)
	}
	return norms
}
