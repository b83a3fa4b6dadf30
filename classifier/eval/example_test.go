package eval_test

import (
	"fmt"

	"github.com/wardcast/wardcast/classifier/eval"
)

func ExampleMeasure() {
	admitted := []bool{true, true, false, true, false, false}
	predicted := []float64{0.9, 0.7, 0.6, 0.4, 0.3, 0.1}
	m, err := eval.Measure(admitted, predicted, 0.5, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("accuracy %.3f, AUROC %.3f, Brier %.3f, O:E %.2f\n", m.Accuracy, *m.AUROC, m.Brier, *m.ObservedExpected)
	// Output: accuracy 0.667, AUROC 0.889, Brier 0.153, O:E 1.00
}

func ExampleStratifiedFolds() {
	admitted := []bool{true, false, false, true, false, false, true, false}
	visits := []string{"a", "a", "b", "c", "d", "d", "e", "f"}
	folds, err := eval.StratifiedFolds(admitted, visits, 2, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(folds[0] == folds[1], folds[4] == folds[5])
	// Output: true true
}
