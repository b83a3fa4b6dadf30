package linalg

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/wardcast/wardcast/solver/matrix"
)

// drawDense draws a matrix of small integers, most of them 0, so that sums are exact in any order.
func drawDense(t *rapid.T, label string, n, p int) *mat.Dense {
	entry := rapid.SampledFrom([]float64{0, 0, 0, 0, 1, -2, 3})
	return mat.NewDense(n, p, rapid.SliceOfN(entry, n*p, n*p).Draw(t, label))
}

func TestSparseEqualsDense(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(1, 9)
		n, p, k := size.Draw(rt, "n"), size.Draw(rt, "p"), size.Draw(rt, "k")
		dense := drawDense(rt, "X", n, p)
		x := sparse(t, dense)
		d, e := drawDense(rt, "D", p, k), drawDense(rt, "E", n, k)

		equal := func(what string, got, want mat.Matrix) {
			rt.Helper()
			if !mat.Equal(got, want) {
				rt.Errorf("%s = %v, want %v", what, mat.Formatted(got), mat.Formatted(want))
			}
		}
		var want mat.Dense
		for _, op := range []matrix.Products{x, Dense{Dense: dense}, Sparse{CSR: x.Transpose().Transpose()}} {
			got := mat.NewDense(n, k, nil)
			op.MulTo(got, d)
			want.Reset()
			want.Mul(dense, d)
			equal("X·D", got, &want)

			got = mat.NewDense(p, k, nil)
			op.MulTransTo(got, e)
			want.Reset()
			want.Mul(dense.T(), e)
			equal("Xᵀ·E", got, &want)

			want.Reset()
			want.MulElem(dense, dense)
			if got, want := op.NormSquared(), mat.Sum(&want); got != want {
				rt.Errorf("‖X‖² = %g, want %g", got, want)
			}
		}
		rows := rapid.SliceOf(rapid.IntRange(0, n-1)).Draw(rt, "rows")
		if len(rows) > 0 {
			copied := SelectRows(dense, rows)
			for i, r := range rows {
				if !slices.Equal(copied.RawRowView(i), dense.RawRowView(r)) {
					rt.Errorf("row %d of the dense selection is not row %d", i, r)
				}
			}
		}
		if SelectRows(nil, rows) != nil {
			rt.Error("rows of no matrix")
		}
	})
}

func TestNaNReachesTheProduct(t *testing.T) {
	t.Parallel()
	dense := mat.NewDense(2, 2, []float64{1, math.NaN(), 0, 2})
	for _, x := range []matrix.Products{sparse(t, dense), Dense{Dense: dense}} {
		dst := mat.NewDense(2, 1, nil)
		x.MulTo(dst, mat.NewDense(2, 1, []float64{1, 1}))
		if !math.IsNaN(dst.At(0, 0)) || dst.At(1, 0) != 2 {
			t.Errorf("%T: X·1 = %v, want NaN and 2", x, mat.Formatted(dst))
		}
		if !math.IsNaN(x.NormSquared()) {
			t.Errorf("%T: ‖X‖² = %g, want NaN", x, x.NormSquared())
		}
	}
}

func TestShapeMismatchPanics(t *testing.T) {
	t.Parallel()
	x := sparse(t, normal(1, 3, 2))
	for name, call := range map[string]func(){
		"MulTo": func() { x.MulTo(mat.NewDense(3, 1, nil), mat.NewDense(3, 1, nil)) },
		"MulTransTo": func() {
			Dense{Dense: normal(1, 3, 2)}.MulTransTo(mat.NewDense(2, 2, nil), mat.NewDense(3, 1, nil))
		},
		"GramTo":  func() { Threads(0).GramTo(mat.NewDense(3, 3, nil), normal(1, 3, 2)) },
		"InnerTo": func() { Threads(0).InnerTo(mat.NewDense(2, 2, nil), normal(1, 3, 2), normal(1, 4, 2)) },
		"PolarTo": func() { _ = Threads(0).PolarTo(mat.NewDense(2, 3, nil), normal(1, 2, 3)) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got := recover(); got != errShape {
					t.Errorf("panic %v, want %q", got, errShape)
				}
			}()
			call()
		})
	}
}

func TestSameBitsForAnyThreads(t *testing.T) {
	t.Parallel()
	const n, p, k = 1200, 700, 70
	sparse, a := text(1, n, p, 20), normal(2, n, k)
	run := func(threads Threads) map[string][]float64 {
		x := OperatorOf(sparse, threads)
		bits := map[string][]float64{}
		keep := func(name string, m *mat.Dense) { bits[name] = m.RawMatrix().Data }

		xd, xt := mat.NewDense(n, k, nil), mat.NewDense(p, k, nil)
		x.MulTransTo(xt, a)
		x.MulTo(xd, xt)
		keep("Xᵀ·A", xt)
		keep("X·Xᵀ·A", xd)
		dense := mat.NewDense(p, k, nil)
		tall, square := mat.NewDense(n, k, nil), mat.NewDense(k, k, nil)
		threads.MulTo(tall, xd, normal(3, k, k))
		Dense{a, threads}.MulTransTo(square, xd)
		keep("tall·small", tall)
		keep("dense Aᵀ·D", square)
		gram, inner := mat.NewDense(k, k, nil), mat.NewDense(k, k, nil)
		threads.GramTo(gram, a)
		threads.InnerTo(inner, a, xd)
		keep("AᵀA", gram)
		keep("AᵀXXᵀA", inner)
		if err := threads.PolarTo(dense, xt); err != nil {
			t.Fatal(err)
		}
		keep("polar factor", dense)
		svd, err := SVD(x, SVDSettings{Rank: 20, PowerIterations: 3, Seed: 5, Threads: threads})
		if err != nil {
			t.Fatal(err)
		}
		keep("U", svd.U)
		keep("V", svd.V)
		bits["S"] = svd.S
		return bits
	}
	want := run(1)
	for _, threads := range []Threads{0, 2, 5} {
		if diff := cmp.Diff(want, run(threads)); diff != "" {
			t.Errorf("%d threads (-1 +%d): %s", threads, threads, diff)
		}
	}
}

func TestSVDSignRuleAndSeed(t *testing.T) {
	t.Parallel()
	x := text(1, 200, 150, 10)
	for _, rank := range []int{5, 140} {
		got, err := SVD(x, SVDSettings{Rank: rank})
		if err != nil {
			t.Fatal(err)
		}
		again, err := SVD(x, SVDSettings{Rank: rank})
		if err != nil {
			t.Fatal(err)
		}
		if !mat.Equal(got.U, again.U) || !mat.Equal(got.V, again.V) {
			t.Error("equal seeds give other vectors")
		}
		for c := range rank {
			column := mat.Col(nil, c, got.V)
			largest := 0
			for j, v := range column {
				if math.Abs(v) > math.Abs(column[largest]) {
					largest = j
				}
			}
			if column[largest] < 0 {
				t.Errorf("rank %d: the largest entry of column %d of V is %g", rank, c, column[largest])
			}
		}
	}
}
