package model_test

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
)

// By hand, the covariances of q1 to q3 sum up to 67/3 with a trace of 23/3, as in the test of package items: the
// variance of the errors is 67/3 − 3/2·(67/3 − 23/3) = 1/3.
func TestSums(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	answers := mat.NewDense(4, 5, []float64{1, 2, 0, 7, 1, 2, 4, 3, 7, 2, 3, 3, nan, 7, 1, 4, 5, 4, nan, 2})
	items := []questionnaire.Item{
		{Name: "q1", Subscale: "Q"},
		{Name: "q2", Subscale: "Q"},
		{Name: "q3", Subscale: "Q"},
		{Name: "s", Subscale: "S"},
		{Name: "none"},
	}
	scales := model.SumScales(items, answers, 1)
	var stored []model.SumScale
	if data, err := json.Marshal(scales); err != nil || json.Unmarshal(data, &stored) != nil {
		t.Fatalf("scales cannot be stored: %s %v", data, err)
	}
	third := func(x float64) float64 { return math.Sqrt(x / 3) }
	if len(stored) != 2 || !scalar.EqualWithinAbs(float64(stored[0].Deviation), third(67), 1e-14) ||
		!scalar.EqualWithinAbs(float64(stored[0].Error), third(1), 1e-12) || stored[1].Error.Defined() {
		t.Fatalf("scales %+v", stored)
	}
	values, names := model.SumsOf(stored, items, mat.NewDense(3, 5, []float64{
		1, 2, 0, 7, 1, // complete
		3, 2, nan, nan, 1, // 2 of 3
		3, nan, nan, 7, 1, // 1 of 3
	}))
	if diff := cmp.Diff([]string{"sum_Q", "prorated_Q", "sem_Q", "rci_Q", "sum_S", "prorated_S", "sem_S", "rci_S"},
		names); diff != "" {
		t.Errorf("columns differ from those wanted:\n%s", diff)
	}
	change := 1.96 * math.Sqrt2
	for i, want := range [][]float64{
		{3, 3, third(1), change * third(1), 7, 7, nan, nan},
		{nan, 7.5, third(1.5), change * third(1.5), nan, nan, nan, nan},
		{nan, nan, nan, nan, 7, 7, nan, nan},
	} {
		for j, w := range want {
			if got := values.At(i, j); got != w && !scalar.EqualWithinAbs(got, w, 1e-12) &&
				!(math.IsNaN(got) && math.IsNaN(w)) {
				t.Errorf("row %d, %s: %v, want %v", i, names[j], got, w)
			}
		}
	}
	// The sum of all items is not rounded on its way to the prorated one.
	decimals, _ := model.SumsOf(stored, items, mat.NewDense(1, 5, []float64{0, .1, .6, 0, 0}))
	if sum, prorated := decimals.At(0, 0), decimals.At(0, 1); sum != prorated {
		t.Errorf("the sum is %v, prorated %v", sum, prorated)
	}
	scores := model.Scores{
		IDs: []string{"a"}, Values: mat.NewDense(1, 1, []float64{0.5}), Sums: values.Slice(1, 2, 0, 2).(*mat.Dense),
		SumNames: names[:2],
	}
	if want := "id,factor1,sum_Q,prorated_Q\na,0.5,,7.5\n"; !bytes.Equal(scores.CSV(), []byte(want)) {
		t.Errorf("scores are %q, want %q", scores.CSV(), want)
	}
	whole := model.SumScales([]questionnaire.Item{{Name: "a"}, {Name: "b"}},
		mat.NewDense(3, 2, []float64{1, 1, 2, 2, 3, 3}), 1)
	if len(whole) != 1 || whole[0].Name != "all" || whole[0].Error != 0 {
		t.Errorf("scale of all items %+v", whole)
	}
}
