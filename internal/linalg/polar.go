package linalg

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"
)

var (
	// ErrNonFinite is returned for a matrix with an entry that is NaN or infinite, or whose squares overflow.
	ErrNonFinite = errors.New("matrix is not finite")

	// errNoConvergence is returned when the QR iteration of a small matrix does not end, which finite input
	// is not known to cause.
	errNoConvergence = errors.New("singular value iteration did not converge")
)

// PolarTo stores in dst the orthonormal polar factor of the p×k matrix C, p ≥ k: with the thin SVD C = W·S·Zᵀ,
//
//	dst = W·Zᵀ, which maximizes tr(dstᵀC) over all p×k matrices with dstᵀdst = I.
//
// It is computed from C = QR as Q times the polar factor of R, so that max|dstᵀdst − I| ≤ 1e-12 for every C.
// Where C has rank < k the maximizer is not unique: the columns that C leaves open complete an orthonormal set.
// dst may be C itself. The cost is 1.5·p·k² multiply-adds beside O(k³), twice that when the columns of C, scaled to
// length one, have a condition number above 30, and more where it is above 1e6.
//
// It returns an error that wraps ErrNonFinite for a C that is not finite; dst is then unchanged.
func PolarTo(dst, c *mat.Dense) error {
	p, k := c.Dims()
	if dp, dk := dst.Dims(); dp != p || dk != k || p < k {
		panic(errShape)
	}
	if !finite(c) {
		return fmt.Errorf("computing a polar factor: %w", ErrNonFinite)
	}
	// In the usual case Q = C·R⁻¹ is not formed: R⁻¹ is multiplied into the small factor.
	left := c
	r, right, rcond := choleskyR(c)
	if rcond < clearRcond {
		left, r = thinQR(c)
		right = identity(k)
	}
	var svd mat.SVD
	if !svd.Factorize(r, mat.SVDThin) {
		return fmt.Errorf("computing a polar factor: %w", errNoConvergence)
	}
	var u, v, small mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	small.Product(right, &u, v.T())
	if left == dst {
		left = mat.DenseCopyOf(c)
	}
	dst.Mul(left, &small)
	return nil
}

// finite reports whether no entry of a is NaN or infinite.
func finite(a *mat.Dense) bool {
	raw := a.RawMatrix()
	for i := range raw.Rows {
		for _, v := range raw.Data[i*raw.Stride : i*raw.Stride+raw.Cols] {
			if v-v != 0 {
				return false
			}
		}
	}
	return true
}
