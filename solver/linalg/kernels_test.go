package linalg

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// canary fills memory that a kernel must not write.
const canary = 12345.5

// strided returns a random r×c matrix inside a larger one whose other entries are canaries.
func strided(random *rand.Rand, r, c, margin int) blas64.General {
	stride := c + margin
	a := blas64.General{Rows: r, Cols: c, Stride: stride, Data: slices.Repeat([]float64{canary}, max(1, r)*stride)}
	for i := range r {
		for j := range c {
			a.Data[i*stride+j] = random.NormFloat64()
		}
	}
	return a
}

// accurate is a compensated sum of products, and the sum of their magnitudes.
type accurate struct{ sum, rest, magnitude float64 }

func (s *accurate) add(a, b float64) {
	product := a * b
	next := s.sum + product
	part := next - s.sum
	s.rest += math.FMA(a, b, -product) + (s.sum - (next - part)) + (product - part)
	s.sum = next
	s.magnitude += math.Abs(product)
}

// off reports whether got is farther from the sum than kernels allows for an inner dimension k.
func (s *accurate) off(got float64, k int) bool {
	return !(math.Abs(got-s.sum-s.rest) <= float64(k+1)*0x1p-52*s.magnitude)
}

// checkMultiply compares the product by each level with a loop, within the bound that kernels states, and vector levels
// with one another to the bit.
func checkMultiply(t rapid.TB, seed uint64, m, n, k, margin int, transpose, add bool) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	raw := strided(random, m, k, margin)
	a := rowMajor(raw)
	if transpose {
		raw = strided(random, k, m, margin)
		a = transposed(raw)
	}
	b, start := strided(random, k, n, margin), strided(random, m, n, margin)
	var vector []float64
	for _, l := range levels() {
		c := start
		c.Data = slices.Clone(start.Data)
		l.multiply(c, a, b, add)
		for i := range m {
			for j := range c.Stride {
				got, want := c.Data[i*c.Stride+j], accurate{sum: canary}
				if j < n {
					want = accurate{}
					if add {
						want.add(1, start.Data[i*c.Stride+j])
					}
					for t := range k {
						want.add(a.data[i*a.row+t*a.col], b.Data[t*b.Stride+j])
					}
				}
				if want.off(got, k) {
					t.Fatalf("%s: m=%d n=%d k=%d: element (%d, %d) = %g, want %g of %g", l.name, m, n, k, i, j, got,
						want.sum, want.magnitude)
				}
			}
		}
		if l.lanes > 0 {
			if vector != nil && !slices.Equal(c.Data, vector) {
				t.Fatalf("%s: m=%d n=%d k=%d: other bits than of more lanes", l.name, m, n, k)
			}
			vector = c.Data
		}
	}
}

func multiplyProperty(t *rapid.T) {
	size := rapid.IntRange(1, 60)
	checkMultiply(t, rapid.Uint64().Draw(t, "seed"), size.Draw(t, "m"), size.Draw(t, "n"),
		rapid.IntRange(0, 60).Draw(t, "k"),
		rapid.IntRange(0, 3).Draw(t, "margin"), rapid.Bool().Draw(t, "transpose"), rapid.Bool().Draw(t, "add"))
}

func TestMultiply(t *testing.T) {
	t.Parallel()
	rapid.Check(t, multiplyProperty)
}

func FuzzMultiply(f *testing.F) { f.Fuzz(rapid.MakeFuzz(multiplyProperty)) }

// TestMultiplyInBlocks passes the bounds of blocks and the strides from which they are copied.
func TestMultiplyInBlocks(t *testing.T) {
	t.Parallel()
	for _, s := range []struct{ m, n, k, margin int }{
		{height + 1, 25, depth + 1, 0},
		{2*height + 3, 30, 2*depth + 5, minPackB},
		{minPackRows, minPackB + 7, depth, 0},
		{minPackRows - 1, minPackB + 7, depth + 1, 1},
		{minPackA + 1, 3, depth + 9, 0},
	} {
		for _, transpose := range []bool{false, true} {
			checkMultiply(t, 1, s.m, s.n, s.k, s.margin, transpose, transpose)
		}
	}
}

// TestEveryTermCounts checks that 0·NaN and 0·∞ are NaN and that they do not leak into other elements.
func TestEveryTermCounts(t *testing.T) {
	t.Parallel()
	for _, l := range levels() {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			for _, k := range []int{1, 3, 4, 9} {
				a, b, c := mat.NewDense(11, k, nil), mat.NewDense(k, 13, nil), mat.NewDense(11, 13, nil)
				b.Set(k-1, 12, bad)
				l.multiply(c.RawMatrix(), rowMajor(a.RawMatrix()), b.RawMatrix(), false)
				for i := range 11 {
					for j := range 13 {
						if v := c.At(i, j); math.IsNaN(v) != (j == 12) || j < 12 && v != 0 {
							t.Fatalf("%s: 0·%g: element (%d, %d) = %g", l.name, bad, i, j, v)
						}
					}
				}
			}
		}
	}
}

