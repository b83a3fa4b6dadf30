package fit

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/solver/icqf"
)

// Who was hardly asked is not measured, also if most were not; a short form is, beside a long one.
func TestMeasuredBy(t *testing.T) {
	t.Parallel()
	bounded, fa := &model.Model{}, &model.Model{FA: &model.FA{}}
	for _, c := range []struct {
		name  string
		model *model.Model
		errs  []float64
		want  []int // participants who are not measured
	}{
		{"a tenth has a long form", bounded, append([]float64{0.047}, slices.Repeat([]float64{0.106}, 9)...), nil},
		{"most were not asked", bounded, []float64{0.1, 0.1, 0.11, 0.347, 0.4, 0.5, 0.49}, []int{3, 4, 5, 6}},
		{"a weak factor of factor analysis", fa, []float64{0.606, 0.606, 0.65, 0.997}, []int{3}},
		{"all the same", fa, []float64{0.9, 0.9}, nil},
		{"nobody was asked", bounded, []float64{0.5, 0.5, 0.5}, nil},
		{"no error", fa, []float64{0, 0}, nil},
		{"one complete, the others not", fa, []float64{0.2, 0.6, 0.6, 0.6}, []int{1, 2, 3}},
		{"one person", bounded, []float64{0.2}, nil},
	} {
		errs := mat.NewDense(len(c.errs), 1, c.errs)
		measured := measuredBy(c.model, errs)
		var got []int
		for i, ok := range measured[0].Participants {
			if !ok {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: not measured are %v by the limit %v, want %v", c.name, got, measured[0].Limit, c.want)
		}
		c.model.Summary = model.Summary{Factors: 1}
		for _, f := range factorFits(c.model, mat.NewDense(len(c.errs), 1, nil), errs, measured) {
			if math.IsNaN(f.Mean + f.Deviation + f.StandardError + f.Reliability + f.Limit) {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
	}
}

// A bootstrap makes standard errors larger, and changes neither who is measured nor the reliability.
func TestMeasuredWithBootstrap(t *testing.T) {
	t.Parallel()
	m := &model.Model{ICQF: icqf.Model{Noise: []float64{1}}}
	errs := mat.NewDense(4, 1, []float64{0.1, 0.11, 0.12, 0.4})
	scores := mat.NewDense(4, 1, []float64{0, 0.5, 1, 0.2})
	want := factorFits(m, scores, errs, measuredBy(m, errs))[0]
	measured := measuredBy(m, errs)
	m.Summary.Bootstrap = &model.Bootstrap{Scores: []float64{0.3}}
	got := factorFits(m, scores, errs, measured)[0]
	if got.Participants != 3 || got.Reliability != want.Reliability ||
		math.Abs(got.StandardError-math.Hypot(want.StandardError, 0.3)) > 1e-12 {
		t.Errorf("%+v, without bootstrap %+v", got, want)
	}
	lines := []int{2, 3, 4, 5}
	m.CountLoadings(errs)
	if vague := vagueLines([]model.FactorFit{got}, lines, nil, errs); !slices.Equal(vague[0], []int{5}) {
		t.Errorf("score reports lines %v, want 5", vague)
	}
	if vague := vagueLines([]model.FactorFit{got}, lines, []int{5}, errs); len(vague[0]) != 0 {
		t.Errorf("score reports lines %v, which have no scores", vague)
	}
}
