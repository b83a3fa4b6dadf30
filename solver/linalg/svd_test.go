package linalg

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/matrix"
)

// normal returns an n×p matrix of standard normal entries.
func normal(seed uint64, n, p int) *mat.Dense {
	random := rand.New(rand.NewPCG(seed, 0))
	a := mat.NewDense(n, p, nil)
	for i := range n {
		for j := range p {
			a.Set(i, j, random.NormFloat64())
		}
	}
	return a
}

// orthonormal returns an n×k matrix with orthonormal columns.
func orthonormal(seed uint64, n, k int) *mat.Dense {
	q := normal(seed, n, k)
	householderQR(q)
	return q
}

// withSpectrum returns an n×p matrix with these singular values.
func withSpectrum(seed uint64, n, p int, sigma []float64) *mat.Dense {
	u, v := orthonormal(seed, n, len(sigma)), orthonormal(seed+1, p, len(sigma))
	for t, s := range sigma {
		for i := range n {
			u.Set(i, t, u.At(i, t)*s)
		}
	}
	var x mat.Dense
	x.Mul(u, v.T())
	return &x
}

// orthogonality returns max|AᵀA − I|.
func orthogonality(a *mat.Dense) float64 {
	var gram mat.Dense
	gram.Mul(a.T(), a)
	k, _ := gram.Dims()
	var worst float64
	for i := range k {
		for j := range k {
			want := 0.0
			if i == j {
				want = 1
			}
			worst = max(worst, math.Abs(gram.At(i, j)-want))
		}
	}
	return worst
}

// sparse returns a as a CSR without its zeros.
func sparse(t testing.TB, a *mat.Dense) Sparse {
	t.Helper()
	n, p := a.Dims()
	indptr, indices, values := make([]int, n+1), []int32{}, []float64{}
	for i := range n {
		for j := range p {
			if v := a.At(i, j); v != 0 {
				indices, values = append(indices, int32(j)), append(values, v)
			}
		}
		indptr[i+1] = len(values)
	}
	x, err := matrix.NewCSR(n, p, indptr, indices, values)
	if err != nil {
		t.Fatal(err)
	}
	return Sparse{CSR: x}
}

func geometric(first, ratio float64, n int) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i], first = first, first*ratio
	}
	return s
}

func TestSVDRecoversKnownSpectra(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		n, p     int
		sigma    []float64
		rank     int
		settings SVDSettings
		tol      float64 // of each singular value, relative to itself
	}{
		{
			name: "falling to 1e-8 of the first", n: 300, p: 200, sigma: geometric(1, math.Pow(1e-8, 1.0/19), 60),
			rank: 20, tol: 1e-7,
		},
		{name: "wide", n: 120, p: 400, sigma: geometric(5, 0.9, 60), rank: 12, tol: 1e-6},
		{name: "huge", n: 100, p: 80, sigma: geometric(1e140, 0.5, 30), rank: 10, tol: 1e-9},
		{name: "tiny", n: 100, p: 80, sigma: geometric(1e-200, 0.5, 30), rank: 10, tol: 1e-9},
		{name: "small and exact", n: 30, p: 20, sigma: geometric(1, 0.95, 20), rank: 15, tol: 1e-12},
		{name: "small and exact, wide", n: 20, p: 30, sigma: geometric(1, 0.95, 20), rank: 20, tol: 1e-12},
		{name: "rank below k", n: 90, p: 70, sigma: geometric(3, 0.5, 4), rank: 9, tol: 1e-12},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			x := withSpectrum(7, test.n, test.p, test.sigma)
			test.settings.Rank = test.rank
			got, err := SVD(Dense{Dense: x}, test.settings)
			if err != nil {
				t.Fatal(err)
			}
			if u, v := orthogonality(got.U), orthogonality(got.V); u > 1e-12 || v > 1e-12 {
				t.Errorf("max|UᵀU − I| = %g, max|VᵀV − I| = %g", u, v)
			}
			for i, s := range got.S {
				want := 0.0
				if i < len(test.sigma) {
					want = test.sigma[i]
				}
				if math.Abs(s-want) > test.tol*want+1e-14*test.sigma[0] {
					t.Errorf("σ[%d] = %g, want %g", i, s, want)
				}
			}
		})
	}
}

