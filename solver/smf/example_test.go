package smf_test

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/smf"
)

// Two terms are frequent and uninformative, the third is rare and predicts the label. One supervised topic finds it.
func Example() {
	x := mat.NewDense(6, 3, []float64{
		3, 3, 0,
		2, 2, 1,
		3, 3, 1,
		2, 2, 0,
		4, 4, 1,
		4, 4, 0,
	})
	method, err := smf.New(smf.Data{Labels: []int{0, 1, 1, 0, 1, 0}},
		smf.Settings{Variant: smf.VariantW, Xi: 0.001, Ridge: 0.01})
	if err != nil {
		panic(err)
	}
	r, err := solver.Solve(context.Background(), x, solver.Settings{Rank: 1, RelTol: solver.DefaultRelTol}, method)
	if err != nil {
		panic(err)
	}
	p, err := method.Model(r).Predict(x, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Status, p.Classes)
	// Output: converged [0 1 1 0 1 0]
}
