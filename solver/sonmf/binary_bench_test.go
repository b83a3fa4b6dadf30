package sonmf_test

import (
	"fmt"
	"testing"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/matrix"
	"github.com/wardcast/wardcast/solver/sonmf"
)

// BenchmarkBinaryUpdate times an update of the 25 million cells of 5,000 notes, with one thread under GOMAXPROCS=1.
func BenchmarkBinaryUpdate(b *testing.B) {
	counts := notes(b)
	ones := make([]float64, counts.NNZ())
	for i := range ones {
		ones[i] = 1
	}
	n, p := counts.Dims()
	indptr, indices, _ := counts.Arrays()
	x, err := matrix.NewCSR(n, p, indptr, indices, ones)
	if err != nil {
		b.Fatal(err)
	}
	m, err := sonmf.NewBinary(sonmf.BinarySettings{})
	if err != nil {
		b.Fatal(err)
	}
	for _, k := range []int{10, 50} {
		b.Run(fmt.Sprintf("k=%d", k), func(b *testing.B) {
			b.ReportAllocs()
			var seconds float64
			var updates int
			for b.Loop() {
				r, err := solver.Solve(b.Context(), x, solver.Settings{Rank: k, MaxIter: 10, RelTol: -1}, m)
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
