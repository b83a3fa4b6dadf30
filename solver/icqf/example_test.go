package icqf_test

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/icqf"
)

func ExampleFit() {
	// Six participants answer four items from 0 to 3. Two items ask for sleep, two for worry; some answers are missing.
	nan := math.NaN()
	answers := mat.NewDense(6, 4, []float64{
		3, 3, 0, 0,
		0, 0, 3, 3,
		3, nan, 3, 3,
		0, 0, 0, 0,
		2, 2, 0, nan,
		0, nan, 2, 2,
	})
	r, err := icqf.Fit(context.Background(), icqf.Data{Answers: answers, Max: 3},
		icqf.Settings{Rank: 2, L1: 0.01, RelTol: 1e-8})
	if err != nil {
		fmt.Println(err)
		return
	}
	// A new participant, who has not answered the last item.
	scores, err := r.Score(mat.NewDense(1, 4, []float64{1.5, 1.5, 3, nan}), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.1f\n", mat.Formatted(scores))
	// Output: [1.0  0.5]
}
