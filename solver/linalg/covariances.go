package linalg

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Covariances returns the covariances of the columns of X, n×p, each over the rows without NaN in either of them, and
// the mean number of these rows over all pairs of columns.
//
// With Z the columns of X, centred at the means of their numbers and 0 for NaN, and M 1 for numbers and 0 for NaN, the
// sums over common rows are entries of ZᵀZ, ZᵀM and MᵀM.
func (t Threads) Covariances(x *mat.Dense) (c *mat.SymDense, pairs float64) {
	n, p := x.Dims()
	z, m := mat.NewDense(n, p, nil), mat.NewDense(n, p, nil)
	means := ColumnMeans(x)
	for i := range n {
		for j, v := range x.RawRowView(i) {
			if !math.IsNaN(v) {
				z.Set(i, j, v-means[j])
				m.Set(i, j, 1)
			}
		}
	}
	products, counts, sums := t.Gram(z), t.Gram(m), mat.NewDense(p, p, nil)
	t.InnerTo(sums, z, m)
	c = mat.NewSymDense(p, nil)
	for i := range p {
		for j := range i + 1 {
			count := counts.At(i, j)
			c.SetSym(i, j, (products.At(i, j)-sums.At(i, j)*sums.At(j, i)/count)/(count-1))
			if j < i {
				pairs += count / float64(p*(p-1)/2)
			}
		}
	}
	return c, pairs
}
