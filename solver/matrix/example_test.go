package matrix_test

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/matrix"
)

// Two documents of four terms, of which only five entries are stored.
func ExampleNewCSR() {
	x, err := matrix.NewCSR(2, 4,
		[]int{0, 2, 5},           // row 0 holds entries 0 and 1, row 1 the rest
		[]int32{0, 3, 0, 1, 2},   // their columns
		[]float64{1, 2, 3, 4, 5}, // their values
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(x.NNZ(), "entries, the last of row 0 is", x.At(0, 3))
	fmt.Println(mat.Formatted(x))
	_, err = matrix.NewCSR(1, 2, []int{0, 1}, []int32{2}, []float64{1})
	fmt.Println(err)
	// Output:
	// 5 entries, the last of row 0 is 2
	// ⎡1  0  0  2⎤
	// ⎣3  4  5  0⎦
	// malformed sparse matrix: column 2 after -1 in row 0 of width 2
}
