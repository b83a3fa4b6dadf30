package rank_test

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/icqf"
	"github.com/wardcast/wardcast/solver/rank"
)

func ExampleBlockwiseCV() {
	// Four groups of items with the same answers; every participant has some of the four traits.
	x := mat.NewDense(60, 20, nil)
	x.Apply(func(i, j int, _ float64) float64 { return float64(3 * (i + 1) >> (j % 4) & 3) }, x)
	data := icqf.Data{Answers: x, Max: 3}
	choice, err := rank.BlockwiseCV(context.Background(), x, rank.ICQF(data, icqf.Settings{}),
		rank.Settings{Factors: []int{2, 3, 4, 5}, Betas: []float64{0.01}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(choice.Lowest.Factors)
	// Output: 4
}
