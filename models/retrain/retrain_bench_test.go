package retrain_test

import (
	"testing"

	"github.com/wardcast/wardcast/internal/lab/sample"
	"github.com/wardcast/wardcast/models/retrain"
)

func BenchmarkCollect(b *testing.B) {
	_, m := hospital(b, 20_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := retrain.Collect(b.Context(), m, retrain.Settings{Aux: sample.Aux()}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(m.notes)*b.N)/b.Elapsed().Seconds(), "notes/s")
}
