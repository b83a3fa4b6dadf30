package linalg

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/matrix"
)

// text returns a matrix with nnz entries per row, in columns as skewed as words are.
func text(seed uint64, n, p, nnz int) Sparse {
	random := rand.New(rand.NewPCG(seed, 0))
	a := make(map[int32]float64, nnz)
	indptr, indices, values := make([]int, n+1), []int32{}, []float64{}
	for i := range n {
		clear(a)
		for len(a) < nnz {
			u := random.Float64()
			a[int32(u*u*float64(p))] = random.ExpFloat64()
		}
		for j := range int32(p) {
			if v, ok := a[j]; ok {
				indices, values = append(indices, j), append(values, v)
			}
		}
		indptr[i+1] = len(values)
	}
	x, err := matrix.NewCSR(n, p, indptr, indices, values)
	if err != nil {
		panic(err)
	}
	return Sparse{CSR: x}
}

const (
	benchN, benchP = 5000, 5000
	benchNNZ       = 25 // terms of a note
)

func benchName(k int) string {
	return fmt.Sprintf("n=%d/p=%d/k=%d/density=%g", benchN, benchP, k, float64(benchNNZ)/benchP)
}

// report reports the rate of an operation of this many multiply-adds.
func report(b *testing.B, multiplyAdds int) {
	b.ReportMetric(float64(multiplyAdds)*float64(b.N)/b.Elapsed().Seconds()/1e9, "Gmadd/s")
}

func BenchmarkCSR(b *testing.B) {
	x := text(1, benchN, benchP, benchNNZ)
	x.Transpose()
	for _, k := range []int{10, 50, 150} {
		d, dst := normal(2, benchP, k), mat.NewDense(benchN, k, nil)
		b.Run("MulTo/"+benchName(k), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x.MulTo(dst, d)
			}
			report(b, x.NNZ()*k)
		})
		b.Run("MulTransTo/"+benchName(k), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x.MulTransTo(dst, d)
			}
			report(b, x.NNZ()*k)
		})
	}
}

func BenchmarkTall(b *testing.B) {
	for _, k := range []int{10, 50, 150} {
		a, small, dst := normal(1, benchP, k), normal(2, k, k), mat.NewDense(benchP, k, nil)
		gram := mat.NewDense(k, k, nil)
		name := fmt.Sprintf("p=%d/k=%d", benchP, k)
		for _, op := range []struct {
			name         string
			multiplyAdds int
			run          func()
		}{
			{"gonum Mul", benchP * k * k, func() { dst.Mul(a, small) }},
			{"GramTo", benchP * k * k / 2, func() { Threads(0).GramTo(gram, a) }},
			{"InnerTo", benchP * k * k, func() { Threads(0).InnerTo(gram, a, dst) }},
			{"gonum Gram", benchP * k * k, func() { gram.Mul(a.T(), a) }},
			{"PolarTo", benchP * k * k * 3 / 2, func() { _ = Threads(0).PolarTo(dst, a) }},
		} {
			b.Run(op.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					op.run()
				}
				report(b, op.multiplyAdds)
			})
		}
	}
}

func BenchmarkSVD(b *testing.B) {
	x := text(1, benchN, benchP, benchNNZ)
	for _, k := range []int{10, 50} {
		b.Run(benchName(k), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := SVD(x, SVDSettings{Rank: k}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
