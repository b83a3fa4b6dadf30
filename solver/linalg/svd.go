package linalg

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/solver/matrix"
)

// ErrRank is returned for a rank outside 1 … min(n, p).
var ErrRank = errors.New("rank out of range")

const (
	// Chosen on the 5,000 × 5,000 tf-idf matrix that SVDSettings describes.
	defaultOversampling    = 10
	oversamplingShare      = 3 // one more column for every 3 of Rank
	defaultPowerIterations = 12

	// maxSquaring is a ratio of σ₁² to the smallest σ² in the range. Above it Xᵀ·Q is made orthonormal before the
	// product with X: multiplying by X·Xᵀ at once would lose the small ones to rounding.
	maxSquaring = 1e10

	// inversePowers iterations find the smallest singular value in the ranges of text to at most 10 % above the true
	// one; shiftShare of its square is then below half of the true square.
	inversePowers = 10
	shiftShare    = 0.4

	// svdStream is the second word of the generator's seed: the same seed gives other numbers here than in other
	// packages.
	svdStream = 0x7264_7376
)

// SVDSettings controls SVD. Zero values mean the defaults.
//
// On tf-idf text, whose spectrum falls slowly (5,000 × 5,000, σ₅₀/σ₁₅₀ = 1.2), the defaults leave singular values
// within 1e-3 of the exact ones at ranks 10, 50 and 150, and 4 iterations within 3e-2.
type SVDSettings struct {
	// Rank is the number k of singular values, 1 ≤ k ≤ min(n, p).
	Rank int
	// Oversampling is the number of extra columns, beyond Rank, for the search of the range; 0 means 10 + Rank/3, a
	// negative number means none.
	Oversampling int
	// PowerIterations is the number of products with X·Xᵀ that sharpen the range; 0 means 12, negative means none.
	PowerIterations int
	// Seed starts the generator of the random range. Equal seeds give equal bits.
	Seed uint64
	// Threads is the number of goroutines for all but the products with X.
	Threads Threads
}

// TruncatedSVD is X ≈ U·diag(S)·Vᵀ: U is n×k, V is p×k, both with orthonormal columns, and S is descending.
// In each column of V the entry of largest magnitude is positive, the first of several.
type TruncatedSVD struct {
	U, V *mat.Dense
	S    []float64
}

// SVD returns the k largest singular values of the n×p matrix X with their vectors.
//
// It is the randomized range finder with subspace iteration of Halko, Martinsson and Tropp 2011, "Finding
// structure with randomness", algorithms 4.4 and 5.1, where each iteration is shifted as by Feng and Yu 2024,
// "Faster randomized SVD with dynamic shifts" (dashSVD), which halves the iterations:
//
//	Q = orth(X·Ω), then PowerIterations times Q = orth(X·(XᵀQ) − α·Q); XᵀQ = V·S·Wᵀ; U = Q·W
//
// Ω is p×(k + oversampling) with normal entries from PCG(Seed); α rises towards 0.4 of the smallest σ² in the
// range. If σ₁ is 1e5 times the smallest σ in the range or more, Q = orth(X·orth(XᵀQ)) instead.
//
// Singular values approach the exact ones from below. The error grows with the share of the spectrum that lies close to
// σ_k. If k + oversampling reaches min(n, p), the result is exact up to rounding of about 1e-15·σ₁. A matrix of rank <
// k has singular values of that size too, and their vectors are orthonormal.
//
// The cost is 2·(PowerIterations + 1) products of X with l = k + oversampling columns, and as many times O((n + p)·l²).
// The bits do not depend on GOMAXPROCS.
//
// It returns an error that wraps ErrRank for a rank outside 1 … min(n, p), and ErrNonFinite for an X with NaN,
// infinite entries or an overflowing sum of squares.
func SVD(x matrix.Products, s SVDSettings) (*TruncatedSVD, error) {
	n, p := x.Dims()
	if s.Rank < 1 || s.Rank > min(n, p) {
		return nil, fmt.Errorf("computing a truncated SVD: %w: %d for a %d×%d matrix", ErrRank, s.Rank, n, p)
	}
	if norm := x.NormSquared(); norm-norm != 0 {
		return nil, fmt.Errorf("computing a truncated SVD: %w", ErrNonFinite)
	}
	// The powers of an X with entries of 1e100 would overflow. A power of two rounds nothing.
	_, exponent := math.Frexp(math.Sqrt(x.NormSquared()))
	t, err := truncatedSVD(scaled{Products: x, factor: math.Ldexp(1, -exponent)}, s)
	if err != nil {
		return nil, err
	}
	floats.Scale(math.Ldexp(1, exponent), t.S)
	return t, nil
}

type scaled struct {
	matrix.Products
	factor float64
}

