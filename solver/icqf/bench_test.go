package icqf

import "testing"

func BenchmarkLarge(b *testing.B) {
	data := large(b, "train")
	for b.Loop() {
		r, err := Fit(b.Context(), data, Settings{Rank: 8, L1: .1, RelTol: 1e-5})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(r.Iterations), "updates")
		b.ReportMetric(r.Outside, "outside")
		b.ReportMetric(1e3*r.Seconds.Init, "init-ms")
		b.ReportMetric(1e3*r.Seconds.Solve, "solve-ms")
	}
}
