package linalg

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestBox compares rounds by each level with a loop, and vector levels with one another to the bit.
func TestBox(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, k := range []int{1, 2, 3, 8, 20} {
		for _, m := range []int{8, 16, 24, 32, 64, 104, 128} {
			for _, upper := range []float64{1, math.Inf(1)} {
				design := normal(uint64(k*m), k+2, k)
				if k == 3 {
					design.SetCol(1, make([]float64, k+2)) // no curvature
				}
				gram := mat.NewDense(k, k, nil)
				Threads(0).GramTo(gram, design)
				start, c := mat.NewDense(k, m, nil), strided(random, k, m, 0)
				for i := range k {
					for j := range m {
						start.Set(i, j, random.Float64())
					}
				}
				want := boxByHand(gram, start, mat.NewDense(k, m, c.Data), upper)
				var vector []float64
				for _, l := range levels() {
					x := mat.DenseCopyOf(start)
					l.improve(&Box{Gram: gram, Upper: upper, Rounds: 3}, x, mat.NewDense(k, m, c.Data))
					if !mat.EqualApprox(x, want, 1e-10) {
						t.Fatalf("%s: k=%d m=%d upper=%v: farther than rounding from a loop", l.name, k, m, upper)
					}
					if l.lanes > 0 {
						if vector != nil && !slices.Equal(vector, x.RawMatrix().Data) {
							t.Errorf("%s: k=%d m=%d: other bits than of more lanes", l.name, k, m)
						}
						vector = x.RawMatrix().Data
					}
				}
			}
		}
	}
}

func boxByHand(gram, start, c *mat.Dense, upper float64) *mat.Dense {
	x := mat.DenseCopyOf(start)
	k, m := x.Dims()
	for j := range m {
		for range 3 {
			for t := range k {
				rest := c.At(t, j)
				for s := range k {
					if s != t {
						rest -= gram.At(t, s) * x.At(s, j)
					}
				}
				if gram.At(t, t) > 0 {
					x.Set(t, j, min(max(rest/gram.At(t, t), 0), upper))
				}
			}
		}
	}
	return x
}

// TestSurrogate compares the step of each level with its definition.
func TestSurrogate(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 7, 8, 9, 64, 1003, maxEntries + 9} {
		s := &Surrogate{Rho: 1.5, Low: 0.5, High: 2}
		answers, fit, multipliers := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range n {
			answers[i], fit[i], multipliers[i] = 0.5+1.5*random.Float64(), 3*random.Float64(), random.NormFloat64()
			if random.IntN(4) == 0 {
				answers[i] = math.NaN()
			}
		}
		var squares float64
		v, a := make([]float64, n), make([]float64, n)
		for i, m := range answers {
			z := fit[i] - multipliers[i]/s.Rho
			if m == m {
				squares += (m - fit[i]) * (m - fit[i])
				z = (m + s.Rho*fit[i] - multipliers[i]) / (1 + s.Rho)
			}
			z = min(max(z, s.Low), s.High)
			a[i] = multipliers[i] + s.Rho*(z-fit[i])
			v[i] = z + a[i]/s.Rho
		}
		var vector []float64
		for _, l := range levels() {
			gotV, gotA := slices.Clone(fit), slices.Clone(multipliers)
			got := l.step(s, answers, gotV, gotA)
			if math.Abs(got-squares) > 1e-13*squares {
				t.Errorf("%s: n=%d: squares %v, want %v", l.name, n, got, squares)
			}
			for i := range n {
				if math.Abs(gotV[i]-v[i]) > 1e-14 || math.Abs(gotA[i]-a[i]) > 1e-14 {
					t.Fatalf("%s: n=%d: cell %d: %v and %v, want %v and %v", l.name, n, i, gotV[i], gotA[i], v[i], a[i])
				}
			}
			if bits := slices.Concat(gotV, gotA, []float64{got}); l.lanes > 0 {
				if vector != nil && !slices.Equal(vector, bits) {
					t.Errorf("%s: n=%d: other bits than of more lanes", l.name, n)
				}
				vector = bits
			}
		}
	}
}