func (s scaled) MulTo(dst, d *mat.Dense) {
	s.Products.MulTo(dst, d)
	dst.Scale(s.factor, dst)
}

func (s scaled) MulTransTo(dst, d *mat.Dense) {
	s.Products.MulTransTo(dst, d)
	dst.Scale(s.factor, dst)
}

func (s scaled) NormSquared() float64 { return s.factor * (s.factor * s.Products.NormSquared()) }

// truncatedSVD is SVD of an X with a norm near 1.
func truncatedSVD(x matrix.Products, s SVDSettings) (*TruncatedSVD, error) {
	n, p := x.Dims()
	oversampling := cmp.Or(s.Oversampling, defaultOversampling+s.Rank/oversamplingShare)
	width := s.Rank + max(0, oversampling)
	if width >= min(n, p) {
		return exactSVD(x, s)
	}

	q := mat.NewDense(n, width, nil)
	b := mat.NewDense(p, width, nil)
	random := rand.New(rand.NewPCG(s.Seed, svdStream))
	omega := b.RawMatrix().Data
	for i := range omega {
		omega[i] = random.NormFloat64()
	}
	// Memory for a matrix beside q and b: with a large X of few entries these are most of what is held.
	spare := make([]float64, max(n, p)*width)
	y, c := mat.NewDense(n, width, spare[:n*width]), mat.NewDense(p, width, spare[:p*width])
	x.MulTo(y, b)
	s.Threads.sharpen(x, q, y, b, c, cmp.Or(s.PowerIterations, defaultPowerIterations))
	x.MulTransTo(b, q)
	sigma, w, err := s.Threads.thinSVD(b, c)
	if err != nil {
		return nil, err
	}
	s.Threads.MulTo(y, q, w)
	return truncate(y, b, sigma, s.Rank), nil
}

// sharpen stores in q an orthonormal basis of y after the power iterations of SVD. q and y are n×l; b and c, p×l, are
// overwritten. c may share the memory of y.
func (t Threads) sharpen(x matrix.Products, q, y, b, c *mat.Dense, iterations int) {
	alpha := 0.0     // less than half of the smallest σ² in the range
	squaring := true // the range is narrow enough for X·Xᵀ at once
	t.qrTo(q, y, minRcond)
	for range iterations {
		x.MulTransTo(b, q)
		if !squaring {
			t.qrTo(c, b, minRcond)
			b.Copy(c)
			x.MulTo(y, b)
			t.qrTo(q, y, minRcond)
			continue
		}
		x.MulTo(y, b)
		floats.AddScaled(y.RawMatrix().Data, -alpha, q.RawMatrix().Data)
		r := t.qrTo(q, y, minRcond)
		smallest := smallestSingular(r) + alpha
		squaring = math.Sqrt(mat.Norm(r, 1)*mat.Norm(r, math.Inf(1))) < maxSquaring*smallest
		alpha = max(alpha, shiftShare*smallest)
	}
	y.Copy(q)
	t.qrTo(q, y, clearRcond)
}

// smallestSingular returns the smallest singular value of the upper triangular R, or a little more: the value that
// inversePowers iterations with (RᵀR)⁻¹ find. For a singular R it is 0.
func smallestSingular(r *mat.Dense) float64 {
	raw := r.RawMatrix()
	for i := range raw.Rows {
		if raw.Data[i*raw.Stride+i] == 0 {
			return 0
		}
	}
	upper := blas64.Triangular{N: raw.Rows, Stride: raw.Stride, Data: raw.Data, Uplo: blas.Upper, Diag: blas.NonUnit}
	v := blas64.Vector{N: raw.Rows, Inc: 1, Data: slices.Repeat([]float64{1}, raw.Rows)}
	var squared float64
	for range inversePowers {
		blas64.Scal(1/blas64.Nrm2(v), v)
		blas64.Trsv(blas.Trans, upper, v)
		blas64.Trsv(blas.NoTrans, upper, v)
		squared = 1 / blas64.Nrm2(v)
		if !(squared > 0) {
			return 0
		}
	}
	return math.Sqrt(squared)
}

// exactSVD is the SVD of a dense copy of X, computed as its product with the identity on the smaller side.
func exactSVD(x matrix.Products, s SVDSettings) (*TruncatedSVD, error) {
	n, p := x.Dims()
	dense := mat.NewDense(max(n, p), min(n, p), nil)
	if n < p {
		x.MulTransTo(dense, Identity(n))
	} else {
		x.MulTo(dense, Identity(p))
	}
	sigma, v, err := s.Threads.thinSVD(dense, mat.NewDense(max(n, p), min(n, p), nil))
	if err != nil {
		return nil, err
	}
	u := dense
	if n < p {
		u, v = v, u
	}
	return truncate(u, v, sigma, s.Rank), nil
}

