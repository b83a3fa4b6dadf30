package linalg

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

var (
	// ErrNonFinite is returned for a matrix with an entry that is NaN or infinite, or whose squares overflow.
	ErrNonFinite = errors.New("value is not finite")

	// errNoConvergence is returned when the QR iteration of a small matrix does not end, which finite input
	// is not known to cause.
	errNoConvergence = errors.New("singular value iteration did not converge")
)

const (
	// polarRcond is a reciprocal condition number of C, with its columns scaled to length one. From it upwards one pass
	// of Cholesky QR and a Newton–Schulz step give an orthonormal matrix: the pass leaves an error of 1e-10, the step
	// its square.
	polarRcond = 1e-3
	// schulzRcond is a reciprocal condition number of the small factor. From it upwards the iteration computes the
	// polar factor, below it the SVD.
	schulzRcond = 1e-5
	// schulzDone is the ‖XᵀX − I‖ below which one more step reaches rounding. maxSchulz bounds the steps; at
	// schulzRcond there are 12.
	schulzDone = 1e-8
	maxSchulz  = 40
)

// PolarTo stores in dst the orthonormal polar factor of the p×k matrix C, p ≥ k: with the thin SVD C = W·S·Zᵀ,
//
//	dst = W·Zᵀ, which maximizes tr(dstᵀC) over all p×k matrices with dstᵀdst = I.
//
// It is computed from C = QR as Q times the polar factor of R, so that max|dstᵀdst − I| ≤ 1e-12 for every C.
// If C has rank < k the maximizer is not unique: the columns that C does not determine complete an orthonormal set.
// dst may be C itself. The cost is 1.5·p·k² multiply-adds plus about 20·k³. The first term doubles if the columns of C,
// scaled to length one, have a condition number above 100, and grows further above 1e3.
//
// It returns an error that wraps ErrNonFinite for a C that is not finite; dst is then unchanged.
func (t Threads) PolarTo(dst, c *mat.Dense) error {
	return (&Polar{Threads: t}).To(dst, c)
}

// Polar is PolarTo with memory that is kept from one call to the next. It is for one goroutine at a time. On one
// thread, a call with the shape of the call before allocates nothing if the condition number is at most 1e3.
type Polar struct {
	Threads Threads

	factor                    cholesky
	small, right, gram, cubic *mat.Dense // k×k
	tall                      *mat.Dense // p×k
}

// To is PolarTo.
func (w *Polar) To(dst, c *mat.Dense) error {
	p, k := c.Dims()
	if dp, dk := dst.Dims(); dp != p || dk != k || p < k {
		panic(errShape)
	}
	for _, m := range []**mat.Dense{&w.small, &w.right, &w.gram, &w.cubic} {
		*m = resized(*m, k, k)
	}
	// In the usual case Q = C·R⁻¹ is never formed: R⁻¹ is multiplied into the small factor.
	rcond := w.factor.factorize(w.Threads, c)
	if rcond < polarRcond {
		// A matrix with NaN or infinite entries has no condition number.
		if !finite(c) {
			return fmt.Errorf("computing a polar factor: %w", ErrNonFinite)
		}
		w.tall = resized(w.tall, p, k)
		w.tall.Copy(c)
		q := mat.NewDense(p, k, nil)
		r := w.Threads.qrTo(q, w.tall, clearRcond)
		if err := w.polarOf(r, math.Inf(1)); err != nil {
			return err
		}
		w.Threads.MulTo(dst, q, w.small)
		return nil
	}
	if err := w.polarOf(w.factor.r, w.factor.inverseNorm()); err != nil {
		return err
	}
	w.Threads.MulTo(w.right, w.factor.inverse, w.small)
	if dst != c && rcond >= clearRcond {
		w.Threads.MulTo(dst, c, w.right)
		return nil
	}
	w.tall = resized(w.tall, p, k)
	w.Threads.MulTo(w.tall, c, w.right)
	if rcond >= clearRcond {
		dst.Copy(w.tall)
		return nil
	}
	w.Threads.GramTo(w.gram, w.tall)
	schulzFactor(w.gram, 1)
	w.Threads.MulTo(dst, w.tall, w.gram)
	return nil
}

// polarOf stores the polar factor of the k×k matrix R in small; inverseNorm is an upper bound on ‖R⁻¹‖₂.
//
// If that bound is small enough, the factor is the limit of the scaled Newton–Schulz iteration of Chen and Chow 2014,
// "A stable scaling of Newton–Schulz for improving the sign function computation of a Hermitian matrix", here for XᵀX:
//
//	X ← (3/2)·ρ·X − (1/2)·ρ³·X·XᵀX, ρ² = 3/(1 + l + l²), l ← (1/2)·ρ·l·(3 − ρ²·l²)
//
// from X = R/s with s ≥ ‖R‖₂, l ≤ the smallest singular value of X.
func (w *Polar) polarOf(r *mat.Dense, inverseNorm float64) error {
	k, _ := r.Dims()
	w.Threads.GramTo(w.gram, r)
	s := math.Sqrt(mat.Norm(w.gram, math.Inf(1))) // s² = ‖RᵀR‖∞ ≥ ‖R‖₂²
	if l := 1 / (s * inverseNorm); l >= schulzRcond {
		w.small.Scale(1/s, r)
		floats.Scale(1/(s*s), w.gram.RawMatrix().Data)
		for range maxSchulz {
			done := DistanceFromIdentity(w.gram) <= schulzDone
			rho := math.Sqrt(3 / (1 + l + l*l))
			if done {
				rho = 1
			}
			l *= rho * (3 - rho*rho*l*l) / 2
			schulzFactor(w.gram, rho)
			w.Threads.MulTo(w.cubic, w.small, w.gram)
			w.small, w.cubic = w.cubic, w.small
			if done {
				return nil
			}
			w.Threads.GramTo(w.gram, w.small)
		}
	}
	var svd mat.SVD
	if !svd.Factorize(r, mat.SVDThin) {
		return fmt.Errorf("computing a polar factor: %w", errNoConvergence)
	}
	u, v := mat.NewDense(k, k, nil), mat.NewDense(k, k, nil)
	svd.UTo(u)
	svd.VTo(v)
	w.small.Mul(u, v.T())
	return nil
}

// schulzFactor stores (3/2)·ρ·I − (1/2)·ρ³·A in A.
func schulzFactor(a *mat.Dense, rho float64) {
	for i := range a.RawMatrix().Rows {
		row := a.RawRowView(i)
		for j := range row {
			row[j] *= -rho * rho * rho / 2
		}
		row[i] += 1.5 * rho
	}
}

// DistanceFromIdentity returns ‖A − I‖ for a square A, the root of the sum of squares of the entries.
func DistanceFromIdentity(a *mat.Dense) float64 {
	var sum float64
	for i := range a.RawMatrix().Rows {
		for j, v := range a.RawRowView(i) {
			if j == i {
				v--
			}
			sum += v * v
		}
	}
	return math.Sqrt(sum)
}

// resized returns a if it is rows×cols, and a new matrix of that shape otherwise.
func resized(a *mat.Dense, rows, cols int) *mat.Dense {
	if a != nil {
		if r, c := a.Dims(); r == rows && c == cols {
			return a
		}
	}
	return mat.NewDense(rows, cols, nil)
}

func finite(a *mat.Dense) bool {
	for i := range a.RawMatrix().Rows {
		if slices.ContainsFunc(a.RawRowView(i), func(v float64) bool { return v-v != 0 }) {
			return false
		}
	}
	return true
}
