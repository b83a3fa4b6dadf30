package fit

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
)

// Answers of 1 to 5 to eight items as they were given; the third and the fourth are reversed.
func TestEqualAnswers(t *testing.T) {
	t.Parallel()
	missing := math.NaN()
	for _, c := range []struct {
		name                      string
		given                     []float64
		longest, count, commonest int
	}{
		{"all different", []float64{1, 2, 3, 4, 5, 4, 3, 2}, 1, 8, 3}, // as scored 1, 2, 3, 2, 5, 4, 3, 2
		{"one answer to all", []float64{4, 4, 4, 4, 4, 4, 4, 4}, 8, 8, 8},
		{"the lowest, which the reversed ones contradict", []float64{1, 1, 1, 1, 1, 1, 1, 1}, 8, 8, 8},
		{"no symptom at all", []float64{1, 1, 5, 5, 1, 1, 1, 1}, 0, 8, 8},
		{"a missing answer ends a string", []float64{4, 4, missing, 4, 4, 4, 3, 3}, 3, 7, 5},
		{"none", []float64{missing, missing, missing, missing, missing, missing, missing, missing}, 0, 0, 0},
	} {
		for _, fromLow := range []bool{false, true} {
			s := &Study{Table: &answers.Table{Answers: mat.NewDense(1, len(c.given), nil)}}
			for j, v := range c.given {
				item := questionnaire.Item{Range: &questionnaire.Range{Low: 1, High: 5}, Reversed: j == 2 || j == 3}
				s.Items = append(s.Items, item)
				s.Answers.Set(0, j, item.Orient(v, fromLow))
			}
			longest, count, commonest := s.equal(0, fromLow)
			if longest != c.longest || count != c.count || commonest != c.commonest {
				t.Errorf("%s, from low %t: %d, %d, %d, want %d, %d, %d", c.name, fromLow, longest, count, commonest,
					c.longest, c.count, c.commonest)
			}
		}
	}
}

// By hand: the squared residuals of each item have the mean 1, so those of the first participant have x = (4 + 0)/2,
// and the second one has a single answer.
func TestMisfits(t *testing.T) {
	t.Parallel()
	missing := math.NaN()
	left := mat.NewDense(4, 2, []float64{2, 0, 0, missing, 0, math.Sqrt(3), 0, 0})
	s := &Study{Order: []int{3, 2, 1, 0}}
	z := s.misfits(left)
	for i, want := range map[int]float64{
		3: (math.Cbrt(2) - 1 + 1./9) / (1. / 3), // a = 2, 2/9a = 1/9
		2: (-1 + 2./9) / math.Sqrt(2./9),
	} {
		if math.Abs(z[i]-want) > 1e-12 {
			t.Errorf("the misfit of row %d is %v, want %v", i, z[i], want)
		}
	}
}
