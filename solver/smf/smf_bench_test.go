package smf_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/matrix"
	"github.com/wardcast/wardcast/solver/smf"
)

// text returns n documents of p terms, about 50 of them in each, of length one, with q binary features and a label that
// one document in twenty has: the shape of the paper's job postings.
func text(n, p, q int) (*matrix.CSR, smf.Data) {
	random := rand.New(rand.NewPCG(1, 2))
	indptr, indices, values := []int{0}, []int32(nil), []float64(nil)
	data := smf.Data{Labels: make([]int, n), Aux: mat.NewDense(n, q, nil)}
	for i := range n {
		var logit float64
		for j := range p {
			if random.Float64() < 50*2*float64(p-j)/float64(p*p) {
				indices, values = append(indices, int32(j)), append(values, 1+random.ExpFloat64())
				logit += math.Sin(float64(7 * j))
			}
		}
		row := values[indptr[i]:]
		var norm float64
		for _, v := range row {
			norm += v * v
		}
		for c := range row {
			row[c] /= math.Sqrt(norm)
		}
		indptr = append(indptr, len(values))
		for j := range q {
			data.Aux.Set(i, j, 0.1*float64(random.IntN(2)))
		}
		if logit+3*random.NormFloat64() > 10 {
			data.Labels[i] = 1
		}
	}
	x, err := matrix.NewCSR(n, p, indptr, indices, values)
	if err != nil {
		panic(err)
	}
	return x, data
}

// BenchmarkSolve runs to the default tolerance. ms/update is the time after the start for each update.
func BenchmarkSolve(b *testing.B) {
	for _, size := range []struct{ n, p, q, k int }{{3000, 2840, 72, 20}} {
		x, data := text(size.n, size.p, size.q)
		for _, variant := range variants {
			b.Run(fmt.Sprintf("%s/n=%d/p=%d/k=%d", variant, size.n, size.p, size.k), func(b *testing.B) {
				benchmark(b, x, size.k, newMethod(b, data, smf.Settings{Variant: variant, Xi: 5, Ridge: 2}))
			})
		}
	}
}

// BenchmarkJobs runs on the case that the authors' program ran on: .31 to .57 s an iteration there.
func BenchmarkJobs(b *testing.B) {
	c := readCase(b, "b_jobs")
	for _, variant := range variants {
		for _, xi := range []float64{0.1, 5, 20} {
			b.Run(fmt.Sprintf("%s/xi=%g", variant, xi), func(b *testing.B) {
				benchmark(b, c.x, c.rank, newMethod(b, c.data, smf.Settings{Variant: variant, Xi: xi, Ridge: 2}))
			})
		}
	}
}

// BenchmarkGradient makes 20 updates of algorithm 1.
func BenchmarkGradient(b *testing.B) {
	c := readCase(b, "b_jobs")
	for _, variant := range variants {
		b.Run(string(variant), func(b *testing.B) {
			m := newMethod(b, c.data, smf.Settings{Variant: variant, Xi: 5, Ridge: 2, Step: 0.001})
			least := math.Inf(1)
			for b.Loop() {
				r := solve(b, c.x, solver.Settings{Rank: c.rank, MaxIter: 20}, m)
				least = min(least, r.Seconds.Solve/20)
			}
			b.ReportMetric(1e3*least, "least-ms/update")
		})
	}
}

func benchmark(b *testing.B, x mat.Matrix, rank int, m *smf.Method) {
	b.Helper()
	b.ReportAllocs()
	updates, least := 0, math.Inf(1)
	for b.Loop() {
		r := solve(b, x, solver.Settings{Rank: rank, RelTol: solver.DefaultRelTol}, m)
		updates += r.Iterations
		least = min(least, r.Seconds.Solve/float64(r.Iterations))
	}
	b.ReportMetric(float64(updates)/float64(b.N), "updates/op")
	b.ReportMetric(1e3*least, "least-ms/update")
}