func TestMultiplySparse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n, p := rapid.IntRange(1, 20).Draw(t, "n"), rapid.IntRange(1, 20).Draw(t, "p")
		k, margin := rapid.IntRange(1, 170).Draw(t, "k"), rapid.IntRange(0, 3).Draw(t, "margin")
		entries := drawDense(t, "X", n, p)
		x := &rowsOf{indptr: make([]int, n+1)}
		for i := range n {
			for j := range p {
				if v := entries.At(i, j); v != 0 {
					x.indices, x.values = append(x.indices, int32(j)), append(x.values, v/3)
				}
			}
			x.indptr[i+1] = len(x.values)
		}
		random := rand.New(rand.NewPCG(1, 0))
		d := strided(random, p, k, margin)
		start := strided(random, n, k, margin)
		from := rapid.IntRange(0, n).Draw(t, "from")
		to := rapid.IntRange(from, n).Draw(t, "to")
		var vector []float64
		for _, l := range levels() {
			dst := start
			dst.Data = slices.Clone(start.Data)
			l.multiplySparse(dst, x, d, from, to)
			if l.lanes > 0 {
				if vector != nil && !slices.Equal(dst.Data, vector) {
					t.Fatalf("%s: other bits than of more lanes", l.name)
				}
				vector = dst.Data
			}
			for i := range n {
				for j := range dst.Stride {
					columns, values := x.indices[x.indptr[i]:x.indptr[i+1]], x.values[x.indptr[i]:x.indptr[i+1]]
					want := accurate{sum: start.Data[i*dst.Stride+j]}
					if from <= i && i < to && j < k {
						want = accurate{}
						for e, c := range columns {
							want.add(values[e], d.Data[int(c)*d.Stride+j])
						}
					}
					if got := dst.Data[i*dst.Stride+j]; want.off(got, len(columns)) {
						t.Fatalf("%s: element (%d, %d) = %g, want %g", l.name, i, j, got, want.sum)
					}
				}
			}
		}
	})
}

// TestMultiplySparseInParts compares a product of more entries than a call takes with that of each row by itself.
func TestMultiplySparseInParts(t *testing.T) {
	t.Parallel()
	const n, p, k = 3000, 900, 90
	x, d := text(1, n, p, 60), normal(2, p, k)
	if x.NNZ() < 2*maxEntries {
		t.Fatalf("%d entries are too few", x.NNZ())
	}
	rows := new(rowsOf)
	rows.indptr, rows.indices, rows.values = x.Arrays()
	for _, l := range levels() {
		got, want := mat.NewDense(n, k, nil), mat.NewDense(n, k, nil)
		l.multiplySparse(got.RawMatrix(), rows, d.RawMatrix(), 0, n)
		for i := range n {
			l.multiplySparse(want.RawMatrix(), rows, d.RawMatrix(), i, i+1)
		}
		if !mat.Equal(got, want) {
			t.Errorf("%s: other values than of single rows", l.name)
		}
	}
	for _, c := range []struct{ entries, first, to, want int }{
		{1, 0, n, 1},                  // a row has more
		{maxEntries, n - 1, n, n},     // the last
		{rows.indptr[7], 0, n, 7},     // as many as fit
		{rows.indptr[7] - 1, 0, n, 6}, // one entry too many
		{x.NNZ(), 0, n, n},            // all
	} {
		if got := rows.within(c.entries, c.first, c.to); got != c.want {
			t.Errorf("rows from %d on with %d entries end at %d, want %d", c.first, c.entries, got, c.want)
		}
	}
}

func TestGramIsSymmetric(t *testing.T) {
	t.Parallel()
	for _, l := range levels() {
		for _, k := range []int{1, 7, gramPanel, gramPanel + 1, 131} {
			a := normal(1, 700, k)
			gram, inner := mat.NewDense(k, k, nil), mat.NewDense(k, k, nil)
			l.innerTo(0, gram, a, a, true)
			l.innerTo(0, inner, a, a, false)
			if !mat.Equal(gram, gram.T()) || !mat.EqualApprox(gram, inner, 1e-11) {
				t.Errorf("%s: k=%d: AᵀA is not symmetric, or not the product of its factors", l.name, k)
			}
		}
	}
}

