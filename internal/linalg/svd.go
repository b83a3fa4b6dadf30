package linalg

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// ErrRank is returned for a rank outside 1 … min(n, p).
var ErrRank = errors.New("rank out of range")

const (
	defaultOversampling    = 10
	defaultPowerIterations = 8

	// svdStream is the second word of the generator's seed, so that one seed gives different numbers here than elsewhere.
	svdStream = 0x7264_7376
)

// SVDSettings controls SVD. Zero values mean the defaults.
type SVDSettings struct {
	// Rank is the number k of singular values, 1 ≤ k ≤ min(n, p).
	Rank int
	// Oversampling is the number of columns beyond Rank that the range is sought with; 0 means 10.
	Oversampling int
	// PowerIterations is the number of products with X·Xᵀ that sharpen the range; 0 means 8, negative means none.
	// Eight leave singular values of tf-idf text, whose spectrum falls slowly, within 1e-3 of the exact ones.
	PowerIterations int
	// Seed starts the generator of the random range. Equal seeds give equal bits.
	Seed uint64
}

// TruncatedSVD is X ≈ U·diag(S)·Vᵀ: U is n×k, V is p×k, both with orthonormal columns, and S is descending.
// In each column of V the entry of largest magnitude is positive; of several the first.
type TruncatedSVD struct {
	U, V *mat.Dense
	S    []float64
}

// SVD returns the k largest singular values of the n×p matrix X with their vectors.
//
// It is the randomized range finder with subspace iteration of Halko, Martinsson and Tropp 2011, "Finding
// structure with randomness", algorithms 4.4 and 5.1, with an orthonormal basis after every product:
//
//	Q = orth(X·Ω), then PowerIterations times Q = orth(X·orth(Xᵀ·Q)); XᵀQ = V·S·Wᵀ; U = Q·W
//
// where Ω is p×(k + oversampling) with normal entries from PCG(Seed). Singular values approach the exact ones
// from below; what is lost grows with the share of the spectrum that lies close to σ_k. When k + oversampling
// reaches min(n, p) the result is exact up to rounding. Values below about 1e-15·σ₁ are rounding; a matrix of
// rank < k has such values with orthonormal vectors all the same.
//
// The cost is 2·(PowerIterations + 1) products with X of k + oversampling columns and as many orthonormalizations
// of O((n + p)·k²). The bits do not depend on GOMAXPROCS.
//
// It returns an error that wraps ErrRank for a rank outside 1 … min(n, p), and ErrNonFinite for an X with NaN,
// infinite entries or an overflowing sum of squares.
func SVD(x Operator, s SVDSettings) (*TruncatedSVD, error) {
	n, p := x.Dims()
	if s.Rank < 1 || s.Rank > min(n, p) {
		return nil, fmt.Errorf("computing a truncated SVD: %w: %d for a %d×%d matrix", ErrRank, s.Rank, n, p)
	}
	if norm := x.NormSquared(); norm-norm != 0 {
		return nil, fmt.Errorf("computing a truncated SVD: %w", ErrNonFinite)
	}
	oversampling, iterations := s.Oversampling, s.PowerIterations
	if oversampling == 0 {
		oversampling = defaultOversampling
	}
	if iterations == 0 {
		iterations = defaultPowerIterations
	}
	width := s.Rank + max(0, oversampling)
	if width >= min(n, p) {
		return exactSVD(x, s.Rank)
	}

	q := mat.NewDense(n, width, nil)
	b := mat.NewDense(p, width, nil)
	random := rand.New(rand.NewPCG(s.Seed, svdStream))
	omega := b.RawMatrix().Data
	for i := range omega {
		omega[i] = random.NormFloat64()
	}
	x.MulTo(q, b)
	for range iterations {
		x.MulTransTo(b, basis(q))
		x.MulTo(q, basis(b))
	}
	q, _ = thinQR(q)
	x.MulTransTo(b, q)
	v, sigma, w, err := thinSVD(b)
	if err != nil {
		return nil, err
	}
	u := mat.NewDense(n, width, nil)
	u.Mul(q, w)
	return truncate(u, v, sigma, s.Rank), nil
}

// exactSVD multiplies X with the identity from its smaller side.
func exactSVD(x Operator, rank int) (*TruncatedSVD, error) {
	n, p := x.Dims()
	if n < p {
		xt := mat.NewDense(p, n, nil)
		x.MulTransTo(xt, identity(n))
		v, sigma, u, err := thinSVD(xt)
		if err != nil {
			return nil, err
		}
		return truncate(u, v, sigma, rank), nil
	}
	dense := mat.NewDense(n, p, nil)
	x.MulTo(dense, identity(p))
	u, sigma, v, err := thinSVD(dense)
	if err != nil {
		return nil, err
	}
	return truncate(u, v, sigma, rank), nil
}

// thinSVD returns A = U·diag(S)·Vᵀ for a p×k matrix A with p ≥ k by the SVD of R in A = QR.
func thinSVD(a *mat.Dense) (u *mat.Dense, sigma []float64, v *mat.Dense, err error) {
	q, r := thinQR(a)
	var svd mat.SVD
	if !svd.Factorize(r, mat.SVDThin) {
		return nil, nil, nil, fmt.Errorf("computing a truncated SVD: %w", errNoConvergence)
	}
	var small mat.Dense
	svd.UTo(&small)
	u, v = new(mat.Dense), new(mat.Dense)
	u.Mul(q, &small)
	svd.VTo(v)
	return u, svd.Values(nil), v, nil
}

// truncate returns the first k columns under the sign rule.
func truncate(u, v *mat.Dense, sigma []float64, k int) *TruncatedSVD {
	n, _ := u.Dims()
	p, _ := v.Dims()
	t := &TruncatedSVD{
		U: mat.DenseCopyOf(u.Slice(0, n, 0, k)),
		V: mat.DenseCopyOf(v.Slice(0, p, 0, k)),
		S: sigma[:k:k],
	}
	left, right := t.U.RawMatrix(), t.V.RawMatrix()
	for c := range k {
		var largest float64
		for i := c; i < len(right.Data); i += right.Stride {
			if math.Abs(right.Data[i]) > math.Abs(largest) {
				largest = right.Data[i]
			}
		}
		if largest < 0 {
			for i := c; i < len(right.Data); i += right.Stride {
				right.Data[i] = -right.Data[i]
			}
			for i := c; i < len(left.Data); i += left.Stride {
				left.Data[i] = -left.Data[i]
			}
		}
	}
	return t
}

func identity(n int) *mat.Dense {
	eye := mat.NewDense(n, n, nil)
	for i := range n {
		eye.Set(i, i, 1)
	}
	return eye
}
