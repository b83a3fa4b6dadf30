package linalg

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// Reciprocal condition numbers of A in the 1-norm, with its columns scaled to length one. One pass of Cholesky QR
// leaves max|QᵀQ − I| ≲ 1e-16/rcond² (Yamamoto et al. 2015, "Roundoff error analysis of the CholeskyQR2 algorithm").
// The largest value seen was a third of that.
const (
	minRcond   = 1e-6 // one pass leaves 1e-4, a second leaves only rounding; smaller ones need reflections
	clearRcond = 1e-2 // one pass leaves less than 1e-12
)

// qrTo stores Q of A = QR in q and returns R, for a p×k matrix A, p ≥ k, which is overwritten: Q is p×k with
// orthonormal columns, R is k×k upper triangular.
//
// It makes one pass of Cholesky QR if the reciprocal condition number is at least once, two passes if it is at least
// minRcond, and Householder reflections otherwise. With clearRcond Q is orthonormal up to rounding, even for A = 0;
// with minRcond up to 1e-4, which is enough between two power iterations.
func (t Threads) qrTo(q, a *mat.Dense, once float64) (r *mat.Dense) {
	var first, second cholesky
	rcond := first.factorize(t, a)
	if rcond < minRcond {
		q.Copy(a)
		return householderQR(q)
	}
	t.MulTo(q, a, first.inverse)
	if rcond >= once {
		return first.r
	}
	second.factorize(t, q)
	t.MulTo(a, q, second.inverse)
	q.Copy(a)
	return t.Product(second.r, first.r)
}

// cholesky holds R, the upper Cholesky factor of AᵀA, and its inverse, with memory that is kept.
type cholesky struct {
	r, inverse *mat.Dense
	norms      []float64 // of the columns of A
	work       []float64
	pivots     []int
}

// factorize returns an estimate of the reciprocal condition number of A after scaling its columns to length one, 0 if
// the square of a column is 0 or overflows. r and inverse are valid only if it is at least minRcond.
func (f *cholesky) factorize(t Threads, a *mat.Dense) (rcond float64) {
	_, k := a.Dims()
	if len(f.norms) != k {
		f.r, f.inverse = mat.NewDense(k, k, nil), mat.NewDense(k, k, nil)
		f.norms, f.work, f.pivots = make([]float64, k), make([]float64, 3*k), make([]int, k)
	}
	t.GramTo(f.r, a)
	raw := f.r.RawMatrix()
	for j := range k {
		f.norms[j] = math.Sqrt(raw.Data[j*k+j])
		if !(f.norms[j] > 0) || math.IsInf(f.norms[j], 1) {
			return 0
		}
	}
	for i := range k {
		for j := i; j < k; j++ {
			raw.Data[i*k+j] /= f.norms[i] * f.norms[j]
		}
	}
	upper, ok := lapack64.Potrf(blas64.Symmetric{N: k, Stride: k, Data: raw.Data, Uplo: blas.Upper})
	if !ok {
		return 0
	}
	rcond = lapack64.Trcon(lapack.MaxColumnSum, upper, f.work, f.pivots)
	if !(rcond >= minRcond) {
		return 0
	}
	clearLower(f.r)
	f.inverse.Copy(f.r)
	upper.Data = f.inverse.RawMatrix().Data
	lapack64.Trtri(upper)
	for i := range k {
		for j := i; j < k; j++ {
			raw.Data[i*k+j] *= f.norms[j]
			upper.Data[i*k+j] /= f.norms[i]
		}
	}
	return rcond
}

// inverseNorm returns √(‖R⁻¹‖₁·‖R⁻¹‖∞), an upper bound on ‖R⁻¹‖₂.
func (f *cholesky) inverseNorm() float64 {
	raw := f.inverse.RawMatrix()
	return math.Sqrt(lapack64.Lange(lapack.MaxRowSum, raw, nil) * lapack64.Lange(lapack.MaxColumnSum, raw, f.work))
}

// householderQR replaces A by Q and returns R by reflections: slower than qrTo, and accurate for every A.
func householderQR(q *mat.Dense) (r *mat.Dense) {
	_, k := q.Dims()
	raw, tau, size := q.RawMatrix(), make([]float64, k), make([]float64, 1)
	lapack64.Geqrf(raw, tau, size, -1)
	work := make([]float64, int(size[0]))
	lapack64.Geqrf(raw, tau, work, len(work))
	r = mat.DenseCopyOf(q.Slice(0, k, 0, k))
	clearLower(r)
	lapack64.Orgqr(raw, tau, size, -1)
	work = make([]float64, int(size[0]))
	lapack64.Orgqr(raw, tau, work, len(work))
	return r
}

func clearLower(a *mat.Dense) {
	rows, cols := a.Dims()
	for i := range rows {
		clear(a.RawRowView(i)[:min(i, cols)])
	}
}

// Product returns A·B.
func (t Threads) Product(a, b *mat.Dense) *mat.Dense {
	n, _ := a.Dims()
	_, k := b.Dims()
	dst := mat.NewDense(n, k, nil)
	t.MulTo(dst, a, b)
	return dst
}
