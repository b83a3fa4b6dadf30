package fit

import (
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/solver"
)

// 0 stands for no suggestion.
func TestDecide(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		validation, parallel, simple int
		want                         string
	}{
		{3, 3, 3, model.CrossValidation},
		{1, 3, 3, model.ParallelAnalysis},
		{1, 3, 2, model.ParallelAnalysis},
		{1, 3, 5, model.SimpleStructure},
		{2, 3, 5, model.SimpleStructure},
		{3, 3, 5, model.CrossValidation}, // items load on several separate factors
		{1, 1, 3, model.CrossValidation}, // halves of one factor
		{1, 0, 4, model.CrossValidation}, // noise
		{4, 2, 3, model.CrossValidation},
		{1, 11, 3, model.CrossValidation},
		{1, 11, 5, model.CrossValidation}, // fewer than parallel analysis
	} {
		number := func(k int) *int {
			if k == 0 {
				return nil
			}
			return &k
		}
		o := Options{MostFactors: 10}
		o.Method = model.MethodICQF
		d := o.decide(&Choice{Candidate: solver.Candidate{Factors: c.validation}}, Others{
			Parallel: &Parallel{Suggested: number(c.parallel)}, MAP: &MAP{},
			Simple: SimpleStructure{Suggested: number(c.simple)},
		})
		if d.Followed != c.want {
			t.Errorf("%+v: %s is followed: %s", c, d.Followed, d.Because)
		}
		if strings.Contains(d.Because, "no fewer") && (c.parallel == 0 || c.validation < c.parallel) {
			t.Errorf("%+v: it says %q", c, d.Because)
		}
	}
}
