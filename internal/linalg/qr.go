package linalg

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// minRcond is the reciprocal condition number of A, its columns scaled to length one, from which one pass of
// Cholesky QR leaves ‖QᵀQ − I‖ ≲ 1e-16/minRcond² = 1e-4, which a second pass takes to rounding (Yamamoto et al.
// 2015, "Roundoff error analysis of the CholeskyQR2 algorithm").
const minRcond = 1e-6

// thinQR returns A = QR for a p×k matrix A, p ≥ k: Q is p×k with orthonormal columns, R is k×k upper triangular.
// A is left as it is.
//
// It takes two passes of Cholesky QR, and Householder reflections where A is too close to rank deficiency for
// them; Q is orthonormal to rounding in either case, also for A = 0.
func thinQR(a *mat.Dense) (q, r *mat.Dense) {
	once, r1, rcond := choleskyQR(a)
	if rcond < minRcond {
		return householderQR(a)
	}
	q, r, _ = choleskyQR(once)
	r.Mul(r, r1)
	return q, r
}

// basis returns an orthonormal basis of the columns of A up to ‖QᵀQ − I‖ ≲ 1e-4: enough between two power
// iterations, at half of the cost of thinQR.
func basis(a *mat.Dense) *mat.Dense {
	q, _, rcond := choleskyQR(a)
	if rcond < minRcond {
		q, _ = householderQR(a)
	}
	return q
}

// choleskyQR returns R, the Cholesky factor of AᵀA, and Q = A·R⁻¹ with an estimate of the reciprocal condition
// number of A after scaling its columns to length one. Below minRcond, and for a zero or overflowing column, q
// and r are nil.
func choleskyQR(a *mat.Dense) (q, r *mat.Dense, rcond float64) {
	p, k := a.Dims()
	r = mat.NewDense(k, k, nil)
	GramTo(r, a)
	gram := r.RawMatrix()
	norms := make([]float64, k)
	for j := range k {
		norms[j] = math.Sqrt(gram.Data[j*gram.Stride+j])
		if !(norms[j] > 0) || math.IsInf(norms[j], 1) {
			return nil, nil, 0
		}
	}
	for i := range k {
		for j := i; j < k; j++ {
			gram.Data[i*gram.Stride+j] /= norms[i] * norms[j]
		}
	}
	upper, ok := lapack64.Potrf(blas64.Symmetric{N: k, Stride: gram.Stride, Data: gram.Data, Uplo: blas.Upper})
	if !ok {
		return nil, nil, 0
	}
	rcond = lapack64.Trcon(lapack.MaxColumnSum, upper, make([]float64, 3*k), make([]int, k))
	if !(rcond >= minRcond) {
		return nil, nil, 0
	}
	clearLower(r)
	inverse := mat.DenseCopyOf(r)
	lapack64.Trtri(blas64.Triangular{N: k, Stride: k, Data: inverse.RawMatrix().Data, Uplo: blas.Upper, Diag: blas.NonUnit})
	for i := range k {
		for j := i; j < k; j++ {
			gram.Data[i*gram.Stride+j] *= norms[j]
			inverse.Set(i, j, inverse.At(i, j)/norms[i])
		}
	}
	q = mat.NewDense(p, k, nil)
	q.Mul(a, inverse)
	return q, r, rcond
}

// householderQR is thinQR by reflections: slower, and accurate for every A.
func householderQR(a *mat.Dense) (q, r *mat.Dense) {
	_, k := a.Dims()
	q = mat.DenseCopyOf(a)
	raw, tau, size := q.RawMatrix(), make([]float64, k), make([]float64, 1)
	lapack64.Geqrf(raw, tau, size, -1)
	work := make([]float64, int(size[0]))
	lapack64.Geqrf(raw, tau, work, len(work))
	r = mat.DenseCopyOf(q.Slice(0, k, 0, k))
	clearLower(r)
	lapack64.Orgqr(raw, tau, size, -1)
	work = make([]float64, int(size[0]))
	lapack64.Orgqr(raw, tau, work, len(work))
	return q, r
}

// clearLower sets the entries below the diagonal to 0.
func clearLower(a *mat.Dense) {
	raw := a.RawMatrix()
	for i := range raw.Rows {
		clear(raw.Data[i*raw.Stride : i*raw.Stride+min(i, raw.Cols)])
	}
}
