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

func BenchmarkScore(b *testing.B) {
	data, m, _ := questionnaire(1, 1000, 120, 8)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Score(data.Answers, data.Confounds); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "participants/s")
}
