package icqf

import (
	"fmt"
	"testing"
)

func BenchmarkFit(b *testing.B) {
	for _, size := range []struct{ n, p, k int }{{200, 100, 10}, {5000, 120, 8}} {
		b.Run(fmt.Sprintf("n=%d/p=%d/k=%d", size.n, size.p, size.k), func(b *testing.B) {
			data, _, _ := questionnaire(1, size.n, size.p, size.k)
			b.ReportAllocs()
			var updates int
			for b.Loop() {
				updates += fit(b, data, Settings{Rank: size.k, L1: 0.1, RelTol: 1e-6}).Iterations
			}
			b.ReportMetric(float64(updates)/b.Elapsed().Seconds(), "updates/s")
		})
	}
}

// BenchmarkScore scores participants by planted loadings, an item on one factor each, and by loadings of every item on
// every factor.
func BenchmarkScore(b *testing.B) {
	const n = 1000
	for _, size := range []struct {
		p, k int
		all  float64 // loadings besides the planted ones
	}{{120, 8, 0}, {120, 8, 0.2}, {120, 30, 0.2}} {
		b.Run(fmt.Sprintf("n=%d/p=%d/k=%d/all=%v", n, size.p, size.k, size.all), func(b *testing.B) {
			data, m, _ := questionnaire(1, n, size.p, size.k)
			m.Loadings.Apply(func(_, _ int, v float64) float64 { return max(v, size.all) }, m.Loadings)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.Score(data.Answers, data.Confounds); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "participants/s")
		})
	}
}
