package nmf

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
)

// BenchmarkUpdate makes updates of a sparse matrix of 25 of 2,000 terms in each of 2,000 documents.
func BenchmarkUpdate(b *testing.B) {
	const n, p, perRow, k = 2000, 2000, 25, 50
	random := rand.New(rand.NewPCG(1, 0))
	indptr, indices, values := make([]int, n+1), make([]int32, 0, n*perRow), make([]float64, 0, n*perRow)
	for i := range n {
		for c := range perRow {
			indices = append(indices, int32(c*p/perRow+random.IntN(p/perRow)))
			values = append(values, 1)
		}
		indptr[i+1] = len(values)
	}
	x, err := linalg.NewCSR(n, p, indptr, indices, values)
	if err != nil {
		b.Fatal(err)
	}
	l1, err := NewL1(Auto, Auto)
	if err != nil {
		b.Fatal(err)
	}
	for _, method := range []solver.Method{NMF{}, ONMF{}, SemiNMF{}, LogNMF{}, l1} {
		b.Run(fmt.Sprintf("%s/n=%d/p=%d/k=%d/density=%g", method.Name(), n, p, k, float64(perRow)/p), func(b *testing.B) {
			s, err := method.Start(&solver.Problem{X: x, Settings: solver.Settings{Rank: k, Init: solver.InitRandom}})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				s.Update()
			}
		})
	}
}
