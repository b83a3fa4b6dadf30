package solver_test

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/nmf"
)

// answers is a matrix of rank 1: the second document is twice the first one.
func answers() *mat.Dense {
	return mat.NewDense(3, 3, []float64{
		1, 2, 2,
		2, 4, 4,
		0, 0, 0,
	})
}

// A factorization, and the scores of a document that it has not seen.
func ExampleSolve() {
	result, err := solver.Solve(context.Background(), answers(), solver.Settings{Rank: 1}, nmf.ONMF{})
	if err != nil {
		fmt.Println(err)
		return
	}
	scores, err := result.Transform(mat.NewDense(1, 3, []float64{3, 6, 6}))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.3f\n", mat.Formatted(result.Topics.T()))
	fmt.Printf("%.3f and %.3f\n", mat.Formatted(result.Scores.T()), scores.At(0, 0))
	// Output:
	// [0.333  0.667  0.667]
	// [3.000  6.000  0.000] and 9.000
}

// Input that cannot be solved is an error that says where it is wrong.
func ExampleNonFiniteError() {
	x := answers()
	x.Set(2, 1, math.NaN())
	_, err := solver.Solve(context.Background(), x, solver.Settings{Rank: 1}, nmf.NMF{})
	if at, ok := errors.AsType[*solver.NonFiniteError](err); ok {
		fmt.Println("row", at.Row, "column", at.Col, "is", at.Value)
	}
	_, err = solver.Solve(context.Background(), answers(), solver.Settings{Rank: 4}, nmf.NMF{})
	fmt.Println(errors.Is(err, solver.ErrRank))
	// Output:
	// row 2 column 1 is NaN
	// true
}

// goal is a Recorder that stops a run at an objective that is good enough.
type goal float64

func (g goal) Record(it solver.Iterate) error {
	if it.Objective <= float64(g) {
		return solver.ErrStop
	}
	return nil
}

// A Recorder sees every iterate and may end the run.
func ExampleRecorder() {
	result, err := solver.Solve(context.Background(), answers(), solver.Settings{Rank: 1, Recorder: goal(1)}, nmf.NMF{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Status)
	// Output: stopped
}