func TestResultSharesNoMemory(t *testing.T) {
	t.Parallel()
	square := normal(1, 5, 5)
	for name, call := range map[string]func(){
		"MulTo":    func() { Threads(0).MulTo(square, square, normal(2, 5, 5)) },
		"AddMulTo": func() { Threads(0).AddMulTo(square, normal(2, 5, 5), square) },
		"GramTo":   func() { Threads(0).GramTo(square, square) },
		"InnerTo":  func() { Threads(0).InnerTo(square, normal(2, 5, 5), square) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got := recover(); got != errAlias {
					t.Errorf("panic %v, want %q", got, errAlias)
				}
			}()
			call()
		})
	}
}

func TestAddMulTo(t *testing.T) {
	t.Parallel()
	a, b, got := normal(1, 40, 9), normal(2, 9, 5), normal(3, 40, 5)
	var want mat.Dense
	want.Mul(a, b)
	want.Add(&want, got)
	Threads(0).AddMulTo(got, a, b)
	if !mat.EqualApprox(got, &want, 1e-13) {
		t.Errorf("C + A·B = %v, want %v", mat.Formatted(got), mat.Formatted(&want))
	}
}

// ulps returns the number of float64s between two that are not negative.
func ulps(a, b float64) int64 {
	d := int64(math.Float64bits(a)) - int64(math.Float64bits(b))
	return max(d, -d)
}

func TestLogisticTo(t *testing.T) {
	t.Parallel()
	inf := math.Inf(1)
	values := []float64{
		0, math.Copysign(0, -1), 1e-320, -1e-320, 1e-17, 36, -36, 40, -40, 709, -709, 710, -710, 740, -740, 745.2,
		-745.2, 746, -746, 800, -800, 1e308, -1e308, inf, -inf, 0.8813735870195429, -0.8813735870195430,
	}
	for x := -50.0; x < 50; x += 0.0137 {
		values = append(values, x)
	}
	for _, l := range levels() {
		if l.lanes > 0 {
			got, want := make([]float64, len(values)), make([]float64, len(values))
			if l.logisticTo(got, values) != best.logisticTo(want, values) || !slices.Equal(got, want) {
				t.Errorf("%s: other bits than of %s", l.name, best.name)
			}
		}
		for _, x := range values {
			e := math.Exp(-math.Abs(x))
			sigma := 1 / (1 + e)
			if x < 0 {
				sigma = e / (1 + e)
			}
			softplus := max(x, 0) + math.Log1p(e)
			dst := make([]float64, 1)
			got := l.logisticTo(dst, []float64{x})
			if ulps(dst[0], sigma) > 4 || ulps(got, softplus) > 4 {
				t.Errorf("%s: σ(%g) = %g, want %g (%d ulp); softplus %g, want %g (%d ulp)",
					l.name, x, dst[0], sigma, ulps(dst[0], sigma), got, softplus, ulps(got, softplus))
			}
		}
		for n := range 3 * 8 {
			m := make([]float64, n+1)
			m[n] = math.NaN()
			if got := l.logisticTo(m, m); !math.IsNaN(got) || !math.IsNaN(m[n]) || n > 0 && m[0] != 0.5 {
				t.Errorf("%s: σ of %d zeros and NaN = %g, softplus %g", l.name, n, m, got)
			}
		}
		if got := l.logisticTo(nil, nil); got != 0 {
			t.Errorf("%s: the sum of nothing is %g", l.name, got)
		}
	}
}

// TestSoftplusSum sums as long a row as a factorization has, against a compensated sum.
func TestSoftplusSum(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 7, 8, 9, logisticBlock, logisticBlock + 3, 20000} {
		m := normal(uint64(n), 1, n).RawRowView(0)
		var want, carry float64
		for i := range m {
			m[i] *= 10
			term := max(m[i], 0) + math.Log1p(math.Exp(-math.Abs(m[i]))) - carry
			next := want + term
			carry = (next - want) - term
			want = next
		}
		var vector []float64
		for _, l := range levels() {
			dst := make([]float64, n)
			got := l.logisticTo(dst, m)
			if math.Abs(got/want-1) > 1e-14 {
				t.Errorf("%s: n=%d: %g, want %g: off by %g", l.name, n, got, want, got/want-1)
			}
			if bits := append(slices.Clone(dst), got); l.lanes > 0 {
				if vector != nil && !slices.Equal(bits, vector) {
					t.Errorf("%s: n=%d: other bits than of more lanes", l.name, n)
				}
				vector = bits
			}
			again := slices.Clone(m)
			l.logisticTo(again, again)
			if !slices.Equal(again, dst) {
				t.Errorf("%s: n=%d: other values in place", l.name, n)
			}
		}
	}
}

func ExampleLogisticTo() {
	m := []float64{-1000, 0, 1000}
	softplus := LogisticTo(m, m)
	fmt.Printf("%v %.4f\n", m, softplus)
	// Output: [0 0.5 1] 1000.6931
}
