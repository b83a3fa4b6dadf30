package svd_test

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/svd"
)

// The best approximation of rank 1 leaves the square of the second singular value.
func Example() {
	x := mat.NewDense(2, 2, []float64{3, 0, 0, 2})
	result, err := solver.Solve(context.Background(), x, solver.Settings{Rank: 1}, svd.Method{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.1f leaves %.1f\n", mat.Formatted(result.Scores.T()), result.Objective)
	// Output: [3.0  0.0] leaves 4.0
}
