package synth

import "testing"

func BenchmarkAt(b *testing.B) {
	g := generator(b, Settings{Misspelling: DefaultMisspelling})
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		g.At(i)
		i++
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "notes/s")
}
