package sonmf_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/matrix"
	"github.com/wardcast/wardcast/solver/sonmf"
)

// notes returns the tf-idf rows of 5,000 notes of about 25 terms each out of 5,000, whose frequencies fall as 1/rank.
func notes(b *testing.B) *matrix.CSR {
	b.Helper()
	const n, p, terms = 5000, 5000, 27
	random := rand.New(rand.NewPCG(1, 1))
	indptr := []int{0}
	var indices []int32
	var values []float64
	for range n {
		row := map[int32]float64{}
		for range terms {
			row[int32(math.Pow(p, random.Float64()))-1] += 1 + random.Float64()
		}
		columns := make([]int32, 0, len(row))
		for j := range row {
			columns = append(columns, j)
		}
		slices.Sort(columns)
		for _, j := range columns {
			indices = append(indices, j)
			values = append(values, row[j])
		}
		indptr = append(indptr, len(values))
	}
	df := make([]float64, p)
	for _, j := range indices {
		df[j]++
	}
	for e, j := range indices {
		values[e] *= math.Log(n / df[j])
	}
	x, err := matrix.NewCSR(n, p, indptr, indices, values)
	if err != nil {
		b.Fatal(err)
	}
	x.Transpose()
	return x
}

// BenchmarkUpdate times an update by each step, with one thread under GOMAXPROCS=1.
func BenchmarkUpdate(b *testing.B) {
	x := notes(b)
	for _, k := range []int{10, 50, 150} {
		for _, step := range []sonmf.Step{sonmf.StepExtrapolated, sonmf.StepExact, sonmf.StepCayley} {
			b.Run(fmt.Sprintf("k=%d/step=%s", k, step), func(b *testing.B) {
				m, err := sonmf.New(sonmf.Settings{Step: step})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				var seconds float64
				var updates int
				for b.Loop() {
					r, err := solver.Solve(b.Context(), x,
						solver.Settings{Rank: k, Init: solver.InitRandom, MaxIter: 10, RelTol: -1}, m)
					if err != nil {
						b.Fatal(err)
					}
					seconds += r.Seconds.Solve
					updates += r.Iterations
				}
				b.ReportMetric(1e3*seconds/float64(updates), "ms/update")
			})
		}
	}
}

// BenchmarkProducts times the four products that every exact update needs: X·F, Xᵀ·G, CᵀC and C·(k×k).
func BenchmarkProducts(b *testing.B) {
	x := linalg.OperatorOf(notes(b), 0)
	n, p := x.Dims()
	for _, k := range []int{10, 50, 150} {
		random := rand.New(rand.NewPCG(1, 2))
		topics, scores, cross, gram := mat.NewDense(p, k, nil), mat.NewDense(n, k, nil), mat.NewDense(p, k, nil),
			mat.NewDense(k, k, nil)
		topics.Apply(func(_, _ int, _ float64) float64 { return random.NormFloat64() }, topics)
		for name, product := range map[string]func(){
			"XF": func() { x.MulTo(scores, topics) },
			"XG": func() { x.MulTransTo(cross, scores) },
			"CC": func() { linalg.Threads(0).GramTo(gram, topics) },
			"CM": func() { cross.Mul(topics, gram) },
			"all": func() {
				x.MulTo(scores, topics)
				x.MulTransTo(cross, scores)
				linalg.Threads(0).GramTo(gram, topics)
				cross.Mul(topics, gram)
			},
		} {
			b.Run(fmt.Sprintf("k=%d/%s", k, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					product()
				}
			})
		}
	}
}
