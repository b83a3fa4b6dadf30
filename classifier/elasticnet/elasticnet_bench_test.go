package elasticnet_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier/elasticnet"
	"github.com/wardcast/wardcast/solver/matrix"
)

// benchmarkProblem draws n notes with k dense scores and p sparse terms, 20 of them in each note.
func benchmarkProblem(b *testing.B, n, k, p int) elasticnet.Problem {
	b.Helper()
	random := rand.New(rand.NewPCG(1, 1))
	scores := mat.NewDense(n, k, nil)
	y := make([]bool, n)
	indptr := []int{0}
	var columns []int32
	var values []float64
	for i := range n {
		var eta float64
		for t := range k {
			v := random.NormFloat64()
			scores.Set(i, t, v)
			eta += v / float64(t+1)
		}
		column := int32(0)
		for range min(20, p/2) {
			column += int32(1 + random.IntN(max(1, p/20-1)))
			if int(column) >= p {
				break
			}
			v := random.ExpFloat64()
			columns, values = append(columns, column), append(values, v)
			eta += v * math.Sin(float64(column))
		}
		indptr = append(indptr, len(values))
		y[i] = random.Float64() < 1/(1+math.Exp(-eta))
	}
	terms, err := matrix.NewCSR(n, p, indptr, columns, values)
	if err != nil {
		b.Fatal(err)
	}
	design, err := elasticnet.NewDesign(scores, terms)
	if err != nil {
		b.Fatal(err)
	}
	return elasticnet.Problem{Design: design, Y: y}
}

func BenchmarkFit(b *testing.B) {
	for _, size := range []struct{ n, k, p int }{{1000, 10, 500}, {5000, 50, 0}, {5000, 50, 5000}} {
		p := benchmarkProblem(b, size.n, max(size.k, 1), size.p)
		for _, alpha := range []float64{1, 0.05, 0} {
			b.Run(fmt.Sprintf("n=%d/k=%d/p=%d/alpha=%v", size.n, size.k, size.p, alpha), func(b *testing.B) {
				settings := elasticnet.DefaultSettings()
				settings.Alpha = alpha
				lambdas := 0
				b.ReportAllocs()
				for b.Loop() {
					path, err := elasticnet.Fit(b.Context(), p, settings)
					if err != nil {
						b.Fatal(err)
					}
					lambdas += len(path.Lambda)
				}
				b.ReportMetric(float64(lambdas)/b.Elapsed().Seconds(), "lambda/s")
			})
		}
	}
}
