package eval_test

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/wardcast/wardcast/classifier/eval"
)

func benchmarkRows(n int) (y []bool, p []float64, groups []string) {
	random := rand.New(rand.NewPCG(1, 1))
	for range n {
		v := random.Float64()
		y, p = append(y, random.Float64() < v), append(p, v)
		groups = append(groups, strconv.Itoa(random.IntN(n/2)))
	}
	return y, p, groups
}

func BenchmarkMeasure(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		y, p, groups := benchmarkRows(n)
		for name, g := range map[string][]string{"rows": nil, "groups": groups} {
			b.Run("n="+strconv.Itoa(n)+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := eval.Measure(y, p, 0.5, g); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

func BenchmarkAssess(b *testing.B) {
	const n = 100_000
	y, p, groups := benchmarkRows(n)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := eval.Assess(y, p, groups); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStratifiedFolds(b *testing.B) {
	const n = 100_000
	y, _, groups := benchmarkRows(n)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := eval.StratifiedFolds(y, groups, 5, 1); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
