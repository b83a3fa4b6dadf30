package methods_test

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/methods"
)

// All methods without labels, by name, on one matrix.
func ExampleNew() {
	x := mat.NewDense(3, 3, []float64{
		1, 1, 0,
		1, 1, 0,
		0, 0, 1,
	})
	for _, name := range methods.Names() {
		method, _, err := methods.New(name, methods.Settings{})
		if err != nil {
			fmt.Println(err)
			return
		}
		result, err := solver.Solve(context.Background(), x, solver.Settings{Rank: 2, MaxIter: 5}, method)
		if err != nil {
			fmt.Println(err)
			return
		}
		n, k := result.Scores.Dims()
		fmt.Printf("%s: %d scores of %d documents\n", name, k, n)
	}
	// Output:
	// sonmf: 2 scores of 3 documents
	// sonmf-binary: 2 scores of 3 documents
	// nmf: 2 scores of 3 documents
	// onmf: 2 scores of 3 documents
	// semi-nmf: 2 scores of 3 documents
	// log-nmf: 2 scores of 3 documents
	// l1-nmf: 2 scores of 3 documents
	// svd: 2 scores of 3 documents
}
