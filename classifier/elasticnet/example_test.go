package elasticnet_test

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier/elasticnet"
)

// Ages stand unpenalized beside a penalized topic score.
func Example() {
	topics := mat.NewDense(8, 1, []float64{0.1, 0.9, 0.3, 0.8, 0.7, 0.6, 0.2, 0.4})
	ages := mat.NewDense(8, 1, []float64{20, 70, 65, 40, 81, 33, 75, 28})
	design, err := elasticnet.NewDesign(topics, ages)
	if err != nil {
		fmt.Println(err)
		return
	}
	settings := elasticnet.DefaultSettings()
	settings.PenaltyFactors = []float64{1, 0}
	problem := elasticnet.Problem{Design: design, Y: []bool{false, true, false, true, true, false, true, false}}
	path, err := elasticnet.Fit(context.Background(), problem, settings)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d coefficient at the first λ, %d at the tenth\n", path.DF(0), path.DF(9))
	// Output: 1 coefficient at the first λ, 2 at the tenth
}
