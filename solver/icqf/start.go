package icqf

import (
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
)

// start stores the start in the first columns of d (n×e) and of b (p×e): the better half of each pair of singular
// vectors σ·u·vᵀ, that of their positive or of their negative entries (NNDSVD; Boutsidis and Gallopoulos 2008), with the
// length given to the loadings so that the largest score is 1.
func (p *Problem) start(d, b *mat.Dense, rank int) {
	svd := p.svd
	for t := range min(rank, len(svd.S)) {
		sign := 1.0
		positive, negative := linalg.Halves(svd.U, t)
		positiveLoadings, negativeLoadings := linalg.Halves(svd.V, t)
		if negative*negativeLoadings > positive*positiveLoadings {
			sign = -1
		}
		var largest float64
		for i := range svd.U.RawMatrix().Rows {
			largest = max(largest, sign*svd.U.At(i, t))
		}
		if largest == 0 {
			continue
		}
		storeHalf(d, svd.U, t, sign/largest)
		storeHalf(b, svd.V, t, sign*largest*svd.S[t])
	}
}

// storeHalf stores the positive entries of a column of factor·A.
func storeHalf(dst, a *mat.Dense, column int, factor float64) {
	rows, _ := a.Dims()
	for i := range rows {
		dst.Set(i, column, max(0, factor*a.At(i, column)))
	}
}
