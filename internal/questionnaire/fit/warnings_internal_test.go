package fit

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
)

// Items without loadings belong to no factor, and a factor that has no item of its own is said to have none.
func TestThin(t *testing.T) {
	t.Parallel()
	l := &Learnt{study: &Study{Table: &answers.Table{}}, fa: &FA{}}
	for j := range 5 {
		l.study.Items = append(l.study.Items, questionnaire.Item{Name: "q" + strconv.Itoa(j+1)})
		l.Items = append(l.Items, j)
	}
	l.Loadings = mat.NewDense(5, 2, []float64{0, 0, 2, 1, -2, 1, 0, 0, 0, 0})
	want := []string{
		"factor1 is uncertain, as fewer than 3 items load on it more than on others: q2, q3",
		"factor2 is uncertain, as fewer than 3 items load on it more than on others: none does",
	}
	if diff := cmp.Diff(want, l.thin(&model.Summary{Factors: 2})); diff != "" {
		t.Errorf("warnings differ from those wanted:\n%s", diff)
	}
}
