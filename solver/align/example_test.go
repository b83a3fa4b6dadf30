package align_test

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/align"
)

// A new run found the topics of the earlier one in another order.
func ExampleTopics() {
	earlier := mat.NewDense(3, 2, []float64{1, 0, 0, 1, 0, 0})
	again := mat.NewDense(3, 2, []float64{0, 2, 3, 0, 4, 0})
	permutation, cosines := align.Topics(earlier, again)
	fmt.Println(permutation)
	fmt.Printf("%.1f\n", cosines)
	// Output:
	// [1 0]
	// [1.0 0.6]
}