// thinSVD replaces A by U and returns the rest of A = U·diag(S)·Vᵀ for a p×k matrix A with p ≥ k by the SVD of R in
// A = QR. q is overwritten.
func (t Threads) thinSVD(a, q *mat.Dense) (sigma []float64, v *mat.Dense, err error) {
	r := t.qrTo(q, a, clearRcond)
	var svd mat.SVD
	if !svd.Factorize(r, mat.SVDThin) {
		return nil, nil, fmt.Errorf("computing a truncated SVD: %w", errNoConvergence)
	}
	var small mat.Dense
	svd.UTo(&small)
	v = new(mat.Dense)
	svd.VTo(v)
	t.MulTo(a, q, &small)
	return svd.Values(nil), v, nil
}

// truncate returns the first k columns under the sign rule.
func truncate(u, v *mat.Dense, sigma []float64, k int) *TruncatedSVD {
	t := &TruncatedSVD{
		U: mat.DenseCopyOf(Columns(u, 0, k)),
		V: mat.DenseCopyOf(Columns(v, 0, k)),
		S: sigma[:k:k],
	}
	signs := Signs(t.V)
	ScaleColumns(t.U, t.U, signs)
	ScaleColumns(t.V, t.V, signs)
	return t
}

// Identity returns the n×n identity matrix.
func Identity(n int) *mat.Dense {
	eye := mat.NewDense(n, n, nil)
	for i := range n {
		eye.Set(i, i, 1)
	}
	return eye
}

// maxResidual bounds ‖FᵀF − I‖² of matrices that Orthonormalize does not change.
const maxResidual = 1e-20

// Orthonormalize replaces F (p×k) by the nearest orthonormal matrix unless it is orthonormal to 1e-10.
func (t Threads) Orthonormalize(f *mat.Dense) error {
	if distance := DistanceFromIdentity(t.Gram(f)); distance*distance <= maxResidual {
		return nil
	}
	return t.PolarTo(f, f)
}

// RightVectorsTo stores in topics (p×k) the right singular vectors v of the largest singular values of X, each with the
// sign for which ‖⟨X·v⟩₊‖ is larger; a tie keeps it. If k exceeds min(n, p) or the rank of X, further columns complete
// the orthonormal set. s.Rank is not read.
func RightVectorsTo(topics *mat.Dense, x matrix.Products, s SVDSettings) error {
	n, p := x.Dims()
	_, k := topics.Dims()
	s.Rank = min(n, p, k)
	svd, err := SVD(x, s)
	if err != nil {
		return err
	}
	for t := range svd.S {
		sign, balance := 1.0, 0.0
		for i := range n {
			v := svd.U.At(i, t)
			balance += v * math.Abs(v)
		}
		if balance < 0 {
			sign = -1
		}
		for j := range p {
			topics.Set(j, t, sign*svd.V.At(j, t))
		}
	}
	return s.Threads.Orthonormalize(topics)
}

// ErrEigen is returned, by callers of Eigen too, if the iteration for eigenvalues does not converge.
var ErrEigen = errors.New("eigenvalues do not converge")

// Eigen returns the eigenvalues of A, ascending, and the eigenvectors in columns; ok is false without convergence.
func Eigen(a mat.Symmetric) (values []float64, vectors *mat.Dense, ok bool) {
	var e mat.EigenSym
	if !e.Factorize(a, true) {
		return nil, nil, false
	}
	vectors = new(mat.Dense)
	e.VectorsTo(vectors)
	return e.Values(nil), vectors, true
}

// Eigenvalues returns the eigenvalues of A, ascending. The error is ErrEigen. Eigen takes three times as long.
func Eigenvalues(a mat.Symmetric) ([]float64, error) {
	var e mat.EigenSym
	if !e.Factorize(a, false) {
		return nil, ErrEigen
	}
	return e.Values(nil), nil
}

// Inverse returns the inverse of a symmetric matrix, nil unless it is positive definite.
func Inverse(a mat.Symmetric) *mat.SymDense {
	var factor mat.Cholesky
	inverse := &mat.SymDense{}
	if !factor.Factorize(a) || factor.InverseTo(inverse) != nil {
		return nil
	}
	return inverse
}

// Mapped returns V·diag(of(λ))·Vᵀ of a symmetric matrix with these eigenvalues λ and eigenvectors V.
func Mapped(values []float64, vectors *mat.Dense, of func(value float64) float64) *mat.Dense {
	scaled := mat.DenseCopyOf(vectors)
	ScaleColumns(scaled, scaled, lists.Map(values, of))
	scaled.Mul(scaled, vectors.T())
	return scaled
}
