package nmf_test

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/nmf"
)

// Two topics of four documents: the first two documents share terms 0 and 1, the others terms 2 and 3.
func ExampleONMF() {
	x := mat.NewDense(4, 4, []float64{
		3, 4, 0, 0,
		6, 8, 0, 0,
		0, 0, 1, 0,
		0, 0, 2, 0,
	})
	result, err := solver.Solve(context.Background(), x, solver.Settings{Rank: 2}, nmf.ONMF{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.1f\n", mat.Formatted(result.Topics))
	fmt.Printf("%.1f\n", mat.Formatted(result.Scores))
	// Output:
	// ⎡0.6  0.0⎤
	// ⎢0.8  0.0⎥
	// ⎢0.0  1.0⎥
	// ⎣0.0  0.0⎦
	// ⎡ 5.0   0.0⎤
	// ⎢10.0   0.0⎥
	// ⎢ 0.0   1.0⎥
	// ⎣ 0.0   2.0⎦
}
