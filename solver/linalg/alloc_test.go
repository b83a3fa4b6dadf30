//go:build !race

package linalg

import (
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestNoAllocations checks the promises of the comments for one thread, on which AllocsPerRun runs. The race detector
// empties pools.
//
// Not parallel: AllocsPerRun sets GOMAXPROCS of the process.
func TestNoAllocations(t *testing.T) {
	const n, p, k = 600, 900, 30
	x, dense := text(1, n, p, 10), Dense{Dense: normal(1, n, p)}
	scores, topics, cross, square := normal(2, n, k), normal(3, p, k), mat.NewDense(p, k, nil), mat.NewDense(k, k, nil)
	row := make([]float64, k+1)
	var polar Polar
	for name, run := range map[string]func(){
		"Sparse.MulTo":      func() { x.MulTo(scores, topics) },
		"Sparse.MulTransTo": func() { x.MulTransTo(cross, scores) },
		"Dense.MulTo":       func() { dense.MulTo(scores, topics) },
		"Dense.MulTransTo":  func() { dense.MulTransTo(cross, scores) },
		"GramTo":            func() { Threads(0).GramTo(square, topics) },
		"InnerTo":           func() { Threads(0).InnerTo(square, topics, topics) },
		"MulTo":             func() { Threads(0).MulTo(cross, topics, square) },
		"LogisticTo":        func() { LogisticTo(row, row) },
		"Polar.To": func() {
			if err := polar.To(cross, topics); err != nil {
				t.Fatal(err)
			}
		},
	} {
		if allocs := testing.AllocsPerRun(20, run); allocs > 0 {
			t.Errorf("%s allocates %g times", name, allocs)
		}
	}
}
