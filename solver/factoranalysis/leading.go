package factoranalysis

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/linalg"
)

const (
	// krylovBlocks is the number of blocks of a Krylov space, and krylovExtra the number of vectors in a block in
	// addition to those sought. More vectors find close eigenvalues in fewer cycles, each of which costs more.
	krylovBlocks = 5
	krylovExtra  = 8

	// krylovTol ends the cycles if no residual ‖Au − θu‖ is larger, as a share of the largest eigenvalue.
	krylovTol    = 1e-12
	krylovCycles = 100

	// dependent is the share of the length of a vector below which its residual is rounding.
	dependent = 1e-12
)

// single keeps products on one goroutine: callers run many fits side by side.
const single = linalg.Threads(1)

// leading is the part of a symmetric matrix A (p×p) at a point that its largest eigenvalues θ explain, and the rest.
type leading struct {
	parameters []float64 // the point
	k          int       // the most eigenvalues

	values  []float64  // θ, descending
	vectors *mat.Dense // u, in rows, q×p
	rest    *mat.Dense // A − Σ θ_l·u_l·u_lᵀ
}

// newLeading returns the largest eigenvalues of A above the least one, at most k. The search begins at the rows of
// start, if they are not nil, and stores there a start for a similar matrix.
func newLeading(a *mat.SymDense, point []float64, k int, least float64, start **mat.Dense) (*leading, error) {
	p := a.SymmetricDim()
	d := &leading{parameters: point, k: k, rest: mat.DenseCopyOf(a)}
	values, vectors, found := krylov(d.rest, k, *start)
	if !found {
		ascending, columns, ok := linalg.Eigen(a)
		if !ok {
			return nil, linalg.ErrEigen
		}
		vectors = mat.NewDense(k, p, nil)
		values = make([]float64, k)
		for l := range k {
			values[l] = ascending[p-1-l]
			mat.Col(vectors.RawRowView(l), p-1-l, columns)
		}
	}
	*start = vectors
	for len(d.values) < k && values[len(d.values)] > least {
		d.values = append(d.values, values[len(d.values)])
	}
	if q := len(d.values); q > 0 {
		d.vectors = mat.DenseCopyOf(vectors.Slice(0, q, 0, p))
		d.rest.Sub(d.rest, d.weighted(func(l int) float64 { return d.values[l] }))
	}
	return d, nil
}

func (d *leading) point() []float64 { return d.parameters }

// manyItems reports whether k eigenvalues of p are found faster than all, by measurement.
func manyItems(p, k int) bool { return 4*krylovBlocks*(k+krylovExtra) <= p }

// weighted returns Σ w(l)·u_l·u_lᵀ, p×p. The cost is p²·k.
func (d *leading) weighted(w func(l int) float64) *mat.Dense {
	p, _ := d.rest.Dims()
	sum := mat.NewDense(p, p, nil)
	if len(d.values) == 0 {
		return sum
	}
	scaled := mat.DenseCopyOf(d.vectors)
	for l := range d.values {
		floats.Scale(w(l), scaled.RawRowView(l))
	}
	single.InnerTo(sum, d.vectors, scaled)
	return sum
}

// projector returns I − Σ u_l·u_lᵀ.
func (d *leading) projector() *mat.Dense {
	projector := d.weighted(func(int) float64 { return -1 })
	for i := range projector.RawMatrix().Rows {
		projector.Set(i, i, 1+projector.At(i, i))
	}
	return projector
}

// loadings returns scale(θ_l)·u_l in column l of k, 0 for missing ones.
func (d *leading) loadings(scale func(value float64) float64) *mat.Dense {
	loadings := mat.NewDense(len(d.parameters), d.k, nil)
	for l, v := range d.values {
		for i, u := range d.vectors.RawRowView(l) {
			loadings.Set(i, l, scale(v)*u)
		}
	}
	return loadings
}

// submatrix returns these rows and columns.
func submatrix(a *mat.Dense, at []int) *mat.Dense {
	return linalg.SelectColumns(linalg.SelectRows(a, at), at)
}

// krylov returns the k + krylovExtra largest eigenvalues of the symmetric A (p×p), descending, and their vectors in
// rows; the first k are exact to krylovTol. It is the block Lanczos method with full orthogonalization, restarted from
// the best vectors: G. H. Golub and R. Underwood, "The block Lanczos method for computing eigenvalues", 1977. A cycle
// costs p²·(k+8)·4 + p·(5(k+8))². It reports whether the cycles ended at the eigenvalues.
func krylov(a *mat.Dense, k int, start *mat.Dense) (values []float64, vectors *mat.Dense, found bool) {
	p, _ := a.Dims()
	width := k + krylovExtra
	size := krylovBlocks * width
	basis, products := mat.NewDense(size, p, nil), mat.NewDense(size, p, nil) // rows q and Aq
	random := rand.New(rand.NewPCG(0, 0))
	if start != nil {
		basis.Copy(start)
	} else {
		for e := range width {
			for j := range p {
				basis.Set(e, j, random.NormFloat64())
			}
		}
	}
	orthonormalize(basis, 0, width, random)
	known := 0 // rows whose products are known
	for range krylovCycles {
		for block := range krylovBlocks {
			from := block * width
			q, aq := basis.Slice(from, from+width, 0, p).(*mat.Dense),
				products.Slice(from, from+width, 0, p).(*mat.Dense)
			if from >= known {
				single.MulTo(aq, q, a)
			}
			if block+1 < krylovBlocks {
				basis.Slice(from+width, from+2*width, 0, p).(*mat.Dense).Copy(aq)
				orthonormalize(basis, from+width, from+2*width, random)
			}
		}
		var projected mat.Dense
		projected.Mul(products, basis.T())
		ascending, columns, ok := linalg.Eigen(symmetric(&projected, make([]float64, size)))
		if !ok {
			return nil, nil, false
		}
		values = make([]float64, width)
		weights := mat.NewDense(size, width, nil)
		for l := range width {
			values[l] = ascending[size-1-l]
			weights.SetCol(l, mat.Col(nil, size-1-l, columns))
		}
		best, image := mat.NewDense(width, p, nil), mat.NewDense(width, p, nil)
		single.InnerTo(best, weights, basis)
		single.InnerTo(image, weights, products)
		var worst float64
		for l := range k {
			residual := make([]float64, p)
			floats.AddScaledTo(residual, image.RawRowView(l), -values[l], best.RawRowView(l))
			worst = max(worst, floats.Norm(residual, 2))
		}
		if worst <= krylovTol*max(1, values[0]) {
			return values, best, true
		}
		basis.Slice(0, width, 0, p).(*mat.Dense).Copy(best)
		products.Slice(0, width, 0, p).(*mat.Dense).Copy(image)
		known = width
	}
	return nil, nil, false
}

// orthonormalize makes rows [from, to) orthonormal, and orthogonal to those before. It redraws dependent rows.
func orthonormalize(rows *mat.Dense, from, to int, random *rand.Rand) {
	for e := from; e < to; e++ {
		row := rows.RawRowView(e)
		for {
			length := floats.Norm(row, 2)
			// A row that lost nearly all of its length has errors along the others, which the second pass removes.
			for range 2 {
				for other := range e {
					earlier := rows.RawRowView(other)
					floats.AddScaled(row, -floats.Dot(row, earlier), earlier)
				}
			}
			if left := floats.Norm(row, 2); left > dependent*length {
				floats.Scale(1/left, row)
				break
			}
			for j := range row {
				row[j] = random.NormFloat64()
			}
		}
	}
}
