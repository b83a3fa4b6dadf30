package factoranalysis_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/rank"
)

// Six items ask for two things, three for each; a few answers are missing.
func Example() {
	random := rand.New(rand.NewPCG(1, 0))
	x := mat.NewDense(500, 6, nil)
	for i := range 500 {
		worry, sleep := random.NormFloat64(), random.NormFloat64()
		for j := range 3 {
			x.Set(i, j, 0.8*worry+0.6*random.NormFloat64())
			x.Set(i, 3+j, 0.8*sleep+0.6*random.NormFloat64())
		}
	}
	x.Set(3, 1, math.NaN())
	x.Set(9, 4, math.NaN())

	number, err := rank.Parallel(context.Background(), x, rank.ParallelSettings{Jobs: rank.Jobs{Seed: 1}})
	if err != nil {
		fmt.Println(err)
		return
	}
	model, err := factoranalysis.Fit(context.Background(), x, factoranalysis.Settings{Factors: number.Suggested})
	if err != nil {
		fmt.Println(err)
		return
	}
	for j := range 6 {
		fmt.Printf("item %d: %4.1f %4.1f\n", j+1, math.Abs(model.Loadings.At(j, 0)), math.Abs(model.Loadings.At(j, 1)))
	}
	// Output:
	// item 1:  0.8  0.0
	// item 2:  0.7  0.0
	// item 3:  0.8  0.0
	// item 4:  0.0  0.8
	// item 5:  0.0  0.8
	// item 6:  0.0  0.8
}