func TestSVDRefuses(t *testing.T) {
	t.Parallel()
	nan := normal(1, 5, 4)
	nan.Set(2, 2, math.NaN())
	inf := normal(1, 5, 4)
	inf.Set(2, 2, math.Inf(-1))
	for _, test := range []struct {
		x    *mat.Dense
		rank int
		want error
	}{
		{normal(1, 5, 4), 0, ErrRank},
		{normal(1, 5, 4), -1, ErrRank},
		{normal(1, 5, 4), 5, ErrRank},
		{nan, 2, ErrNonFinite},
		{inf, 2, ErrNonFinite},
	} {
		for _, x := range []matrix.Products{Dense{Dense: test.x}, sparse(t, test.x)} {
			if _, err := SVD(x, SVDSettings{Rank: test.rank}); !errors.Is(err, test.want) {
				t.Errorf("rank %d: error %v, want %v", test.rank, err, test.want)
			}
		}
	}
}

func TestPolarTo(t *testing.T) {
	t.Parallel()
	spectra := map[string][]float64{
		"well conditioned": geometric(3, 0.9, 8),
		"cond 1e5":         geometric(1, math.Pow(1e-5, 1.0/7), 8),
		"cond 1e12":        geometric(1, math.Pow(1e-12, 1.0/7), 8),
		"rank 3":           geometric(1, 0.5, 3),
		"zero":             {0},
		"tiny":             geometric(1e-180, 0.9, 8),
		"huge":             geometric(1e180, 0.9, 8),
	}
	for name, sigma := range spectra {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := withSpectrum(3, 200, 8, sigma)
			dst := mat.NewDense(200, 8, nil)
			if err := Threads(0).PolarTo(dst, c); err != nil {
				t.Fatal(err)
			}
			if e := orthogonality(dst); e > 1e-12 {
				t.Errorf("max|dstᵀdst − I| = %g", e)
			}
			// The maximum of tr(dstᵀC) is the nuclear norm.
			var got, want float64
			for i := range 200 {
				for j := range 8 {
					got += dst.At(i, j) * c.At(i, j)
				}
			}
			for _, s := range sigma {
				want += s
			}
			if math.Abs(got-want) > 1e-12*want {
				t.Errorf("tr(dstᵀC) = %g, want %g", got, want)
			}
		})
	}
	bad := normal(1, 9, 3)
	bad.Set(8, 2, math.NaN())
	if err := Threads(0).PolarTo(mat.NewDense(9, 3, nil), bad); !errors.Is(err, ErrNonFinite) {
		t.Errorf("error %v, want %v", err, ErrNonFinite)
	}
}

// TestPolarToAtEveryCondition passes through each of its paths, with columns of very unequal length.
func TestPolarToAtEveryCondition(t *testing.T) {
	t.Parallel()
	const p, k = 300, 12
	for e := 0.0; e <= 18; e += 0.5 {
		c := withSpectrum(uint64(100*e), p, k, geometric(1, math.Pow(10, -e/(k-1)), k))
		for i := range p {
			for j := range k {
				c.Set(i, j, c.At(i, j)*math.Pow(10, float64(j)-k/2))
			}
		}
		if err := Threads(0).PolarTo(c, c); err != nil {
			t.Fatal(err)
		}
		if o := orthogonality(c); o > 1e-12 {
			t.Errorf("condition 1e%g: max|dstᵀdst − I| = %g", e, o)
		}
	}
}

func TestGramAndInner(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 5, 511, 512, 513, 1500, 40000} {
		t.Run(fmt.Sprint("n=", n), func(t *testing.T) {
			t.Parallel()
			a, b := normal(1, n, 7), normal(2, n, 3)
			var want, got mat.Dense
			want.Mul(a.T(), b)
			got = *mat.NewDense(7, 3, nil)
			Threads(0).InnerTo(&got, a, b)
			if !mat.EqualApprox(&got, &want, 1e-10*float64(n)) {
				t.Errorf("AᵀB = %v, want %v", got, want)
			}
			want.Reset()
			want.Mul(a.T(), a)
			gram := mat.NewDense(7, 7, nil)
			Threads(0).GramTo(gram, a)
			if !mat.EqualApprox(gram, &want, 1e-10*float64(n)) {
				t.Errorf("AᵀA = %v, want %v", gram, want)
			}
		})
	}
}
